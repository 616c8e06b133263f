// SPDX-License-Identifier: Apache-2.0
// Drives the page in a headless Chromium as a reader would, and compares what it shows with what
// the commands print. Run by tests/integration/html_page.py:
//
//   node page.mjs MODULES CHROMIUM FOLDER     FOLDER: run.html, run.json, ..., see html_page.py
//
// Ends with 1 and a sentence when something is not as it should be.
import { check, json, open, run, same, text, valueOf } from "./browser.mjs";

const RESTS = ["unattributed", "preempted", "blocked", "left out"]; // on a busy machine, too
const columnOf = (page, section, key) => page.$$eval(`#${section} tbody tr[data-row]`, (rows, k) =>
	rows.filter(row => !k[1].includes(row.dataset.row))
		.map(row => row.querySelector(`[data-column="${k[0]}"]`).dataset.value ?? null), [key, RESTS]);

async function tableEquals(page, report, what) {
	const names = await columnOf(page, "bricks", "name");
	same(`${what}: as many rows`, names.length, report.bricks.length);
	const rows = new Map(report.bricks.map(row => [row.name, row]));
	const columns = await page.evaluate(() => JSON.parse(document.getElementById("data").textContent).tables.columns.bricks);
	for (const key of "name category share self_ns device_ns total_ns wait_ns count avg_ns min_ns p50_ns p95_ns p99_ns max_ns elements bytes flops bytes_per_s flops_per_s backend source".split(" "))
		check(`${what}: ${key} is a column`, columns.includes(key));
	for (const key of columns) {
		const shown = await page.$$(`#bricks thead [data-key="sort-${key}"]`);
		if (!shown.length && report.bricks.every(row => !row[key])) continue; // hidden because it is empty
		const got = await columnOf(page, "bricks", key);
		names.forEach((name, i) => same(`${what}: ${key} of ${name}`, got[i], valueOf(rows.get(name)[key])));
	}
}

async function structure(page) {
	same("one h1", await page.locator("h1").count(), 1);
	for (const id of ["summary", "bricks", "lengths", "steps", "step", "layers", "roofline", "path", "flame", "threads"]) {
		check(`section ${id}`, await page.locator(`section#${id} h2`).count() === 1);
		check(`link to ${id}`, await page.locator(`nav[aria-label="Sections"] a[href="#${id}"]`).count() === 1);
	}
	same("ids are unique", await page.evaluate(() => {
		const ids = [...document.querySelectorAll("[id]")].map(each => each.id);
		return ids.filter((id, i) => ids.indexOf(id) !== i);
	}), []);
	same("all that can be used has a name", await page.evaluate(() =>
		[...document.querySelectorAll("button, a, input, select, summary, [role=slider], [role=tree], [role=treeitem], [role=region], [role=img], th[scope=col]")]
			.filter(each => !(each.getAttribute("aria-label") || each.textContent.trim() || each.title ||
				(each.id && document.querySelector(`label[for="${CSS.escape(each.id)}"]`))))
			.map(each => each.outerHTML.slice(0, 80))), []);
	same("pictures speak or are hidden", await page.evaluate(() =>
		[...document.querySelectorAll("svg")].filter(each => !each.getAttribute("role") && each.getAttribute("aria-hidden") !== "true").length), 0);
	check("a language", await page.getAttribute("html", "lang") === "en");
	await page.keyboard.press("Tab");
	check("first stop of the keyboard is the way past the head", await page.evaluate(() => document.activeElement.className) === "skip");
}

