// SPDX-License-Identifier: Apache-2.0
// How long single executions of one brick took: a histogram over a logarithmic scale of time, with
// the percentiles of the report.
import { max } from "d3-array";
import { scaleLinear, scaleLog } from "d3-scale";
import { bottom, left, tens } from "./axis.js";
import { colour } from "./categories.js";
import { fill, h, s } from "./dom.js";
import { note, section } from "./figure.js";
import * as format from "./format.js";
import { behind, plainTable } from "./table.js";
import { hideTip, tipOver } from "./tip.js";
import { drawIn } from "./widths.js";

const MARGIN = { top: 34, right: 16, bottom: 36, left: 56 };
const HEIGHT = 240;
const MARKS = [["p50_ns", "p50"], ["p95_ns", "p95"], ["p99_ns", "p99"]];

function bucketsOf(flat) {
	const buckets = [];
	for (let i = 0; i < flat.length; i += 3) buckets.push({ low: Math.max(flat[i], 1), high: Math.max(flat[i + 1], 2), count: flat[i + 2] });
	return buckets;
}

const words = b => [`${format.time(b.low)} to ${format.time(b.high)}`, format.plural(b.count, "execution")];

function picture(buckets, row, width) {
	const x = scaleLog([buckets[0].low, buckets.at(-1).high], [MARGIN.left, width - MARGIN.right]);
	const y = scaleLinear([0, max(buckets, b => b.count)], [HEIGHT - MARGIN.bottom, MARGIN.top]).nice(4);
	const axis = x.copy();
	const few = x(buckets.at(-1).high) && Math.log10(x.domain()[1] / x.domain()[0]) < 1.2;
	const ticks = bottom(axis, 0, HEIGHT - MARGIN.bottom, 6, ns => format.time(Math.round(ns)), few ? null : new Set(tens(x, Math.floor(width / 80))));
	let last = -Infinity, level = 0;
	const marks = MARKS.filter(([key]) => row[key] !== null).map(([key, name]) => {
		const at = Math.max(MARGIN.left, Math.min(width - MARGIN.right, x(Math.max(row[key], x.domain()[0]))));
		const end = at > width - 110; // its name stands to the left
		level = at - last < (end ? 180 : 90) ? level + 1 : 0;
		last = at;
		return s("g", { class: "percentile", "data-percentile": name, "data-value": row[key] },
			s("line", { x1: at, x2: at, y1: 6 + 12 * level, y2: HEIGHT - MARGIN.bottom }),
			s("text", { x: at + (end ? -4 : 4), y: 14 + 12 * level, "text-anchor": end ? "end" : "start" }, `${name} ${format.time(row[key])}`));
	});
	return s("svg", {
		viewBox: `0 0 ${width} ${HEIGHT}`, width: "100%", role: "img",
		"aria-label": `Executions of ${row.name} by length: ${format.count(row.count)} of them, from ${format.time(row.min_ns)} to ${format.time(row.max_ns)}, ${MARKS.map(([key, name]) => `${name} ${format.time(row[key])}`).join(", ")}`,
	}, left(y, MARGIN.left, 0, 4, n => format.count(n), width - MARGIN.left - MARGIN.right), ticks,
	buckets.map(b => s("rect", {
		class: "bucket", x: x(b.low).toFixed(1), width: Math.max(1, x(b.high) - x(b.low) - 0.5).toFixed(1),
		y: y(b.count).toFixed(1), height: (y(0) - y(b.count)).toFixed(1), style: { fill: colour(row.category) },
		onpointermove: event => tipOver(event, words(b)), onpointerleave: hideTip,
	})), marks);
}

export function durations(page) {
	const place = h("div", { class: "chart" }), table = h("div"), hint = h("p", { class: "hint" });
	const known = page.data.lengths;
	if (!known.length) return null;
	const select = h("select", { id: "brick-choice", "data-key": "brick-choice", onchange: event => page.pickBrick(event.target.value) },
		known.map(each => h("option", { value: each.name }, each.name)));
	const draw = () => {
		const each = known.find(k => k.name === page.state.brick) ?? known[0];
		const row = page.report().bricks.find(r => r.name === each.name);
		const buckets = bucketsOf(each[page.state.phase] ?? []);
		select.value = each.name;
		if (!row || !buckets.length) {
			fill(place, note("It did not run in these steps."));
			fill(table);
			hint.textContent = "";
			return;
		}
		hint.textContent = `${row.name}: ${format.plural(row.count, "execution")}, ${format.time(row.min_ns)} to ${format.time(row.max_ns)}, on average ${format.time(row.avg_ns)}${row.basis === "cpu" ? "; on the CPU" : ""}`;
		drawIn(place, width => fill(place, picture(buckets, row, width)));
		fill(table, behind("lengths", "Numbers", () => plainTable(`Durations of ${each.name}`, ["From", "To", "Executions"],
			buckets.map(b => [format.time(b.low), format.time(b.high), String(b.count)]))));
	};
	page.later(draw);
	page.on("brick", draw);
	return section("lengths", "How long executions took",
		h("p", { class: "tools" }, h("label", { for: "brick-choice" }, "Brick"), select), hint, place, table);
}
