// SPDX-License-Identifier: Apache-2.0
// How bricks of decoding grow with the context: dots are medians of what was measured, lines are the
// slopes that `brick scaling` finds, dashed with their intervals where they go on beyond it.
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

const MARGIN = { top: 18, right: 16, bottom: 40, left: 60 }, HEIGHT = 300;

const hue = line => line.category === null ? "var(--ink)" : colour(line.category);
const rate = line => !line.ns_per_token ? "slope not known" : line.too_noisy ? "too noisy"
	: `${format.time(Math.abs(line.ns_per_token.value))} ${line.ns_per_token.value < 0 ? "less" : "more"} for each token of context`;

// Of lines with one colour the first; the numbers have all.
const apart = lines => lines.filter((line, i) => lines.findIndex(other => hue(other) === hue(line)) === i);

const dot = (x, y, line, [context, ns]) => s("circle", {
	cx: x, cy: y, r: 2.8, style: { fill: hue(line) }, onpointerleave: hideTip,
	onpointermove: event => tipOver(event, [line.name, `${format.time(ns)} at a context of ${format.count(Math.round(context))}`, rate(line)]),
});

function picture({ shortest_context, longest_context, ...data }, width) {
	const lines = apart(data.lines);
	const end = max(lines, line => line.beyond.at(-1)?.[0] ?? longest_context);
	const x = scaleLinear([0, end], [MARGIN.left, width - MARGIN.right]);
	const y = scaleLinear([0, max(lines, line => Math.max(max(line.measured, p => p[1]), line.beyond.at(-1)?.[1] ?? 0))],
		[HEIGHT - MARGIN.bottom, MARGIN.top]).nice(5).clamp(true);
	return s("svg", {
		viewBox: `0 0 ${width} ${HEIGHT}`, width: "100%", role: "img",
		"aria-label": lines.map(line => `${line.name}: median ${format.time(line.median_ns)}, ${rate(line)}`).join("; "),
	}, left(y, MARGIN.left, 0, 5, ns => format.time(ns), width - MARGIN.left - MARGIN.right),
	bottom(x, 0, HEIGHT - MARGIN.bottom, 6, n => format.count(n)),
	end > longest_context ? s("g", { "aria-hidden": "true" },
		s("line", { x1: x(longest_context), x2: x(longest_context), y1: MARGIN.top, y2: HEIGHT - MARGIN.bottom, style: { stroke: "var(--soft)", "stroke-dasharray": "4 4" } }),
		s("text", { x: x(longest_context) + 6, y: MARGIN.top + 10 }, "modelled")) : null,
	lines.map(line => {
		const stroke = { stroke: hue(line), "stroke-width": 1.8, fill: "none" };
		const band = [...line.beyond.map(([c, , , high]) => [c, high]), ...line.beyond.map(([c, , low]) => [c, low]).reverse()];
		return s("g", { class: "growth", "data-name": line.name },
			band.length ? s("polygon", { points: band.map(([c, ns]) => `${x(c).toFixed(1)},${y(ns).toFixed(1)}`).join(" "), style: { fill: hue(line), "fill-opacity": 0.13 } }) : null,
			line.from_ns === null ? null : s("line", { x1: x(shortest_context), x2: x(longest_context), y1: y(line.from_ns), y2: y(line.to_ns), style: stroke }),
			band.length ? s("line", { x1: x(longest_context), x2: x(end), y1: y(line.beyond[0][1]), y2: y(line.beyond.at(-1)[1]), style: { ...stroke, "stroke-dasharray": "6 4" } }) : null,
			line.measured.map(point => dot(x(point[0]), y(point[1]), line, point)));
	}));
}

export function scaling(page) {
	const data = page.data.scaling;
	if (!data || !data.lines.some(line => line.ns_per_token)) return null;
	const place = h("div", { class: "chart" });
	const one = v => v === null ? "-" : format.time(v);
	const numbers = behind("scaling", "Numbers", () => plainTable("Growth with the context",
		["Brick", "Median", "For each token of context", "At twice the context", "At 4 times"],
		data.lines.map(line => [line.name, one(line.median_ns), rate(line),
			...[0, 1].map(i => line.modelled[i] ? `${one(line.modelled[i].ns.value)} (${one(line.modelled[i].ns.low)} to ${one(line.modelled[i].ns.high)})` : "-")])));
	const card = section("scaling", "Growth with the context",
		note(`Steps that decode ${format.plural(data.tokens, "token")}${data.model_name === null ? "" : ` of ${data.model_name}`}: dots are medians, lines the slopes of brick scaling. Beyond a context of ${format.count(Math.round(data.longest_context))} all is modelled.`),
		legend(apart(data.lines).map(line => [line.name, hue(line)])), place, numbers);
	page.later(() => drawIn(place, width => fill(place, picture(data, width))));
	return card;
}
