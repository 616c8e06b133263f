// SPDX-License-Identifier: Apache-2.0
// The time line: threads and queues over the time of a chosen range. The wheel, keys, fingers,
// buttons or a drag choose the range.
import { note, section } from "./figure.js";
import { fill, h } from "./dom.js";
import * as format from "./format.js";
import { draw, laneName, layout, moment, ticks } from "./lanes.js";
import { phaseLabel } from "./phases.js";
import { behind, plainTable } from "./table.js";
import { hideTip, tipOver } from "./tip.js";
import { drawIn } from "./widths.js";

const MIN_NS = 50, ROWS_MAX = 400, ASK_MS = 150;

function sliceWords(slices, { slice, lane, waits }) {
	return [
		waits ? `Waiting after ${slice.brick}` : slice.kernel ?? slice.brick, format.time(waits ? slice.wait : slice.length),
		...(slice.kernel && slice.kernel !== slice.brick ? [slice.brick] : []), ...(slice.layer >= 0 ? [`layer ${slice.layer}`] : []),
		...([slice.operation, slice.label].filter(Boolean).length ? [[slice.operation, slice.label].filter(Boolean).join(" ")] : []),
		`${moment(slice.begin, 10)} after the begin`, laneName(slices.lanes[lane]),
	];
}

function columnWords(slices, { column, i, lane }) {
	return [
		column.name(column.lanes[lane].brick[i]) ?? "in no brick", `took most of these ${format.time(column.wide)}`,
		`${column.lanes[lane].percent[i]}% of them in bricks`, `${moment(column.begin + i * column.wide, column.wide)} after the begin`, laneName(slices.lanes[lane]),
	];
}

function stepWords(steps, i) {
	return [`Step ${steps.number[i]}`, phaseLabel(steps.phase[i]), format.time(steps.total[i]), `${moment(steps.begin[i], 1000)} after the begin`];
}

class TimeLine {
	constructor(page) {
		this.page = page;
		this.range = page.state.range;
		this.canvas = h("canvas", { class: "lanes", tabindex: "0", role: "img", "data-key": "timeline", "aria-describedby": "timeline-keys" });
		this.band = h("div", { class: "band", hidden: true });
		this.place = h("div", { class: "lane-scroll" }, this.canvas, this.band);
		this.said = h("p", { class: "hint", role: "status" });
		this.picked = h("p", { class: "hint picked" });
		this.table = h("div");
		this.fingers = new Map();
		this.listen();
	}

	get slices() { return this.page.slices; }

	set(from, to) {
		const wall = this.slices.wall, wide = Math.max(MIN_NS, Math.min(wall, to - from));
		this.range.from = Math.max(0, Math.min(wall - wide, from));
		this.range.to = this.range.from + wide;
		this.redraw();
	}

	zoom(factor, at = (this.range.from + this.range.to) / 2) {
		const { from, to } = this.range;
		this.set(at - (at - from) * factor, at + (to - at) * factor);
	}

	pan(part) {
		const wide = this.range.to - this.range.from;
		this.set(this.range.from + part * wide, this.range.to + part * wide);
	}

	// A step, with a little around it.
	showStep(number) {
		const { steps } = this.page, i = steps.at.get(number);
		if (i === undefined) return;
		const margin = steps.total[i] * 0.02;
		this.set(steps.begin[i] - margin, steps.begin[i] + steps.total[i] + margin);
	}

	redraw() {
		if (this.waiting) return;
		this.waiting = requestAnimationFrame(() => { this.waiting = 0; this.drawNow(); });
	}

	drawNow() {
		if (!this.canvas.isConnected) return;
		const { slices, page } = this, { from, to } = this.range;
		slices.in(from, to, 0);
		const view = { from, to, width: this.place.clientWidth, height: layout(slices).height, chosen: page.state.step, phase: page.state.phase };
		const { hits, windows } = draw(this.canvas, view, slices, page.steps, page.categories());
		this.hits = hits;
		this.windows = windows;
		this.canvas.dataset.from = Math.round(from);
		this.canvas.dataset.to = Math.round(to);
		this.canvas.dataset.slices = hits.filter(hit => hit.slice).length;
		this.say(view);
		if (slices.lacks(from, to)) this.askSoon();
	}

