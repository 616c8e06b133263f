// SPDX-License-Identifier: Apache-2.0
// What tests of the page in a browser share. Their arguments: MODULES CHROMIUM FOLDER
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [modules, executablePath, folder] = process.argv.slice(2);
const { chromium } = createRequire(join(modules, "x.js"))("playwright-core");
export const text = name => readFileSync(join(folder, name), "utf8");
export const json = name => JSON.parse(text(name));
const url = name => pathToFileURL(join(folder, name)).href;

export function check(what, good, got = "") {
	if (!good) throw new Error(`${what}${got === "" ? "" : `: got ${JSON.stringify(got)}`}`);
}
export const same = (what, got, want) => check(`${what} (want ${JSON.stringify(want)})`, JSON.stringify(got) === JSON.stringify(want), got);

export const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"], timeout: 600000 });

// A page that complains about anything, or asks for anything from elsewhere, fails the test.
export async function open(name, options = {}) {
	const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
	context.setDefaultTimeout(600000); // the machine may be slow
	const page = await context.newPage();
	const complaints = [];
	page.on("console", message => complaints.push(`console ${message.type()}: ${message.text()}`));
	page.on("pageerror", error => complaints.push(`error: ${error.message}`));
	page.on("dialog", dialog => { complaints.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
	page.on("request", request => { if (!/^(file|data):/.test(request.url())) complaints.push(`request: ${request.url()}`); });
	await page.goto(url(name));
	await page.waitForSelector("html[data-ready]");
	page.finish = async () => {
		same(`${name} is silent`, complaints, []);
		await context.close();
	};
	return page;
}

export const valueOf = value => (value === null || value === undefined ? null : String(value));

// Runs parts of a test; ends with 1 and a sentence when something is not as it should be.
export async function run(parts) {
	try {
		await parts();
	} catch (error) {
		console.error(error.stack);
		process.exitCode = 1;
	} finally {
		await browser.close();
	}
}
