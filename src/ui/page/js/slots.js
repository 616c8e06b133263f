// SPDX-License-Identifier: Apache-2.0
// Requests over time: a row for each sequence (a server's slot), a bar for each request, of which
// the first part is the wait for its first token.
import { scaleLinear } from "d3-scale";
import { bottom } from "./axis.js";
import { fill, h, s } from "./dom.js";
import { legend, note, section } from "./figure.js";
import { fit } from "./fit.js";
import * as format from "./format.js";
import { behind, plainTable } from "./table.js";
import { hideTip, tipOver } from "./tip.js";
import { drawIn } from "./widths.js";

const MARGIN = { right: 16, bottom: 34, left: 160 }, ROW = 22;
const FIRST = "var(--ffn)", TOKENS = "var(--attention)";

const words = ([, begin, first, end, prompt, output, number]) => [
	`Request ${number}`, `began at ${format.time(begin)}`, `first token after ${format.time(first === null ? null : first - begin)}`,
	`last step ended ${format.time(end - begin)} after its begin`, `${format.plural(prompt, "prompt token")} evaluated, ${format.count(output)} made`,
];

function bar(x, request) {
	const [row, begin, first, end] = request, y = row * ROW + 3, least = 1;
	const rect = (from, to, fill) => s("rect", { x: x(from), y, width: Math.max(least, x(to) - x(from)), height: ROW - 6, fill });
	return s("g", {
		onpointermove: event => tipOver(event, words(request)), onpointerleave: hideTip,
	}, rect(begin, first ?? end, FIRST), first === null ? null : rect(first, end, TOKENS));
}

function picture({ rows, list, wall_ns }, width) {
	const height = rows.length * ROW + MARGIN.bottom;
	const x = scaleLinear([0, wall_ns], [MARGIN.left, width - MARGIN.right]);
	return s("svg", {
		viewBox: `0 0 ${width} ${height}`, width: "100%", role: "img",
		"aria-label": `${format.plural(list.length, "request")} in ${format.plural(rows.length, "sequence")}`,
	}, rows.map((name, i) => s("text", { x: MARGIN.left - 8, y: i * ROW + ROW / 2 + 4, "text-anchor": "end", "aria-hidden": "true" },
		fit(name, MARGIN.left - 12))), list.map(request => bar(x, request)), bottom(x, 0, rows.length * ROW + 2, 6, format.time));
}

export function slots(page) {
	const data = page.data.requests;
	if (!data || data.list.length < 2) return null;
	const place = h("div", { class: "scroll" });
	const numbers = behind("requests", "Numbers", () => plainTable("Requests",
		["Sequence", "Request", "Began", "First token after", "Ended after", "Prompt", "Output"],
		data.list.map(([row, begin, first, end, prompt, output, number]) => [data.rows[row], number, format.time(begin),
			format.time(first === null ? null : first - begin), format.time(end - begin), format.count(prompt), format.count(output)])));
	const card = section("requests", "Requests", note("A row for each sequence: a server's slot. brick requests says of each request what made it wait."),
		legend([["until the first token", FIRST], ["between tokens", TOKENS]]), place, numbers,
		data.left_out ? note(`${format.plural(data.left_out, "more request")} are not shown.`) : null);
	page.later(() => drawIn(place, width => fill(place, picture(data, width))));
	return card;
}