// The page leads with what the first screen of `brick report` says, and with what `brick explain` finds.
async function headEquals(page) {
	const lines = text("screen.txt").split("\n"), explain = json("explain.json");
	const shown = (await page.locator("#summary .head").innerText()).replace(/\s+/g, " ").trim();
	const head = lines.slice(0, lines.indexOf("")).join("\n").replace(/^Trust .*(\n +.*)*\n/m, "").replace(/\s+/g, " ").trim();
	same("head", shown, head);
	const trust = lines.join("\n").match(/^Trust .*(\n +.*)*/m)[0].replace(/\s+/g, " ").replace(/; more: .*/, "");
	same("trust", (await page.locator("#summary .trust").innerText()).replace(/\s+/g, " "), trust);
	same("findings", await page.$$eval("#summary .findings li", items => items.map(each => each.dataset.rule)),
		explain.findings.slice(0, 3).map(each => each.rule));
	for (const { what, evidence } of explain.findings.slice(0, 3)) {
		check(`finding: ${what}`, (await page.locator("#summary .findings").innerText()).includes(what));
		check(`because ${evidence}`, (await page.locator("#summary .findings").innerText()).includes(evidence));
	}
	check("it comes first", await page.evaluate(() => document.querySelector("#summary h2").nextElementSibling.className === "head"));
}

async function summaryEquals(page, report) {
	const text = await page.locator("#summary").innerText();
	const figure = name => page.locator(`[data-figure="${name}"]`).innerText();
	const rate = report.steps.decode.tokens_per_s;
	const shown = parseFloat((await figure("Decode")).match(/([\d.]+) tokens\/s/)[1]);
	check("decode rate", Math.abs(shown - rate) <= rate / 100 + 0.5, shown);
	check("coverage", (await figure("Coverage")).includes(`${(100 * report.coverage.share).toFixed(1)}%`));
	check("distortion", (await figure("Distortion")).includes(report.distortion.measurable
		? `${(100 * report.distortion.share).toFixed(2)}%` : "not measurable on this busy machine"));
	check("losses", (await figure("Losses")).includes("Nothing was lost"));
	if (report.presence.cpus_busy !== null)
		check("CPUs", (await figure("CPUs")).includes(`${(100 * report.presence.cpus_busy).toFixed(1)}% busy`));
	check("clock", (await figure("Clock")).includes(report.run.clock.source));
	check("file", text.includes(report.run.file));
	check("start", text.includes(report.run.start));
	for (const note of report.run.notes) {
		await page.locator("#summary summary", { hasText: "notes" }).evaluate(each => { each.parentElement.open = true; });
		check(`note ${note.key}`, (await page.locator("#summary").innerText()).includes(note.key));
	}
}

async function sorting(page) {
	for (const key of ["name", "count", "self_ns", "p99_ns", "bytes", "share"]) {
		for (let turn = 0; turn < 2; turn++) {
			await page.locator(`#bricks [data-key="sort-${key}"]`).click();
			const order = await page.locator(`#bricks th:has([data-key="sort-${key}"])`).getAttribute("aria-sort");
			const values = (await columnOf(page, "bricks", key)).map(v => (v === null || key === "name" ? v : Number(v)));
			const known = values.filter(v => v !== null);
			same(`${key}: unknown ones last`, values.slice(known.length), values.slice(known.length).map(() => null));
			const sorted = [...known].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
			same(`${key} ${order}`, known, order === "ascending" ? sorted : sorted.reverse());
			same(`${key}: a second click turns it`, order, (key === "name") === (turn === 0) ? "ascending" : "descending");
		}
		check("focus stays", await page.evaluate(k => document.activeElement.dataset.key === `sort-${k}`, key));
	}
	same("one column is sorted", await page.locator("#bricks th[aria-sort=ascending], #bricks th[aria-sort=descending]").count(), 1);
	await page.locator('#bricks [data-key="sort-share"]').click();
}

async function filtering(page, report) {
	await page.fill("#filter", "proj");
	const want = report.bricks.filter(row => row.name.toLowerCase().includes("proj")).length;
	check("some match", want > 0 && want < report.bricks.length);
	same("filtered", (await columnOf(page, "bricks", "name")).length, want);
	await page.fill("#filter", "no such brick");
	same("none", (await columnOf(page, "bricks", "name")).length, 0);
	await page.fill("#filter", "");
	same("all again", (await columnOf(page, "bricks", "name")).length, report.bricks.length);
}

// One prefill among many decodes makes averages that fit neither: together is on demand.
async function decodeFirst(page, report) {
	check("decode is chosen", await page.isChecked("#phase-decode"));
	await tableEquals(page, json("decode.json"), "at first");
	await page.locator("label[for=phase-all]").click();
	await tableEquals(page, report, "together");
}

