// SPDX-License-Identifier: Apache-2.0
// Single steps on the page, in a headless Chromium: any can be opened and compared, the time line
// zooms, phases choose all of it, and nothing overlaps or sticks out at 1400 and 390 px. Run by
// tests/integration/html_single.py: node single.mjs MODULES CHROMIUM FOLDER
import { check, json, open, run, same } from "./browser.mjs";

const range = page => page.$eval("#timeline canvas", canvas => [Number(canvas.dataset.from), Number(canvas.dataset.to), Number(canvas.dataset.slices)]);

// The picture is drawn anew with the next frame.
async function changed(page, what, act) {
	const before = await page.$eval("#timeline canvas", canvas => [canvas.dataset.from, canvas.dataset.to].join());
	await act();
	try {
		await page.waitForFunction(old => {
			const { from, to } = document.querySelector("#timeline canvas").dataset;
			return `${from},${to}` !== old;
		}, before);
	} catch {
		throw new Error(`${what}: the range stays ${before}`);
	}
	return range(page);
}

async function zooming(page) {
	const [from, to] = await range(page);
	same("the whole run at first", from, 0);
	const canvas = page.locator("#timeline canvas");
	await canvas.scrollIntoViewIfNeeded();
	const button = key => () => page.locator(`[data-key="timeline-${key}"]`).click();
	const [a, b] = await changed(page, "the button +", button("in"));
	check("half of it", Math.abs((b - a) - to / 2) < to / 100, [a, b, to]);
	const later = await changed(page, "the button for later", button("right"));
	check("later", later[0] > a && Math.abs(later[1] - later[0] - (b - a)) < 2, later);
	await canvas.focus();
	const keyed = await changed(page, "the key +", () => page.keyboard.press("+"));
	check("+ zooms in", keyed[1] - keyed[0] < b - a, keyed);
	await changed(page, "an arrow key", () => page.keyboard.press("ArrowLeft"));
	const whole = await changed(page, "Home", () => page.keyboard.press("Home"));
	same("Home shows all", whole.slice(0, 2), [from, to]);
	const box = await canvas.boundingBox();
	const at = part => [box.x + box.width * part, box.y + 60];
	await page.mouse.move(...at(0.5));
	const wheeled = await changed(page, "the wheel", () => page.mouse.wheel(0, -400));
	check("the wheel zooms around the pointer", Math.abs((wheeled[0] + wheeled[1]) / 2 - to / 2) < to / 50, wheeled);
	await changed(page, "Home", () => page.keyboard.press("Home"));
	const dragged = await changed(page, "a drag", async () => {
		await page.mouse.move(...at(0.25));
		await page.mouse.down();
		await page.mouse.move(...at(0.3), { steps: 3 });
		await page.mouse.move(...at(0.5), { steps: 3 });
		await page.mouse.up();
	});
	check("a drag chooses its range", Math.abs(dragged[0] - to / 4) < to / 50 && Math.abs(dragged[1] - to / 2) < to / 50, dragged);
	check("it says what is shown", (await page.locator("#timeline [role=status]").innerText()).includes(" to "));
}

// What the time line names of a step are its samples.
async function slicesOf(page, { number, samples }) {
	await page.fill("#step-number", String(number));
	await page.keyboard.press("Tab");
	await changed(page, `step ${number}`, () => page.locator('[data-key="timeline-step"]').click());
	check("slices are drawn", (await range(page))[2] > 3, await range(page));
	await page.evaluate(() => { document.querySelector("#timeline details.numbers").open = false; });
	await page.locator("#timeline details.numbers summary").click();
	await page.locator("#timeline details.numbers tbody tr").first().waitFor();
	const names = await page.$$eval("#timeline details.numbers tbody tr", rows => rows.map(row => row.cells[2].textContent));
	for (const name of new Set(samples)) check(`slices of ${name} in step ${number}`, names.filter(each => each === name).length >= samples.filter(each => each === name).length, names.length);
}