	say({ from, to, width }) {
		const { step } = ticks(from, to, width);
		const exact = this.windows.reduce((sum, w) => sum + Math.min(to, w.end) - Math.max(from, w.begin), 0) / (to - from);
		const columns = `columns of ${format.time(Math.round(this.slices.columns.wide))}, coloured by the brick that took most, as high as the share of time in bricks`;
		const detail = exact > 0.999 ? "each sample" : exact > 0 ? `each sample for ${format.percent(exact)} of the time, else ${columns}` : columns;
		this.said.textContent = `${moment(from, step / 10)} to ${moment(to, step / 10)} (${format.time(Math.round(to - from))}): ${detail}`;
		this.canvas.setAttribute("aria-label", `Time line of ${format.plural(this.slices.lanes.length, "lane")}, ${this.said.textContent}`);
		fill(this.table, behind("timeline", "Numbers", () => this.numbers()));
	}

	numbers() {
		const { from, to } = this.range, rows = [];
		for (const window of this.windows)
			for (const { lane, slices } of window.lanes)
				for (const slice of slices)
					if (slice.begin < to && slice.begin + slice.length > from && rows.length < ROWS_MAX)
						rows.push([moment(slice.begin, 1), laneName(this.slices.lanes[lane]), slice.kernel ?? slice.brick, slice.layer < 0 ? "-" : String(slice.layer),
							[slice.operation, slice.label].filter(Boolean).join(" ") || "-", format.time(slice.length), format.time(slice.wait)]);
		return rows.length ? h("div", null, plainTable("Slices of the range", ["Begin", "Lane", "Name", "Layer", "Operation", "Length", "Wait after it"], rows),
			rows.length < ROWS_MAX ? null : note(`The first ${ROWS_MAX}; choose a shorter range to see others.`)) : note("No single samples are shown in this range; zoom in, or choose a step.");
	}

	askSoon() {
		clearTimeout(this.asking);
		const { from, to } = this.range, { slices } = this;
		this.asking = setTimeout(() => slices.load(from, to).then(() => this.redraw()).catch(error => {
			this.said.textContent = `Not connected: ${error.message}`;
		}), ASK_MS);
	}

	at(event) {
		const box = this.canvas.getBoundingClientRect();
		return { x: event.clientX - box.left, y: event.clientY - box.top, ns: this.range.from + (event.clientX - box.left) / box.width * (this.range.to - this.range.from) };
	}

	hit({ x, y }) {
		return this.hits?.findLast(each => x >= each.x0 && x <= each.x1 && y >= each.y0 && y <= each.y1);
	}

	words(hit) {
		return hit.slice ? sliceWords(this.slices, hit) : hit.column ? columnWords(this.slices, hit) : stepWords(this.page.steps, hit.step);
	}

	pick(hit) {
		this.picked.textContent = hit ? this.words(hit).join(", ") : "";
		if (hit?.step !== undefined) this.page.pickStep(this.page.steps.number[hit.step], false);
	}