async function phases(page, report) {
	for (const phase of ["prefill", "decode"]) {
		await page.focus(`#phase-${phase === "prefill" ? "decode" : "all"}`);
		await page.keyboard.press("ArrowRight");
		check(`${phase} is chosen`, await page.isChecked(`#phase-${phase}`));
		await tableEquals(page, json(`${phase}.json`), phase);
		check("path of the phase only", (await page.locator("#path h3").first().innerText()).toLowerCase() === phase);
	}
	await page.locator("label[for=phase-all]").click();
	await tableEquals(page, report, "all");
}

async function stepsChart(page, report) {
	const slider = page.locator('[data-key="steps-decode"]');
	same("as many stops as steps", Number(await slider.getAttribute("aria-valuemax")) + 1, report.steps.decode.count);
	await slider.focus();
	await page.keyboard.press("ArrowRight");
	await page.keyboard.press("ArrowRight");
	same("moved", await slider.getAttribute("aria-valuenow"), "1");
	check("it says where", /^Step \d+: /.test(await slider.getAttribute("aria-valuetext")));
	check("so does the box", await page.locator(".tip").isVisible());
	await page.keyboard.press("Home");
	await page.keyboard.press("Enter");
	const number = (await slider.getAttribute("aria-valuetext")).match(/^Step (\d+)/)[1];
	same("Enter shows the step below", await page.inputValue("#step-choice"), number);
	await page.keyboard.press("End");
	same("end", Number(await slider.getAttribute("aria-valuenow")) + 1, report.steps.decode.count);
	await page.keyboard.press("Escape");
	await slider.scrollIntoViewIfNeeded();
	// scrolling is smooth, so the chart may still be on its way
	let moved = false;
	for (let i = 0; i < 100 && !moved; i++) {
		const box = await slider.locator("svg").boundingBox();
		await page.mouse.move(box.x + box.width / 3 + i % 2, box.y + box.height / 2);
		moved = Number(await slider.getAttribute("aria-valuenow")) + 1 < report.steps.decode.count;
		if (!moved) await page.waitForTimeout(100);
	}
	check("the pointer moves the cursor", moved);
	await page.mouse.move(2, 2);
	check("and leaves", await page.locator(".tip").isHidden());
	same("prefill and decode apart", await page.locator("#steps [role=slider]").count(), 2);
	same("a chart for each phase", await page.locator("#steps h3").allInnerTexts(), ["Prefill", "Decode"]);
	const page_data = JSON.parse(await page.locator("#data").textContent());
	const { slow, slow_count: slow_count } = page_data.steps.decode;
	same("slow ones are picked out", await slider.locator("path.slow").count(), slow.length);
	if (slow_count) check("and counted", (await page.locator("#steps").innerText()).includes(`${slow_count} step`));
	const used = await slider.locator("path[data-category]").evaluateAll(paths => paths.map(path => path.dataset.category));
	check("stacked by category", used.includes("Attention") && used.includes("FFN") && used.includes("unattributed"), used);
}

// The whole flame graph is the sum of its stacks, and a click makes a frame as wide as the picture.
async function flame(page) {
	const { flame: { names, nodes } } = json("data.json");
	const folded = text("folded.txt").trim().split("\n").map(line => Number(line.slice(line.lastIndexOf(" ") + 1)));
	same("all of brick flame", nodes.time_ns[0], folded.reduce((sum, ns) => sum + ns, 0));
	const tree = page.locator("#flame [role=tree]");
	const wide = node => node.locator("rect").evaluate(rect => rect.getBBox().width);
	const brick = nodes.kind.findIndex((_, i) => names[nodes.name[i]] === "QkvProjection");
	const box = tree.locator(`[data-node="${brick}"]`);
	const before = await wide(box), whole = await wide(tree.locator('[data-node="0"]'));
	await box.click();
	check("a frame zooms", before < whole && await wide(box) >= whole - 1, [before, whole]);
	await page.locator("#flame nav button").first().click();
	check("and back", Math.abs(await wide(box) - before) < 1);
}

