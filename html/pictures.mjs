// SPDX-License-Identifier: Apache-2.0
// Takes the pictures of a page that docs/img keeps:
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

async function open(colorScheme) {
	const page = await browser.newPage({ viewport: { width: 1240, height: 1000 }, colorScheme });
	await page.goto(pathToFileURL(resolve(file)).href);
	await page.waitForSelector("html[data-ready]");
	await page.evaluate(() => {
		document.documentElement.style.scrollBehavior = "auto";
		document.querySelector("details.provenance").open = false;
	});
	return page;
}

const picture = (page, name, section) => (section ? page.locator(section) : page).screenshot({ path: join(folder, `html-${name}.png`) });

const light = await open("light");
await picture(light, "light");
await picture(light, "roofline", "#roofline");
await picture(light, "step", "#step");
const dark = await open("dark");
await picture(dark, "layers", "#layers");
await dark.evaluate(() => scrollTo(0, document.querySelector("#steps").getBoundingClientRect().top + scrollY - 60));
await picture(dark, "dark");
await browser.close();
