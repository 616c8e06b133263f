// SPDX-License-Identifier: Apache-2.0
// Draws a range of time of the time line on a canvas: an axis, the steps, and below them a lane for
// each thread and queue. A lane has slices where each sample is known and wide enough to be seen, else
// columns. Returns the boxes that it drew, so that the pointer finds them.
import { colour } from "./categories.js";
import { FONT, fit } from "./fit.js";

export const AXIS = 22, STEP_ROW = 18, LABEL = 16, ROW = 17, GAP = 6;
const CANVAS_MAX = 16000; // px: browsers have no larger canvases
const WINDOW_LEAST = 24; // px: of a range of samples, to be drawn as such

// Canvases do not know var(): looks up the present value of a colour, light or dark.
export function colours(element) {
	const probe = element.ownerDocument.createElement("span");
	element.append(probe);
	const known = new Map();
	const of = css => {
		if (!known.has(css)) {
			probe.style.color = css;
			known.set(css, getComputedStyle(probe).color);
		}
		return known.get(css);
	};
	return { of, end: () => probe.remove() };
}

function isLight(rgb) {
	const [r, g, b] = rgb.match(/[\d.]+/g).map(Number);
	return 0.299 * r + 0.587 * g + 0.114 * b > 140;
}

// Where lanes lie: [{ y, height }], and the height of all.
export function layout(slices) {
	let y = AXIS + STEP_ROW + GAP;
	const lanes = slices.rows.map(rows => {
		const lane = { y, height: LABEL + rows * ROW };
		y += lane.height + GAP;
		return lane;
	});
	return { lanes, height: y };
}

// Round values, at most one for each 70 px.
export function ticks(from, to, width) {
	const least = (to - from) / Math.max(1, Math.floor(width / 70));
	const ten = 10 ** Math.floor(Math.log10(Math.max(1, least)));
	const step = [1, 2, 5, 10].map(n => n * ten).find(n => n >= least);
	const all = [];
	for (let at = Math.ceil(from / step) * step; at <= to; at += step) all.push(at);
	return { all, step };
}

// As exact as its distance to the next one.
export function moment(ns, step) {
	if (!ns) return "0";
	const [unit, size] = [["s", 1e9], ["ms", 1e6], ["µs", 1e3], ["ns", 1]].find(([, n]) => Math.abs(ns) >= n) ?? ["ns", 1];
	return `${(ns / size).toFixed(Math.max(0, Math.min(9, Math.ceil(-Math.log10(step / size) - 1e-9))))}${unit}`;
}

class Picture {
	constructor(context, view, paint) {
		Object.assign(this, { context, paint, view, hits: [] });
		this.scale = view.width / (view.to - view.from);
	}

	x(ns) {
		return (ns - this.view.from) * this.scale;
	}

	box(x, y, wide, high, fill, hit) {
		const left = Math.max(-2, x), right = Math.min(this.view.width + 2, x + wide);
		if (right <= left) return;
		this.context.fillStyle = fill;
		this.context.fillRect(left, y, Math.max(right - left, 0.7), high);
		if (hit) this.hits.push({ x0: left, x1: Math.max(right, left + 2), y0: y, y1: y + high, ...hit });
	}

	text(text, x, y, room, fill) {
		this.context.fillStyle = fill;
		this.context.fillText(fit(text, room), x, y);
	}

	// A box with its name, as far as there is room.
	named(name, x, y, wide, high, fill, hit) {
		this.box(x, y, wide > 3 ? wide - 1 : wide, high, fill, hit);
		const left = Math.max(0, x), room = Math.min(this.view.width, x + wide) - left;
		if (room > 30) this.text(name, left + 4, y + high - 4.5, room - 8, isLight(fill) ? "#10141b" : "#fff");
	}
}

function drawAxis(picture, soft, line) {
	const { view, context } = picture;
	const { all, step } = ticks(view.from, view.to, view.width);
	context.textAlign = "left";
	let end = -Infinity;
	for (const at of all) {
		context.fillStyle = line;
		context.fillRect(picture.x(at), 0, 1, view.height);
		const text = moment(at, step), x = picture.x(at) + 4;
		context.fillStyle = soft;
		const wide = context.measureText(text).width;
		if (x < end || x + wide > view.width) continue; // it would meet the one before, or be cut
		context.fillText(text, x, 14);
		end = x + wide + 6;
	}
}

// Steps by phase; where they are too narrow, as bands.
function drawSteps(picture, steps, phase, paint) {
	let last = -1;
	for (let i = 0; i < steps.number.length; i++) {
		const x = picture.x(steps.begin[i]), wide = steps.total[i] * picture.scale;
		if (x + wide < 0 || x > picture.view.width || (wide < 1 && Math.floor(x) === last)) continue;
		last = Math.floor(x);
		const of = phase === "all" || steps.phase[i] === phase;
		picture.named(`${steps.number[i]}`, x, AXIS, Math.max(wide, 1), STEP_ROW,
			of ? paint(steps.number[i] === picture.view.chosen ? "var(--accent)" : "var(--engine)") : paint("var(--none)"), { step: i });
	}
}

