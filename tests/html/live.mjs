// SPDX-License-Identifier: Apache-2.0
// Looks at a page that is served while its recording grows. Run by tests/integration/serve_page.py:
//
//   node live.mjs MODULES CHROMIUM URL RECORDING REST PID     PID: of the server, ended at last
import { appendFileSync, readFileSync, renameSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const [modules, executablePath, url, recording, rest, pid] = process.argv.slice(2);
const { chromium } = createRequire(join(modules, "x.js"))("playwright-core");
const check = (what, good, got = "") => { if (!good) throw new Error(`${what}: ${JSON.stringify(got)}`); };

const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"], timeout: 600000 });
const complaints = [];
try {
	const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
	page.setDefaultTimeout(600000); // the machine may be slow
	page.on("console", message => complaints.push(message.text()));
	page.on("pageerror", error => complaints.push(error.message));
	page.on("request", request => { if (!request.url().startsWith(new URL(url).origin)) complaints.push(request.url()); });
	await page.goto(url);
	await page.waitForSelector("html[data-ready]");
	const samples = () => page.locator("#summary .provenance dd", { hasText: "in the file of" }).innerText();
	check("live", await page.locator(".live").innerText() === "Live", await page.locator(".live").innerText());

	await page.locator('#bricks [data-key="sort-count"]').click();
	await page.locator("label[for=phase-decode]").click();
	await page.locator("#steps details.numbers summary").first().click();
	const brick = (await page.$$eval("#brick-choice option", all => all.map(each => each.value)))[2];
	await page.selectOption("#brick-choice", brick);
	await page.locator('#bricks [data-key="sort-count"]').focus();
	const before = await samples();

	await page.click("#hold");
	appendFileSync(`${recording}.part`, readFileSync(rest));
	await page.waitForTimeout(6000);
	check("held still", await samples() === before);
	await page.waitForFunction(() => document.querySelector(".live")?.innerText === "Held"); // and says so
	await page.locator('#bricks [data-key="sort-count"]').focus();
	await page.evaluate(() => document.querySelector("#hold").click());
	await page.waitForFunction(text => ![...document.querySelectorAll("#summary .provenance dd")].some(each => each.textContent === text), before);
	check("the choice of steps stays", await page.isChecked("#phase-decode"));
	check("the brick stays", await page.inputValue("#brick-choice") === brick);
	check("the order stays", await page.locator('#bricks th:has([data-key="sort-count"])').getAttribute("aria-sort") === "descending");
	check("the focus stays", await page.evaluate(() => document.activeElement?.dataset.key === "sort-count"), await page.evaluate(() => document.activeElement?.outerHTML.slice(0, 80)));
	check("what was open stays open", await page.locator("#steps details.numbers").first().evaluate(each => each.open));

	renameSync(`${recording}.part`, recording);
	await page.waitForFunction(() => document.querySelector(".live").textContent === "Ended");
	// Any step, and any range, from the server.
	await page.fill("#step-number", "9");
	await page.keyboard.press("Tab");
	await page.waitForFunction(() => [...document.querySelectorAll("#step [role=treeitem]")].some(each => /^Layer \d+,/.test(each.getAttribute("aria-label"))));
	check("without what is left out", !(await page.locator("#step .hint").innerText()).includes("left out"));
	await page.locator('[data-key="timeline-step"]').click();
	await page.waitForFunction(() => Number(document.querySelector("#timeline canvas").dataset.slices) > 10);
	check("each sample of the range", (await page.locator("#timeline [role=status]").innerText()).endsWith("each sample"), await page.locator("#timeline [role=status]").innerText());

	check("silent", complaints.length === 0, complaints);
	process.kill(Number(pid), "SIGTERM");
	await page.waitForFunction(() => document.querySelector(".live").textContent.startsWith("Not connected"));
	check("the numbers stay", await page.locator("#bricks tbody tr").count() > 3);
} catch (error) {
	console.error(error.stack, complaints);
	process.exitCode = 1;
} finally {
	await browser.close();
}