// Its bricks are those of `brick report --steps N`.
async function anyStep(page, steps) {
	for (const [i, { number, report, tree }] of steps.entries()) {
		await page.fill("#step-number", String(number));
		await page.keyboard.press("Tab");
		const label = await page.locator("#step [role=treeitem]").first().getAttribute("aria-label");
		same(`step ${number} is open`, await page.inputValue("#step-choice"), String(number));
		check(`its name and time: ${label}`, label.toLowerCase().startsWith(tree.name.toLowerCase()), tree.name);
		check("layers", await page.locator("#step [role=treeitem]").count() > 3);
		await page.fill("#compare-a", String(number));
		await page.keyboard.press("Tab");
		await page.fill("#compare-b", String(steps[(i + 1) % steps.length].number));
		await page.keyboard.press("Tab");
		const rows = await page.$$eval("#compare tbody tr[data-row]", all => all.map(row => [row.dataset.row, ...["a_ns", "b_ns", "difference_ns"].map(key => Number(row.querySelector(`[data-column="${key}"]`)?.dataset.value))]));
		for (const [side, own] of [[1, report], [2, steps[(i + 1) % steps.length].report]]) {
			const got = new Map(rows.map(row => [row[0], row[side]]));
			for (const brick of own.bricks) same(`${brick.name} in step ${side === 1 ? "A" : "B"}`, got.get(brick.name) ?? 0, brick.wall_ns);
			same("all of it", got.get("all"), own.coverage.wall_ns);
			same("unattributed", got.get("unattributed") ?? 0, own.coverage.unattributed_ns);
		}
		for (const [name, a, b, difference] of rows) same(`difference of ${name}`, difference, b - a);
		check("a difference icicle", await page.locator("#compare [role=treeitem]").count() > 3);
	}
	await page.locator('#step [data-key="step-number1"]').click();
	check("the next one", Number(await page.inputValue("#step-number")) > steps.at(-1).number);
}

async function phases(page) {
	const read = () => page.evaluate(() => ({
		charts: [...document.querySelectorAll("#steps h3")].map(each => each.firstChild.textContent),
		opened: document.querySelector("#step .hint").textContent.split(",")[0],
		choices: [...document.querySelectorAll("#step-choice option")].map(each => each.textContent).join(),
		threads: [...document.querySelectorAll("#threads tbody td[data-column=self_ns]")].map(each => Number(each.dataset.value)),
		compare: [...document.querySelectorAll("#compare input")].map(each => Number(each.value)),
		context: document.querySelector("#context .hint")?.textContent ?? "",
		summary: document.querySelector("#summary .shares").getAttribute("aria-label"),
		path: [...document.querySelectorAll("#path h3")].map(each => each.textContent)[0],
	}));
	const seen = {};
	for (const [phase, name] of [["prefill", "Prefill"], ["decode", "Decode"], ["all", null]]) {
		await page.locator(`label[for=phase-${phase}]`).click();
		const now = await read();
		seen[phase] = now;
		if (!name) continue;
		same(`${phase}: charts`, now.charts, [name]);
		same(`${phase}: the step`, now.opened, name);
		same(`${phase}: the path`, now.path, name);
		check(`${phase}: steps to choose from`, now.choices.includes(phase) && !now.choices.includes(phase === "decode" ? "prefill" : "decode"), now.choices);
		const { threads } = json(`threads-${phase}.json`);
		same(`${phase}: threads`, now.threads, threads.map(row => row.self_ns).sort((x, y) => y - x));
	}
	same("all: charts", seen.all.charts, ["Prefill", "Decode"]);
	for (const key of ["summary", "threads", "compare"])
		check(`${key} follows the phase`, JSON.stringify(seen.prefill[key]) !== JSON.stringify(seen.decode[key]), seen.decode[key]);
	check("what is compared is of the phase", seen.decode.compare.every(number => !seen.prefill.compare.includes(number)), seen);
}

