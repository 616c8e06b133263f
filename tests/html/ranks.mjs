// SPDX-License-Identifier: Apache-2.0
// Ranks on the page, in a headless Chromium: each rank's bar, row and part of the critical path are the
// numbers of `brick report --json`, the late one is marked, and nothing sticks out at 1400 and 400 px.
// Run by tests/integration/html_ranks.py: node ranks.mjs MODULES CHROMIUM FOLDER
import { check, json, open, run, same, valueOf } from "./browser.mjs";

const KEYS = ["rank", "work_ns", "exposed_ns", "waited_ns", "last", "caused_ns", "longer_ns", "path_ns"];

async function rows(page, job) {
	for (const key of KEYS) {
		const got = await page.$$eval(`#ranks [data-column="${key}"]`, cells => cells.map(cell => cell.dataset.value ?? null));
		same(`column ${key}`, got, job.ranks.map(row => valueOf(row[key])));
	}
	same("the brick that made it late", await page.$$eval('#ranks [data-column="longer_in"]', cells => cells.map(cell => cell.textContent)),
		job.ranks.map(row => (!row.longer_ns ? "-" : row.was_preempted ? "(preempted)" : row.longer_in ?? "(no brick)")));
	same("late ranks", await page.$$eval('#ranks [data-column="is_late"]', cells => cells.map(cell => cell.textContent)),
		job.ranks.map(row => (row.is_late === null ? "-" : row.is_late ? "late" : "no")));
	await page.locator('#ranks [data-key="sort-caused_ns"]').click();
	const caused = await page.$$eval('#ranks [data-column="caused_ns"]', cells => cells.map(cell => Number(cell.dataset.value)));
	same("the most first", caused, [...caused].sort((a, b) => b - a));
}

// Widths are the parts of the longest bar.
async function bars(page, job) {
	const groups = await page.$$eval("#rank-balance g[data-rank]", all => all.map(group => ({
		rank: Number(group.dataset.rank), late: group.querySelector("text.late") !== null,
		bars: [...group.querySelectorAll("rect")].map(rect => [Number(rect.dataset.ns), rect.getBBox().width]),
	})));
	same("a bar for each rank", groups.map(group => group.rank), job.ranks.map(row => row.rank));
	const most = Math.max(...job.ranks.map(row => row.work_ns + row.exposed_ns));
	const longest = Math.max(...groups.map(group => group.bars.reduce((sum, [, width]) => sum + width, 0)));
	groups.forEach((group, i) => {
		const row = job.ranks[i];
		same(`parts of rank ${row.rank}`, group.bars.map(([ns]) => ns), [row.work_ns, row.waited_ns, row.exposed_ns - row.waited_ns]);
		for (const [ns, width] of group.bars)
			check(`width of ${ns} ns`, Math.abs(width - longest * ns / most) < 1, width);
		same(`rank ${row.rank} is marked`, group.late, Boolean(row.is_late));
	});
}

// The area of a track is its part of the path.
async function strip(page, { path }) {
	const tracks = await page.$$eval("#rank-path g[data-track]", all => all.map(group => {
		const { width, height } = group.querySelector("rect").getBBox();
		let area = 0;
		for (const shape of group.querySelectorAll("path"))
			for (const [, x0, low, high, x1] of shape.getAttribute("d").matchAll(/M([\d.]+),([\d.]+)V([\d.]+)H([\d.]+)V[\d.]+Z/g))
				area += (x1 - x0) * (low - high);
		return [group.dataset.track, area / width / (height - 4)];
	}));
	const whole = ns => ns.reduce((sum, each) => sum + each, 0) / path.whole_ns;
	const want = path.strip.ranks.map(each => [`rank ${each.rank}`, whole(each.ns)]);
	if (path.exchange_ns) want.push(["in collectives", whole(path.strip.exchange_ns)]);
	if (path.message_ns) want.push(["messages", whole(path.strip.message_ns)]);
	same("tracks", tracks.map(([name]) => name), want.map(([name]) => name));
	// a column is drawn at least one pixel high
	want.forEach(([name, part], i) => check(`the area of ${name} is ${part}`, tracks[i][1] > part - 0.03 && tracks[i][1] < part + 0.07, tracks[i][1]));
	await page.locator("#rank-path g[data-track]").first().hover();
	await page.mouse.move(2, 2);
	check("no tip is left", await page.locator(".tip").evaluateAll(all => all.every(each => each.hidden)));
	await page.locator('#ranks [data-key="numbers-rank-path"]').click();
	const first = path.parts[0], line = await page.locator("#ranks details.numbers tbody tr").first().innerText();
	check(`the longest part: ${line}`, line.startsWith(String(first.rank)) && line.includes(first.brick ?? "(no brick)"));
}

async function fits(name) {
	for (const width of [1400, 400]) {
		const page = await open(name, { viewport: { width, height: 900 } });
		check(`nothing of ${name} sticks out of ${width} px`, await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
		const cut = await page.$$eval("#rank-balance text, #rank-path text", all => all.filter(each => !each.closest(".axis") && each.textContent.trim().length < 3).length);
		same(`each track has a name at ${width} px`, cut, 0);
		await page.finish();
	}
}

await run(async () => {
	for (const name of ["slow", "messages", "one"]) {
		const page = await open(`${name}.html`), job = json(`${name}.json`);
		await rows(page, job);
		await bars(page, job);
		await strip(page, job);
		same("steps with the longest waits", await page.locator("#ranks table caption", { hasText: "Worst steps" }).count(), job.steps?.worst.length ? 1 : 0);
		if (name !== "one") same("the sentences of the text", await page.$$eval("#summary .head dt", all => all.map(each => each.textContent)), json(`${name}.labels.json`));
		await page.finish();
	}
	for (const name of ["slow.html", "many.html"]) await fits(name);
	const many = await open("many.html");
	same("all ranks are in the table", await many.locator('#ranks [data-column="rank"]').count(), 200);
	same("bars of those that others waited for", await many.locator("#rank-balance g[data-rank]").count(), 48);
	check("the slow one is among them", await many.locator('#rank-balance g[data-rank="9"] text.late').count() === 1);
	await many.finish();
});
