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

// Bricks of the chosen phase whose bytes and FLOPs are known.
function pointsOf(page) {
	const { phase } = page.state;
	return page.data.roofline.bricks.filter(row => (phase === "all" || row.phase === phase) && row.intensity > 0 && row.flops_per_s > 0)
		.map(row => ({ ...row, x: row.intensity, y: row.flops_per_s }));
}

const words = point => [
	`${point.name}${point.phase ? `, ${point.phase}` : ""}`,
	`${format.number(point.x)} FLOPs for each byte`,
	`${gflops(point.y)}, ${gbytes(point.bytes_per_s)}`,
	...(point.roof.flops_per_s ? [`${format.percent(1 - point.distance)} of its roof, ${gflops(point.roof.flops_per_s)} by ${point.roof.by}`] : []),
	...(point.bound ? [`bound by ${point.bound}`] : []),
	...(point.flags.length ? [`flags: ${point.flags.join(", ")}`] : []),
	`${format.percent(point.share)} of its phase`,
];

// The ceilings for as many threads as most of the time was spent on: { memory, compute }.
function ceilingsOf(points) {
	const times = new Map();
	for (const point of points)
		if (point.roof.threads) times.set(point.roof.threads, (times.get(point.roof.threads) ?? 0) + point.team_ns);
	const [threads] = [...times].sort((a, b) => b[1] - a[1])[0] ?? [0];
	const memory = new Map(), compute = new Map();
	for (const { roof } of points.filter(point => threads && point.roof.threads === threads)) {
		for (const level of roof.levels) if (level.bytes_per_s) memory.set(level.level, level.bytes_per_s);
		if (roof.peak_flops_per_s) compute.set(`${roof.peak_isa} ${roof.peak_type}`, roof.peak_flops_per_s);
	}
	const list = map => [...map].map(([name, value]) => ({ name, value }));
	return { threads, memory: list(memory), compute: list(compute) };
}

const LETTER = 6.6, LINE = 14, AWAY = 24; // about what a letter takes; from a dot to its name

const boxOf = (x, y, width) => ({ x0: x - 2, x1: x + width + 2, y0: y - LINE / 2, y1: y + LINE / 2 });
const apart = (a, b) => a.x1 <= b.x0 || b.x1 <= a.x0 || a.y1 <= b.y0 || b.y1 <= a.y0;

