// SPDX-License-Identifier: Apache-2.0
// Bricks under the measured ceilings of the machine: how much they compute for each byte they move
// against how fast they compute. Ceilings are shown only where they were measured.
import { extent } from "d3-array";
import { scaleLog } from "d3-scale";
import { bottom, left, tens } from "./axis.js";
import { colour } from "./categories.js";
import { fill, h, s } from "./dom.js";
import { note, section } from "./figure.js";
import * as format from "./format.js";
import { behind, plainTable } from "./table.js";
import { hideTip, tipAt, tipOver } from "./tip.js";
import { drawIn } from "./widths.js";

const MARGIN = { top: 16, right: 16, bottom: 44, left: 64 };
const HEIGHT = 340;

const gflops = rate => `${format.number(rate / 1e9)} GFLOP/s`;
const gbytes = rate => `${format.number(rate / 1e9)} GB/s`;

// Bricks that say what they move and compute.
function pointsOf(page) {
	return page.report().bricks.filter(row => row.flops > 0 && row.bytes > 0 && row.flops_per_s > 0)
		.map(row => ({ name: row.name, category: row.category, share: row.share, x: row.flops / row.bytes, y: row.flops_per_s, bytes_per_s: row.bytes_per_s }));
}

const words = (point, roof) => [
	point.name,
	`${format.number(point.x)} FLOPs for each byte`,
	gflops(point.y),
	...(point.bytes_per_s ? [gbytes(point.bytes_per_s)] : []),
	...(roof ? [`${format.percent(point.y / roof)} of what the measured ceilings allow there`] : []),
	`${format.percent(point.share)} of the wall time`,
];

// Names right of their dots, spread where dots lie close together, with a line to each dot.
function place_labels(dots) {
	const labels = [];
	for (const dot of dots.sort((a, b) => a.y - b.y)) {
		const near = labels.filter(other => Math.abs(other.x - dot.x) < 160);
		const floor = Math.max(-Infinity, ...near.map(other => other.at + 14));
		labels.push({ ...dot, at: Math.max(dot.y, floor) });
	}
	for (const label of [...labels].reverse()) {
		const crowd = labels.filter(other => Math.abs(other.x - label.x) < 160);
		const shift = crowd.reduce((sum, other) => sum + other.at - other.y, 0) / crowd.length;
		label.moved = label.at - shift;
	}
	return labels.map(label => ({ ...label, at: label.moved }));
}

// What the highest ceilings allow at an intensity.
function roofAt(ceilings, x) {
	const compute = Math.max(0, ...ceilings.compute.map(c => c.value));
	const memory = Math.max(0, ...ceilings.memory.map(c => c.value));
	return compute && memory ? Math.min(compute, memory * x) : compute || memory * x || null;
}