async function icicle(page) {
	const choices = await page.$$eval("#step-choice option", all => all.map(each => each.value));
	check("steps to choose from", choices.length > 2);
	await page.selectOption("#step-choice", choices[0]);
	const tree = page.locator("#step [role=tree]");
	const node = () => page.evaluate(() => document.activeElement.getAttribute("aria-label") ?? "");
	await tree.locator('[tabindex="0"]').focus();
	check("the step itself first", /^(Decode|Prefill),/.test(await node()), await node());
	same("one stop for the keyboard", await tree.locator('[tabindex="0"]').count(), 1);
	const levels = [await node()];
	for (let i = 0; i < 3; i++) {
		await page.keyboard.press("ArrowDown");
		levels.push(await node());
	}
	check("down through the levels", new Set(levels).size === 4, levels);
	check("a layer is among them", levels.some(each => each.startsWith("Layer ")), levels);
	await page.keyboard.press("ArrowRight");
	const beside = await node();
	await page.keyboard.press("ArrowLeft");
	check("and along them", beside !== await node() || beside === levels[3]);
	await page.keyboard.press("ArrowUp");
	same("up again", await node(), levels[2]);
	const width = () => page.evaluate(() => document.activeElement.querySelector("rect").getBBox().width);
	const before = await width();
	await page.keyboard.press("Enter");
	check("Enter zooms", await width() > before, [before, await width()]);
	same("focus stays on it", await node(), levels[2]);
	check("where one is", (await page.locator('#step nav.zoomed').innerText()).includes("›"));
	await page.keyboard.press("Backspace");
	await page.keyboard.press("Backspace");
	await page.keyboard.press("Backspace");
	check("Backspace zooms out", !(await page.locator('#step nav.zoomed').innerText()).includes("›"));
	await page.selectOption("#step-choice", choices.at(-1));
	check("another step", (await page.locator("#step .hint").innerText()).includes("token"));
	await tree.locator("[role=treeitem]").nth(2).click();
	check("a click zooms", (await page.locator('#step nav.zoomed').innerText()).includes("›"));
	await page.locator('#step nav.zoomed button').first().click();
	await page.locator("#step details.numbers summary").click();
	await page.locator("#step details.numbers tbody tr").nth(10).waitFor();
}

async function heatMap(page, report) {
	const cells = await page.$$eval("#layers td[data-value]", all => all.map(each => Number(each.dataset.value)));
	const layered = json("layers.json").layers.filter(row => row.layer >= 0);
	const sum = cells.reduce((a, b) => a + b, 0);
	same("cells add up to the layers", sum, layered.reduce((total, row) => total + row.wall_ns, 0));
	same("a row for each layer", await page.locator("#layers tbody tr").count(), layered.length);
	const heat = () => page.$$eval("#layers td[data-value]", all => all.map(each => each.style.getPropertyValue("--heat")).join());
	const before = await heat();
	await page.locator("label[for=heat-brick]").click();
	check("other colours within a brick", before !== await heat());
	await page.locator("label[for=heat-all]").click();
	same("and back", await heat(), before);
}

async function lengthsChart(page, report) {
	for (const row of report.bricks.slice(0, 3)) {
		await page.selectOption("#brick-choice", row.name);
		const marks = await page.$$eval("#lengths [data-percentile]", all => all.map(each => [each.dataset.percentile, each.dataset.value]));
		const want = [["p50", row.p50_ns], ["p95", row.p95_ns], ["p99", row.p99_ns]].filter(([, ns]) => ns !== null).map(([name, ns]) => [name, String(ns)]);
		same(`percentiles of ${row.name}`, marks, want);
		await page.evaluate(() => { document.querySelector("#lengths details").open = false; });
		await page.locator("#lengths details summary").click();
		await page.locator("#lengths details tbody tr").first().waitFor();
		const counts = await page.$$eval("#lengths details tbody tr td:last-child", all => all.map(each => Number(each.textContent)));
		same(`executions of ${row.name}`, counts.reduce((a, b) => a + b, 0), row.count);
		same("a bar for each", await page.locator("#lengths rect.bucket").count(), counts.length);
	}
	const name = report.bricks[1].name;
	await page.locator(`#bricks [data-key="brick-${name}"]`).click();
	same("a row chooses its brick", await page.inputValue("#brick-choice"), name);
	check("and is marked", await page.locator(`#bricks tr[data-row="${name}"].chosen`).count() === 1);
}

