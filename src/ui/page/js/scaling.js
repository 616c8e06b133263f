// SPDX-License-Identifier: Apache-2.0
// How the time of bricks in decoding grows with the context: dots are medians of measured times, lines
// are the slopes that `brick scaling` finds.
import { max } from "d3-array";
import { scaleLinear } from "d3-scale";
import { bottom, left } from "./axis.js";
import { colour } from "./categories.js";
import { fill, h, s } from "./dom.js";
import { legend, note, section } from "./figure.js";
import * as format from "./format.js";
import { behind, plainTable } from "./table.js";
import { hideTip, tipOver } from "./tip.js";
import { drawIn } from "./widths.js";

const MARGIN = { top: 18, right: 16, bottom: 40, left: 60 }, HEIGHT = 300, SHOWN = 6;

const hue = line => line.category === null ? "var(--ink)" : colour(line.category);
const rate = line => !line.ns_per_token ? "slope not known" : line.too_noisy ? "too noisy"
	: `${format.time(Math.abs(line.ns_per_token.value))} ${line.ns_per_token.value < 0 ? "less" : "more"} for each token of context`;

// FlashAttention, the FFN as one, the step, and the longest others.
function chosen(page) {
	const data = page.data.scaling, categories = page.categories();
	const all = data.bricks.map(brick => ({ ...brick, category: categories.get(brick.name) ?? null }));
	const attention = all.find(({ name }) => name === "FlashAttention");
	return [attention, { ...data.ffn, name: "FFN, together", category: "FFN" }, { ...data.step, name: "the step", category: null },
		...all.filter(line => line !== attention && line.category !== "FFN")].filter(line => line?.median_ns > 0).slice(0, SHOWN);
}

// Of lines with one colour the first; the numbers have all.
const apart = lines => lines.filter((line, i) => lines.findIndex(other => hue(other) === hue(line)) === i);

const dot = (x, y, line, [context, ns]) => s("circle", {
	cx: x, cy: y, r: 2.8, style: { fill: hue(line) }, onpointerleave: hideTip,
	onpointermove: event => tipOver(event, [line.name, `${format.time(ns)} at a context of ${format.count(Math.round(context))}`, rate(line)]),
});

function picture(lines, longest, width) {
	const x = scaleLinear([0, longest], [MARGIN.left, width - MARGIN.right]);
	const y = scaleLinear([0, max(lines, line => max(line.measured, p => p[1]))], [HEIGHT - MARGIN.bottom, MARGIN.top]).nice(5).clamp(true);
	return s("svg", {
		viewBox: `0 0 ${width} ${HEIGHT}`, width: "100%", role: "img",
		"aria-label": lines.map(line => `${line.name}: median ${format.time(line.median_ns)}, ${rate(line)}`).join("; "),
	}, left(y, MARGIN.left, 0, 5, ns => format.time(ns), width - MARGIN.left - MARGIN.right),
	bottom(x, 0, HEIGHT - MARGIN.bottom, 6, n => format.count(n)),
	lines.map(line => s("g", { class: "growth", "data-name": line.name },
		line.fitted.length ? s("line", { x1: x(line.fitted[0].context), y1: y(line.fitted[0].ns.value), x2: x(line.fitted[1].context), y2: y(line.fitted[1].ns.value),
			style: { stroke: hue(line), "stroke-width": 1.8, fill: "none" } }) : null,
		line.measured.map(point => dot(x(point[0]), y(point[1]), line, point)))));
}

export function scaling(page) {
	const data = page.data.scaling, lines = data ? chosen(page) : [];
	if (!lines.some(line => line.ns_per_token)) return null;
	const place = h("div", { class: "chart" });
	const fitted = ({ ns }) => `${format.time(ns.value)} (${format.time(ns.low)} to ${format.time(ns.high)})`;
	const ends = [data.shortest_context, data.longest_context].map(context => `At ${format.count(Math.round(context))}`);
	const numbers = behind("scaling", "Numbers", () => plainTable("Growth with the context",
		["Brick", "Median", "For each token of context", ...ends],
		lines.map(line => [line.name, format.time(line.median_ns), rate(line), ...(line.fitted.length ? line.fitted.map(fitted) : ["-", "-"])])));
	const card = section("scaling", "Growth with the context",
		note(`Steps that decode ${format.plural(data.tokens, "token")}${data.model_name === null ? "" : ` of ${data.model_name}`}: dots are medians, lines the slopes of brick scaling.`),
		legend(apart(lines).map(line => [line.name, hue(line)])), place, numbers);
	page.later(() => drawIn(place, width => fill(place, picture(apart(lines), data.longest_context, width))));
	return card;
}
