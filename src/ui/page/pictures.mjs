// SPDX-License-Identifier: Apache-2.0
// Takes the pictures of a page, of a run or of a comparison, that docs/img keeps:
//
//   node pictures.mjs ROOM CHROMIUM PAGE FOLDER     ROOM: the folder with node_modules
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [room, executablePath, file, folder] = process.argv.slice(2);
if (!folder) {
	console.error("usage: node pictures.mjs ROOM CHROMIUM PAGE FOLDER");
	process.exit(2);
}
const { chromium } = createRequire(resolve(room, "package.json"))("playwright-core");
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });

async function open(colorScheme, width = 1400) {
	const page = await browser.newPage({ viewport: { width, height: 1000 }, colorScheme });
	await page.goto(pathToFileURL(resolve(file)).href);
	await page.waitForSelector("html[data-ready]");
	await page.evaluate(() => {
		document.documentElement.style.scrollBehavior = "auto";
		document.querySelector("details.provenance").open = false;
	});
	return page;
}

const shot = (place, name) => place.screenshot({ path: join(folder, `${name}.png`) });

async function ofRun() {
	const light = await open("light"), dark = await open("dark");
	await shot(light, "html-light");
	await shot(light.locator("#roofline"), "html-roofline");
	await shot(light.locator("#step"), "html-step");
	await shot(dark.locator("#layers"), "html-layers");
	await dark.evaluate(() => scrollTo(0, document.querySelector("#steps").getBoundingClientRect().top + scrollY - 60));
	await shot(dark, "html-dark");
	for (const [page, scheme] of [[light, "light"], [dark, "dark"]]) {
		await page.evaluate(() => { document.querySelector(".phases").style.position = "static"; });
		await page.locator('[data-key="timeline-step"]').click();
		await page.waitForTimeout(300);
		await shot(page.locator("#timeline"), `html-timeline-${scheme}`);
		await shot(page.locator("#compare"), `html-compare-${scheme}`);
		const narrow = await open(scheme, 390);
		await narrow.evaluate(() => scrollTo(0, document.querySelector("#steps").getBoundingClientRect().top + scrollY - 60));
		await narrow.waitForTimeout(300);
		await shot(narrow, `html-390-${scheme}`);
	}
}

async function ofComparison() {
	for (const scheme of ["light", "dark"]) {
		const page = await open(scheme);
		await shot(page, `diff-html-${scheme}`);
	}
}

await (await (await open("light")).locator("#verdict").count() ? ofComparison() : ofRun());
await browser.close();