	listen() {
		const { canvas } = this;
		canvas.addEventListener("wheel", event => {
			const zooms = event.ctrlKey || event.metaKey || document.activeElement === canvas;
			if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) this.pan(event.deltaX / 1000);
			else if (event.shiftKey) this.pan(event.deltaY / 1000);
			else if (zooms) this.zoom(1.0015 ** event.deltaY, this.at(event).ns);
			else return;
			event.preventDefault();
		}, { passive: false });
		canvas.addEventListener("keydown", event => {
			const done = {
				ArrowLeft: () => this.pan(-0.2), ArrowRight: () => this.pan(0.2), a: () => this.pan(-0.2), d: () => this.pan(0.2),
				"+": () => this.zoom(0.6), "=": () => this.zoom(0.6), w: () => this.zoom(0.6), "-": () => this.zoom(1.7), s: () => this.zoom(1.7),
				Home: () => this.set(0, this.slices.wall), 0: () => this.set(0, this.slices.wall), f: () => this.showStep(this.page.state.step),
			}[event.key];
			if (!done || event.ctrlKey || event.metaKey || event.altKey) return;
			done();
			event.preventDefault();
		});
		canvas.addEventListener("pointerdown", event => this.down(event));
		canvas.addEventListener("pointermove", event => this.move(event));
		canvas.addEventListener("pointerup", event => this.up(event));
		canvas.addEventListener("pointercancel", event => { this.fingers.delete(event.pointerId); this.drag = null; this.band.hidden = true; });
		canvas.addEventListener("pointerleave", hideTip);
		canvas.addEventListener("dblclick", event => this.zoom(0.4, this.at(event).ns));
	}

	down(event) {
		if (event.button) return;
		this.canvas.setPointerCapture(event.pointerId);
		const { x, ns } = this.at(event);
		if (event.pointerType === "touch") this.fingers.set(event.pointerId, { x, ns });
		this.drag = { x, ns, from: this.range.from, to: this.range.to, moves: event.shiftKey || event.pointerType === "touch", moved: false };
	}

	move(event) {
		const here = this.at(event), { drag } = this;
		if (this.fingers.has(event.pointerId)) this.fingers.get(event.pointerId).x = here.x;
		if (this.fingers.size === 2) return this.pinch();
		if (!drag) {
			const hit = this.hit(here);
			if (hit) tipOver(event, this.words(hit)); else hideTip();
			return undefined;
		}
		drag.moved ||= Math.abs(here.x - drag.x) > 4;
		if (!drag.moved) return undefined;
		hideTip();
		const by = (drag.x - here.x) / this.canvas.clientWidth * (drag.to - drag.from);
		if (drag.moves) return this.set(drag.from + by, drag.to + by);
		this.band.hidden = false;
		Object.assign(this.band.style, { left: `${Math.min(drag.x, here.x)}px`, width: `${Math.abs(here.x - drag.x)}px`, height: `${this.canvas.clientHeight}px` });
		return undefined;
	}

	// What was under two fingers stays there.
	pinch() {
		const [a, b] = [...this.fingers.values()].sort((p, q) => p.ns - q.ns);
		if (this.drag) this.drag.moved = true;
		if (b.x - a.x < 8) return;
		const scale = (b.ns - a.ns) / (b.x - a.x);
		this.set(a.ns - a.x * scale, a.ns + (this.canvas.clientWidth - a.x) * scale);
	}

	up(event) {
		const { drag } = this, here = this.at(event);
		this.fingers.delete(event.pointerId);
		this.drag = null;
		this.band.hidden = true;
		if (drag?.moved && !drag.moves) this.set(Math.min(drag.ns, here.ns), Math.max(drag.ns, here.ns));
		else if (drag && !drag.moved) this.pick(this.hit(here));
	}
}

export function timeline(page) {
	if (!page.slices.lanes.length) return null;
	const line = new TimeLine(page);
	const button = (key, text, name, act) => h("button", { type: "button", class: "plain", "data-key": `timeline-${key}`, "aria-label": name, onclick: act }, text);
	const { of } = page.steps, kept = page.data.timeline.windows.length;
	page.later(() => drawIn(line.place, () => line.redraw()));
	page.on("step", () => line.redraw());
	page.on("theme", () => line.redraw());
	const left = page.data.timeline.lanes_left_out;
	return section("timeline", "Time line",
		note("Steps, and below them each thread and queue, over time. ", page.data.served ? "" :
			kept >= of && of ? "Each sample of the steps is in this page. " : `Each sample of ${kept} of ${of} steps is in this page; of the rest there are columns, and brick serve shows all of it. `,
		page.state.phase === "all" || page.steps.number.length < of ? "" : `Work outside of ${phaseLabel(page.state.phase).toLowerCase()} steps is pale.`),
		h("p", { class: "tools" }, button("out", "−", "Zoom out", () => line.zoom(2)), button("in", "+", "Zoom in", () => line.zoom(0.5)),
			button("left", "←", "Earlier", () => line.pan(-0.5)), button("right", "→", "Later", () => line.pan(0.5)),
			button("whole", "All", "The whole run", () => line.set(0, page.slices.wall)),
			button("step", "Step", "The step that is chosen", () => line.showStep(page.state.step))),
		h("p", { class: "hint", id: "timeline-keys" }, "Drag over a range to zoom into it, or use + and −, the arrow keys, Home and f (the chosen step); the wheel zooms with Ctrl, or when the picture has the focus. Two fingers zoom, one moves."),
		line.said, line.place, line.picked, line.table, left ? note(`${format.plural(left, "lane")} left out.`) : null);
}