// Names beside their dots, the largest first, where they cover neither dots nor other names; one for
// which there is no room is left out: the numbers have all.
function place_labels(dots, names, width) {
	const taken = [...names, ...dots.map(dot => ({ x0: dot.x - dot.r, x1: dot.x + dot.r, y0: dot.y - dot.r, y1: dot.y + dot.r }))];
	const steps = [0, 1, -1, 2, -2, 3, -3, 4, -4, 5, -5, 6, -6];
	const labels = [];
	for (const dot of [...dots].sort((a, b) => b.r - a.r)) {
		const long = dot.name.length * LETTER;
		const places = steps.flatMap(step => [1, -1].map(side => ({
			side, y: dot.y + step * LINE, x: side > 0 ? dot.x + dot.r + AWAY : dot.x - dot.r - AWAY - long,
		})));
		const free = places.find(({ x, y }) => x >= MARGIN.left && x + long <= width - MARGIN.right &&
			y > MARGIN.top && y < HEIGHT - MARGIN.bottom && taken.every(box => apart(box, boxOf(x, y, long))));
		if (!free) continue;
		taken.push(boxOf(free.x, free.y, long));
		labels.push({ ...dot, from: dot.x + free.side * dot.r, to: free.side > 0 ? free.x - 3 : free.x + long + 3, left: free.x, at: free.y });
	}
	return labels;
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
	const roofs = ceilings.compute.map(c => {
		const long = `${c.name} ${gflops(c.value)}`.length * LETTER;
		return boxOf(width - MARGIN.right - 4 - long, y(c.value) - 8, long);
	});
	// Names stand along the slopes, where these leave the picture on the left or below; one that would
	// stand on the name of a roof is left out, too.
	const slopes = [];
	const memory = [...ceilings.memory].sort((a, b) => a.value - b.value).map((c, i) => {
		const from = Math.max(left_edge, floor / c.value);
		const to = Math.min(right_edge, (peak || y.domain()[1]) / c.value);
		if (to <= from) return null;
		const at = { x: x(from), y: y(from * c.value) };
		const angle = Math.atan2(y(to * c.value) - at.y, x(to) - at.x), name = `${c.name} ${gbytes(c.value)}`, begin = 10 + 125 * (i % 2);
		const letters = [...name].map((_, k) => begin + k * LETTER)
			.map(along => boxOf(at.x + Math.cos(angle) * along, at.y + Math.sin(angle) * along - 7, LETTER));
		const free = letters.every(letter => roofs.every(roof => apart(roof, letter)));
		if (free) slopes.push(...letters);
		return s("g", { class: "ceiling" }, s("line", { x1: at.x, y1: at.y, x2: x(to), y2: y(to * c.value) }),
			free ? s("text", { transform: `translate(${at.x.toFixed(1)},${at.y.toFixed(1)}) rotate(${(angle * 180 / Math.PI).toFixed(2)})`, x: begin, y: -4 }, name) : null);
	});
	const compute = ceilings.compute.map(c => {
		const fastest = Math.max(0, ...ceilings.memory.map(m => m.value));
		return line(fastest ? Math.max(left_edge, c.value / fastest) : left_edge, c.value, right_edge, c.value, `${c.name} ${gflops(c.value)}`);
	});
	const dot = p => s("circle", {
		cx: x(p.x).toFixed(1), cy: y(p.y).toFixed(1), r: (4 + 14 * Math.sqrt(Math.max(0, p.share ?? 0))).toFixed(1),
		tabindex: "0", role: "img", "aria-label": words(p).join(", "), "data-brick": p.name, "data-value": p.y,
		class: p.phase === "prefill" ? "hollow" : null, style: { [p.phase === "prefill" ? "stroke" : "fill"]: colour(p.category) },
		onpointermove: event => tipOver(event, words(p)), onpointerleave: hideTip,
		onfocus: event => tipAt(event.target, words(p)), onblur: hideTip,
	});
	const named = points.filter(p => (p.share ?? 0) > 0.02);
	const labels = place_labels(named.map(p => ({ name: p.name, x: x(p.x), y: y(p.y), r: 4 + 14 * Math.sqrt(p.share) })), [...roofs, ...slopes], width);
	return s("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, width: "100%", role: "group", "aria-label": "Roofline: GFLOP/s over FLOPs for each byte" },
		thin(left(y, MARGIN.left, 0, 6, v => format.number(v / 1e9), width - MARGIN.left - MARGIN.right), y, 8),
		bottom(x, 0, HEIGHT - MARGIN.bottom, 8, v => (v < 1 ? String(v) : format.count(v)), new Set(tens(x, 10))),
		s("text", { class: "title", x: width - MARGIN.right, y: HEIGHT - 8, "text-anchor": "end" }, "FLOPs for each byte"),
		s("text", { class: "title", x: 4, y: 12 }, "GFLOP/s"),
		memory, compute,
		[...points].sort((a, b) => (b.share ?? 0) - (a.share ?? 0)).map(dot),
		labels.map(l => s("g", { class: "label", "aria-hidden": "true" },
			s("path", { d: `M${l.from.toFixed(1)},${l.y.toFixed(1)}L${l.to.toFixed(1)},${l.at.toFixed(1)}` }),
			s("text", { x: l.left.toFixed(1), y: (l.at + 4).toFixed(1) }, l.name))));
}

function explanation(data, ceilings, both) {
	const dots = `Dots are bricks, as large as their share of the phase${both ? "; hollow ones of prefill, filled ones of the others" : ""}. FLOPs and bytes come from shapes and types.`;
	if (!data.ceilings)
		return note(dots, " No ceilings are kept for the machine of this recording: run ", h("code", null, "brick ceilings"), " there and make the page again.");
	const from = `Lines are ceilings measured on ${data.ceilings.host} for ${format.plural(ceilings.threads, "thread")}${data.ceilings.quick ? ", quickly" : ""}.`;
	return note(dots, ` ${from}`, data.ceilings.doubt ? h("strong", null, ` But ${data.ceilings.doubt}.`) : null);
}

export function roofline(page) {
	const { roofline: data } = page.data;
	const points = pointsOf(page), ceilings = ceilingsOf(points);
	const place = h("div", { class: "chart" });
	if (points.length) page.later(() => drawIn(place, width => fill(place, picture(points, ceilings, width))));
	else fill(place, note("No brick reported both bytes and FLOPs."));
	return section("roofline", "Roofline", explanation(data, ceilings, new Set(points.map(p => p.phase)).size > 1), place,
		points.length ? behind("roofline", "Numbers", () => plainTable("Roofline",
			["Brick", "Phase", "FLOPs for each byte", "GFLOP/s", "GB/s", "Of its roof", "Roof", "Bound by", "Share of the phase"],
			points.map(p => [p.name, p.phase ?? "-", format.number(p.x), format.giga(p.y), format.giga(p.bytes_per_s),
				p.distance === null ? "-" : format.percent(1 - p.distance), p.roof.by ?? "-", p.bound ?? "-", format.percent(p.share)]))) : null);
}