async function rooflineChart(page, report) {
	const { bricks, ceilings } = json("data.json").roofline;
	const want = bricks.filter(row => row.intensity > 0 && row.flops_per_s > 0).map(row => `${row.name} ${row.flops_per_s}`).sort();
	const got = (await page.$$eval("#roofline circle", all => all.map(each => `${each.dataset.brick} ${each.dataset.value}`))).sort();
	same("a dot for each brick that says its work", got, want);
	await page.locator("#roofline circle").first().focus();
	check("a dot says what it is", (await page.locator(".tip").innerText()).includes("FLOPs for each byte"));
	await page.keyboard.press("Tab");
	const lines = await page.locator("#roofline .ceiling").count();
	check("ceilings where there are any", (lines > 0) === (ceilings !== null), lines);
	if (!ceilings) check("or how to measure them", (await page.locator("#roofline").innerText()).includes("brick ceilings"));
}

async function criticalPath(page) {
	const { sections } = json("path.json");
	for (const [i, section] of sections.entries()) {
		const rows = page.locator("#path .phase").nth(i).locator("tbody tr[data-row]");
		const got = await rows.evaluateAll(all => all.map(row => [row.dataset.row,
			...["on_path_ns", "own_ns", "slack", "less", "nothing"].map(key => row.querySelector(`[data-column="${key}"]`).dataset.value ?? null)]));
		const shown = section.bricks.filter(row => row.on_path_share > 0.0005);
		same("rows of the path", got.length, shown.length);
		for (const [name, on_path, own, slack, less, nothing] of got) {
			const row = shown.find(each => each.name === name);
			// a row without slack is time off the CPU, which no faster brick gives back
			const gains = row.slack.mean_ns === null ? [null, null] : [row.ten_percent_less.tokens_per_s, row.nothing.tokens_per_s];
			same(`path of ${name}`, [on_path, own, slack, less, nothing], [row.on_path_ns, row.own_ns, row.slack.mean_ns, ...gains].map(valueOf));
		}
	}
	check("best opportunity", (await page.locator("#path .best").first().innerText()).includes("10% faster"));
	check("the path of one step", await page.locator("#path rect.hop").count() > 3);
}

async function themes(page) {
	const paper = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
	const seen = new Set();
	const button = page.locator("#theme");
	for (const theme of ["light", "dark", "auto"]) {
		await button.click();
		same("theme", await button.getAttribute("data-theme"), theme);
		seen.add(await paper());
	}
	same("light and dark differ", seen.size, 2);
	await button.click();
	await button.click();
	await page.emulateMedia({ colorScheme: "light" });
	const dark = await paper();
	await page.reload();
	await page.waitForSelector("html[data-ready]");
	same("it is remembered", await paper(), dark);
	await button.click();
	await page.emulateMedia({ colorScheme: "dark" });
	same("auto follows the system", await paper(), dark);
	for (const scheme of ["light", "dark"]) {
		await page.emulateMedia({ colorScheme: scheme });
		const low = await page.evaluate(() => {
			const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
			const level = colour => {
				canvas.fillStyle = colour;
				canvas.fillRect(0, 0, 1, 1);
				return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3).map(v => v / 255)
					.map(v => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
					.reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
			};
			const contrast = (a, b) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
			const back = level(getComputedStyle(document.querySelector(".card")).backgroundColor);
			return [...document.querySelectorAll(".card h2, .card p, .card dt, .card td, .card th button, .card summary, .card a, .legend li")]
				.filter(each => each.offsetWidth && !each.closest(".heat"))
				.map(each => [each.tagName, contrast(level(getComputedStyle(each).color), back)]).filter(([, value]) => value < 4.5);
		});
		same(`text can be read in ${scheme}`, low, []);
	}
}