// Fades all that lies in no step of the chosen phase.
function veil(picture, steps, phase, fill) {
	if (phase === "all" || steps.number.length < steps.of) return;
	const { width, height } = picture.view;
	const seen = new Uint8Array(Math.ceil(width) + 1);
	for (let i = 0; i < steps.number.length; i++) {
		if (steps.phase[i] !== phase) continue;
		const x0 = Math.max(0, Math.floor(picture.x(steps.begin[i]))), x1 = Math.min(width, Math.ceil(picture.x(steps.begin[i] + steps.total[i])));
		seen.fill(1, x0, Math.max(x0, x1));
	}
	picture.context.fillStyle = fill;
	for (let x = 0, from = 0; x <= width; x++) {
		if (x < width && !seen[x]) continue;
		if (x - from > 2) picture.context.fillRect(from, AXIS + STEP_ROW, x - from, height);
		from = x + 1;
	}
}

function drawColumns(picture, columns, lane, place, of_brick) {
	const { view } = picture, { brick, percent } = columns.lanes[lane] ?? { brick: [], percent: [] };
	const first = Math.max(0, Math.floor((view.from - columns.begin) / columns.wide));
	const high = place.height - LABEL;
	for (let i = first; i < brick.length && columns.begin + i * columns.wide < view.to; i++) {
		if (!percent[i]) continue;
		const tall = Math.max(1, high * percent[i] / 100);
		picture.box(picture.x(columns.begin + i * columns.wide), place.y + LABEL + high - tall, columns.wide * picture.scale + 0.3, tall,
			of_brick(columns.name(brick[i])), { lane, column: columns, i });
	}
}

function drawSlices(picture, window, place, paper, of_brick, waiting) {
	const { view } = picture;
	const x0 = Math.max(0, picture.x(window.begin)), x1 = Math.min(view.width, picture.x(window.end));
	picture.hits = picture.hits.filter(hit => hit.lane !== window.lane || !hit.column || hit.x1 <= x0 || hit.x0 >= x1);
	picture.box(x0, place.y + LABEL, x1 - x0, place.height - LABEL, paper);
	const last = [];
	for (const slice of window.slices) {
		if (slice.begin > view.to || slice.begin + slice.length + slice.wait < view.from || slice.row > 11) continue;
		const x = picture.x(slice.begin), wide = slice.length * picture.scale, y = place.y + LABEL + slice.row * ROW;
		if (wide < 0.7 && Math.floor(x) === last[slice.row]) continue;
		last[slice.row] = Math.floor(x);
		if (slice.wait * picture.scale > 0.7) picture.box(x + wide, y, slice.wait * picture.scale, ROW - 2, waiting, { lane: window.lane, slice, waits: true });
		picture.named(slice.kernel ?? slice.brick, x, y, wide, ROW - 2, of_brick(slice.brick), { lane: window.lane, slice });
	}
}

export const laneName = lane => `${lane.name || (lane.queue ? "queue" : "thread")} ${lane.tid}${lane.backend ? ` (${lane.backend})` : ""}`;

// view: { from, to, width, height, chosen, phase }. Returns the boxes that were drawn.
export function draw(canvas, view, slices, steps, categories) {
	const context = canvas.getContext("2d"), ratio = Math.min(devicePixelRatio || 1, CANVAS_MAX / view.height);
	canvas.width = Math.round(view.width * ratio);
	canvas.height = Math.round(view.height * ratio);
	canvas.style.height = `${view.height}px`;
	context.setTransform(ratio, 0, 0, ratio, 0, 0);
	context.font = FONT;
	const { of, end } = colours(canvas.parentElement);
	const of_brick = name => of(name === null ? "var(--none)" : name === "waiting" ? "var(--wait)" : colour(categories.get(name) ?? "Other"));
	const picture = new Picture(context, view);
	drawAxis(picture, of("var(--soft)"), of("var(--line)"));
	drawSteps(picture, steps, view.phase, of);
	const windows = slices.in(view.from, view.to, WINDOW_LEAST / picture.scale);
	const { lanes } = layout(slices);
	lanes.forEach((place, lane) => {
		const exact = windows.some(w => w.begin <= view.from && w.end >= view.to);
		if (!exact) drawColumns(picture, slices.columns, lane, place, of_brick);
		for (const window of windows) {
			const own = window.lanes.find(each => each.lane === lane) ?? { lane, slices: [] };
			drawSlices(picture, { ...own, begin: window.begin, end: window.end }, place, of("var(--card)"), of_brick, of("var(--wait)"));
		}
	});
	veil(picture, steps, view.phase, of("var(--veil)"));
	context.fillStyle = of("var(--soft)");
	lanes.forEach((place, lane) => context.fillText(laneName(slices.lanes[lane]), 2, place.y + 12));
	end();
	return { hits: picture.hits, windows };
}