function picture(points, ceilings, width) {
	const peak = Math.max(0, ...ceilings.compute.map(c => c.value));
	const [x_low, x_high] = extent(points, p => p.x);
	const [y_low, y_high] = extent(points, p => p.y);
	const ridges = ceilings.memory.map(c => peak / c.value).filter(v => v > 0 && Number.isFinite(v));
	const x = scaleLog([x_low / 3, Math.max(x_high, ...ridges) * 4], [MARGIN.left, width - MARGIN.right]);
	const y = scaleLog([y_low / 3, Math.max(y_high, peak) * 3], [HEIGHT - MARGIN.bottom, MARGIN.top]);
	const thin = (axis, scale, most) => {
		const kept = new Set(tens(scale, most));
		[...axis.querySelectorAll(".tick")].forEach(tick => { if (!kept.has(tick.__data__)) tick.remove(); });
		return axis;
	};
	const line = (x0, y0, x1, y1, name) => s("g", { class: "ceiling" },
		s("line", { x1: x(x0), y1: y(y0), x2: x(x1), y2: y(y1) }),
		s("text", { x: x(x1) - 4, y: y(y1) - 4, "text-anchor": "end" }, name));
	const [left_edge, right_edge] = x.domain();
	const [floor] = y.domain();
	const memory = ceilings.memory.map(c => {
		const from = Math.max(left_edge, floor / c.value);
		const to = Math.min(right_edge, (peak || y.domain()[1]) / c.value);
		return to > from ? line(from, from * c.value, to, to * c.value, `${c.name} ${gbytes(c.value)}`) : null;
	});
	const compute = ceilings.compute.map(c => {
		const fastest = Math.max(0, ...ceilings.memory.map(m => m.value));
		return line(fastest ? Math.max(left_edge, c.value / fastest) : left_edge, c.value, right_edge, c.value, `${c.name} ${gflops(c.value)}`);
	});
	const dot = p => s("circle", {
		cx: x(p.x).toFixed(1), cy: y(p.y).toFixed(1), r: (4 + 14 * Math.sqrt(Math.max(0, p.share ?? 0))).toFixed(1),
		tabindex: "0", role: "img", "aria-label": words(p, roofAt(ceilings, p.x)).join(", "), "data-brick": p.name,
		style: { fill: colour(p.category) },
		onpointermove: event => tipOver(event, words(p, roofAt(ceilings, p.x))), onpointerleave: hideTip,
		onfocus: event => tipAt(event.target, words(p, roofAt(ceilings, p.x))), onblur: hideTip,
	});
	const named = points.filter(p => (p.share ?? 0) > 0.02);
	const labels = place_labels(named.map(p => ({ name: p.name, x: x(p.x), y: y(p.y), r: 4 + 14 * Math.sqrt(p.share) })));
	return s("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, width: "100%", role: "group", "aria-label": "Roofline: GFLOP/s over FLOPs for each byte" },
		thin(left(y, MARGIN.left, 0, 6, v => format.number(v / 1e9), width - MARGIN.left - MARGIN.right), y, 8),
		thin(bottom(x, 0, HEIGHT - MARGIN.bottom, 8, v => (v < 1 ? String(v) : format.count(v))), x, 10),
		s("text", { class: "title", x: width - MARGIN.right, y: HEIGHT - 8, "text-anchor": "end" }, "FLOPs for each byte"),
		s("text", { class: "title", x: 4, y: 12 }, "GFLOP/s"),
		memory, compute,
		[...points].sort((a, b) => (b.share ?? 0) - (a.share ?? 0)).map(dot),
		labels.map(l => s("g", { class: "label", "aria-hidden": "true" },
			s("path", { d: `M${(l.x + l.r).toFixed(1)},${l.y.toFixed(1)}L${(l.x + 34).toFixed(1)},${l.at.toFixed(1)}` }),
			s("text", { x: (l.x + 37).toFixed(1), y: (l.at + 4).toFixed(1) }, l.name))));
}

// Ceilings as the page's data has them: { compute: [{ name, value }], memory: [...] }, per second.
const none = { compute: [], memory: [] };

export function roofline(page) {
	const points = pointsOf(page);
	const found = page.data.roofline?.ceilings ?? none;
	const measured = found.compute.length + found.memory.length > 0;
	const place = h("div", { class: "chart" });
	const hint = measured ? note("Dots are bricks, as large as their share; lines are ceilings that were measured on this machine. FLOPs and bytes come from shapes and types.")
		: note("Dots are bricks, as large as their share. No ceilings have been measured for the machine of this recording: run ", h("code", null, "brick ceilings"), " there and make the page again. FLOPs and bytes come from shapes and types.");
	if (points.length) page.later(() => drawIn(place, width => fill(place, picture(points, found, width))));
	else fill(place, note("No brick said both what it moves and what it computes."));
	return section("roofline", "Roofline", hint, place, points.length ? behind("roofline", "Numbers", () => plainTable("Roofline",
		["Brick", "FLOPs for each byte", "GFLOP/s", "GB/s", "Of the ceiling", "Share"],
		points.map(p => [p.name, format.number(p.x), format.giga(p.y), format.giga(p.bytes_per_s),
			measured ? format.percent(p.y / roofAt(found, p.x)) : "-", format.percent(p.share)]))) : null);
}
