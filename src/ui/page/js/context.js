// SPDX-License-Identifier: Apache-2.0
// The time of a brick over the length of the context: that of attention grows with each token.
import { max } from "d3-array";
import { scaleLinear } from "d3-scale";
import { bottom, left } from "./axis.js";
import { colour } from "./categories.js";
import { fill, h, s } from "./dom.js";
import { note, section } from "./figure.js";
import * as format from "./format.js";
import { behind, plainTable } from "./table.js";
import { hideTip, tipOver } from "./tip.js";
import { drawIn } from "./widths.js";

const MARGIN = { top: 14, right: 16, bottom: 40, left: 60 }, HEIGHT = 240, PARTS = 8, LEAST = 8, CUT = 3;
const USUAL = ["FlashAttention", "AttentionScore", "AttentionOutput", "Softmax"];

// How many tokens were evaluated before each step, counted anew with each prompt.
function contexts(steps) {
	let context = 0, before = null;
	return [...steps.number].map((_, i) => {
		if (steps.phase[i] === "prefill" && before !== "prefill") context = 0;
		const own = context;
		if (steps.phase[i] !== "warm_up") context += steps.tokens[i];
		before = steps.phase[i];
		return own;
	});
}

function pointsOf(page, name) {
	const { steps } = page;
	const context = contexts(steps);
	return [...steps.number].map((number, i) => ({ number, phase: steps.phase[i], x: context[i], ns: steps.brick(name, i) }))
		.filter(point => point.ns > 0 && (page.state.phase === "all" || point.phase === page.state.phase));
}

const median = values => [...values].sort((a, b) => a - b)[(values.length - 1) >> 1];

// Medians of as many parts with equally many steps.
function medians(points) {
	const sorted = [...points].sort((a, b) => a.x - b.x);
	return Array.from({ length: PARTS }, (_, k) => sorted.slice(Math.floor(k * sorted.length / PARTS), Math.floor((k + 1) * sorted.length / PARTS)))
		.filter(part => part.length).map(part => ({ x: median(part.map(p => p.x)), ns: median(part.map(p => p.ns)), count: part.length, from: part[0].x, to: part.at(-1).x }));
}

function picture(page, points, name, category, width) {
	const x = scaleLinear([0, max(points, p => p.x) || 1], [MARGIN.left, width - MARGIN.right]);
	const line = medians(points), top = Math.min(max(points, p => p.ns), CUT * max(line, p => p.ns));
	const y = scaleLinear([0, top], [HEIGHT - MARGIN.bottom, MARGIN.top]).nice(4).clamp(true);
	const near = event => {
		const box = event.currentTarget.getBoundingClientRect(), scale = width / box.width;
		const px = (event.clientX - box.left) * scale, py = (event.clientY - box.top) * scale;
		return points.reduce((best, p) => {
			const d = Math.hypot(x(p.x) - px, y(p.ns) - py);
			return d < best.d ? { d, p } : best;
		}, { d: 20 }).p;
	};
	return s("svg", {
		viewBox: `0 0 ${width} ${HEIGHT}`, width: "100%", role: "img",
		"aria-label": `${name} against context length: median ${format.time(line[0].ns)} at ${line[0].x} tokens, ${format.time(line.at(-1).ns)} at ${line.at(-1).x} tokens`,
		onpointermove: event => {
			const point = near(event);
			if (point) tipOver(event, [`Step ${point.number}`, `${name} ${format.time(point.ns)}`, `${point.x} tokens before it`]); else hideTip();
		}, onpointerleave: hideTip,
		onclick: event => { const point = near(event); if (point) page.pickStep(point.number); },
	}, left(y, MARGIN.left, 0, 4, ns => format.time(ns), width - MARGIN.left - MARGIN.right),
	s("path", { class: "points", d: points.map(p => `M${x(p.x).toFixed(1)},${y(p.ns).toFixed(1)}h0`).join(""), style: { stroke: colour(category) } }),
	s("path", { class: "medians", d: line.map((p, i) => `${i ? "L" : "M"}${x(p.x).toFixed(1)},${y(p.ns).toFixed(1)}`).join("") }),
	bottom(x, 0, HEIGHT - MARGIN.bottom, Math.max(2, Math.floor(width / 110)), n => format.count(n)),
	s("text", { class: "title", x: width - MARGIN.right, y: HEIGHT - 4, "text-anchor": "end" }, "tokens before the step"));
}

export function context(page) {
	const { state } = page, rows = new Map(page.data.report.bricks.map(row => [row.name, row.category]));
	if (page.steps.of_phase(state.phase).length < LEAST) return null;
	const names = page.steps.names;
	if (!names.includes(state.contextBrick)) state.contextBrick = USUAL.find(name => names.includes(name)) ?? names.find(name => rows.get(name) === "Attention") ?? names[0];
	const place = h("div", { class: "chart" }), hint = h("p", { class: "hint" }), table = h("div");
	const select = h("select", { id: "context-brick", "data-key": "context-brick", onchange: event => { state.contextBrick = event.target.value; draw(); } },
		names.map(name => h("option", { value: name }, name)));
	const draw = () => {
		const name = state.contextBrick, points = pointsOf(page, name);
		select.value = name;
		hint.textContent = "";
		fill(table);
		if (points.length < 2) return fill(place, note("It did not run in these steps."));
		const line = medians(points), above = points.filter(p => p.ns > CUT * max(line, q => q.ns)).length;
		hint.textContent = `${name}: median ${format.time(line[0].ns)} at ${line[0].x} tokens, ${format.time(line.at(-1).ns)} at ${line.at(-1).x}${above ? `; ${format.plural(above, "step")} took more than ${CUT} times the largest median and ${above === 1 ? "lies" : "lie"} at the upper edge` : ""}`;
		drawIn(place, width => fill(place, picture(page, points, name, rows.get(name), width)));
		return fill(table, behind("context", "Numbers", () => plainTable(`${name} by context`, ["Tokens before", "Steps", "Median"], line.map(p => [`${p.from} to ${p.to}`, String(p.count), format.time(p.ns)]))));
	};
	page.later(draw);
	return section("context", "Time against context length",
		note("Time of a brick in each step, against the tokens evaluated before the step; each prompt starts at 0. Tokens of several sequences, and tokens taken from a cache, are not separated. The line joins the medians of eighths."),
		h("p", { class: "tools" }, h("label", { for: "context-brick" }, "Brick"), select), hint, place, table);
}