async function onPaper(page) {
	await page.emulateMedia({ media: "print" });
	check("no controls on paper", await page.locator("#theme").isHidden() && await page.locator("nav").first().isHidden());
	check("all rows on paper", await page.evaluate(() => [...document.querySelectorAll(".scroll")].every(each => each.scrollHeight <= each.clientHeight + 1)));
	const pdf = await page.pdf({ format: "A4", margin: { top: "12mm", bottom: "12mm", left: "12mm", right: "12mm" } });
	check("a PDF", pdf.length > 20000, pdf.length);
	await page.emulateMedia({ media: null });
}

async function narrow() {
	for (const name of ["device.html", "hostile.html", "run.html"])
		for (const width of [390, 320]) {
			const each = await open(name, { viewport: { width, height: 740 } });
			check(`nothing of ${name} sticks out of ${width} px`, await each.evaluate(() => document.documentElement.scrollWidth <= innerWidth),
				await each.evaluate(() => [...document.querySelectorAll("#page *")].filter(e => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest(".scroll, svg")).slice(0, 3).map(e => e.outerHTML.slice(0, 100))));
			await each.finish();
		}
	const page = await open("run.html", { viewport: { width: 360, height: 740 } });
	await page.setViewportSize({ width: 1000, height: 740 });
	await page.waitForFunction(() => document.querySelector('[data-key="steps-decode"] svg').viewBox.baseVal.width > 600);
	await page.finish();
}

async function device() {
	const page = await open("device.html");
	const { kernels } = json("kernels.json");
	for (const [phase, rows] of [["decode", json("kernels-decode.json").kernels], ["all", kernels]]) {
		await page.locator(`label[for=phase-${phase}]`).click();
		for (const key of ["name", "count", "self_ns", "p50_ns"])
			same(`kernels: ${key}`, (await columnOf(page, "kernels", key)).sort(), rows.map(row => valueOf(row[key])).sort());
	}
	check("queues", await page.locator("#queues tbody tr").count() > 0);
	const step = await page.locator("#step [role=treeitem]").evaluateAll(all => all.map(each => each.getAttribute("aria-label")));
	check("kernels in a step", kernels.some(row => step.some(label => label.startsWith(row.name) && label.includes("on the device"))), step);
	await page.finish();
}

async function hostile() {
	const page = await open("hostile.html");
	const name = json("hostile.json").bricks.find(row => row.name.includes("script")).name;
	same("no script of a name ran", await page.evaluate(() => window.hacked ?? null), null);
	check("it is shown as text", (await page.locator("#bricks").innerText()).includes(name.split("\u2028")[0]));
	await page.selectOption("#brick-choice", name);
	same("two scripts", await page.locator("script").count(), 2);
	same("no image", await page.locator("img").count(), 0);
	await page.finish();
}

async function long() {
	const page = await open("long.html");
	await page.locator('#bricks [data-key="sort-count"]').click();
	await page.locator("label[for=phase-decode]").click();
	await page.locator('[data-key="steps-decode"]').focus();
	await page.keyboard.press("End");
	check("columns of many steps", /of them\)/.test(await page.locator('[data-key="steps-decode"]').getAttribute("aria-valuetext")));
	const { domInteractive, duration } = await page.evaluate(() => performance.getEntriesByType("navigation")[0].toJSON());
	console.log(`a million samples: interactive after ${Math.round(domInteractive)} ms, loaded after ${Math.round(duration)} ms`);
	await page.finish();
}

await run(async () => {
	const report = json("run.json");
	const page = await open("run.html");
	await structure(page);
	await page.locator("label[for=columns-all]").click();
	for (const part of [headEquals, summaryEquals, decodeFirst, sorting, filtering, phases, stepsChart, icicle, flame,
		heatMap, lengthsChart, rooflineChart, criticalPath, themes, onPaper])
		await part(page, report);
	await page.finish();
	await narrow();
	await device();
	await hostile();
	await long();
});