// Labels that can be read: none lies on another, none is cut by the screen.
async function layout(name, width, scheme) {
	const page = await open(name, { viewport: { width, height: 900 }, colorScheme: scheme, hasTouch: width < 500 });
	const found = await page.evaluate(() => {
		// Where text is turned, its corners count, not the upright box around it.
		const corners = each => {
			if (!each.getScreenCTM) return null;
			const { x, y, width: w, height: tall } = each.getBBox(), matrix = each.getScreenCTM();
			return [[x, y], [x + w, y], [x + w, y + tall], [x, y + tall]].map(([px, py]) => new DOMPoint(px, py).matrixTransform(matrix));
		};
		const apart = (a, b) => [a, b].some(one => one.some((p, i) => {
			const q = one[(i + 1) % 4], nx = q.y - p.y, ny = p.x - q.x, along = point => point.x * nx + point.y * ny;
			return Math.max(...a.map(along)) <= Math.min(...b.map(along)) || Math.max(...b.map(along)) <= Math.min(...a.map(along));
		}));
		const boxes = list => [...list].filter(each => each.textContent.trim() && each.getClientRects().length)
			.map(each => ({ text: each.textContent.trim(), box: each.getBoundingClientRect(), corners: corners(each) })).filter(({ box }) => box.width > 1);
		const groups = [...[...document.querySelectorAll("svg")].map(svg => svg.querySelectorAll("text")),
			...[...document.querySelectorAll(".tools, .choice, .legend, nav ul, header, .figures, .figure dd")].map(each => each.children)];
		const bad = [];
		for (const group of groups) {
			const all = boxes(group);
			for (const [i, a] of all.entries()) {
				if (a.box.right > innerWidth + 1 || a.box.left < -1) bad.push(`${a.text} sticks out`);
				for (const b of all.slice(i + 1)) {
					const wide = Math.min(a.box.right, b.box.right) - Math.max(a.box.left, b.box.left), high = Math.min(a.box.bottom, b.box.bottom) - Math.max(a.box.top, b.box.top);
					if (wide > 1 && high > 2 && !(a.corners && apart(a.corners, b.corners))) bad.push(`${a.text} on ${b.text}`);
				}
			}
		}
		return { bad, wide: document.documentElement.scrollWidth, cut: [...document.querySelectorAll("#bricks .scroll, #rows .scroll")].map(each => each.scrollWidth - each.clientWidth) };
	});
	same(`${name} at ${width} px, ${scheme}: labels`, found.bad, []);
	check(`${name} at ${width} px: nothing sticks out`, found.wide <= width, found.wide);
	if (width === 1400) check("no column is cut", found.cut.every(more => more <= 1), found.cut);
	await page.finish();
}

async function comparison() {
	const page = await open("diff.html");
	const { phases, said } = json("diff.json");
	same("the verdict", (await page.locator("h2").first().innerText()), said);
	for (const [phase, { bricks }] of Object.entries(phases)) {
		await page.locator(`label[for=phase-${phase}]`).click();
		const got = await page.$$eval("#rows tbody tr[data-row]", rows => rows.map(row => [row.dataset.row, ...["verdict", "effect", "points", "a_ns", "b_ns"].map(key => row.querySelector(`[data-column="${key}"]`).dataset.value ?? null)]));
		for (const brick of bricks) {
			const row = got.find(([name]) => name === brick.name);
			same(`${phase}: ${brick.name}`, row, [brick.name, ...["verdict", "effect", "points", "a_ns", "b_ns"].map(key => (brick[key] === null ? null : String(brick[key])))]);
		}
		await page.setViewportSize({ width: 1200, height: 900 });
		const cut = await page.$eval("#rows .scroll", place => place.scrollWidth - place.clientWidth);
		check("no column is cut at 1200 pixels", cut <= 1, cut);
		same("a plot for each", await page.locator("#rows svg.interval").count(), got.length);
	}
	await page.locator("label[for=phase-decode]").click();
	const sides = await page.$$eval("#over-time path[data-side]", all => all.map(each => each.dataset.side).join(""));
	same("a line for each recording", sides, "aaaabbbb");
	const nodes = await page.$$eval("#where [role=treeitem]", all => all.map(each => each.getAttribute("aria-label")));
	check("layers and bricks of the difference", nodes.some(label => label.startsWith("Layer 1,")) && nodes.some(label => label.startsWith("DownProjection, +")), nodes);
	await page.finish();
}

await run(async () => {
	const steps = json("steps.json");
	const page = await open("single.html", { viewport: { width: 1400, height: 900 } });
	await zooming(page);
	await anyStep(page, steps);
	await slicesOf(page, steps[0]);
	await phases(page);
	await page.finish();
	for (const width of [1400, 390])
		for (const [name, scheme] of [["single.html", "light"], ["single.html", "dark"], ["device.html", "light"], ["diff.html", "light"]])
			await layout(name, width, scheme);
	await comparison();
});
