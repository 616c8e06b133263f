// SPDX-License-Identifier: Apache-2.0
// Two steps beside each other: the time of each brick in both, and where the difference lies.
import { colour } from "./categories.js";
import { difference } from "./difference.js";
import { fill, h } from "./dom.js";
import { note, section } from "./figure.js";
import * as format from "./format.js";
import { nodesOf, notable, stepInput } from "./inside.js";
import { table } from "./table.js";

const columns = [
	{ key: "name", title: "Brick", text: true, get: row => row.name, show: (name, row) => [h("span", { class: "swatch", "aria-hidden": "true", style: { background: colour(row.category) } }), name] },
	{ key: "a_ns", title: "A", about: "Its wall time in step A", get: row => row.a, show: format.time },
	{ key: "b_ns", title: "B", about: "Its wall time in step B", get: row => row.b, show: format.time },
	{ key: "difference_ns", title: "B − A", get: row => row.b - row.a, show: format.signed },
	{ key: "ratio", title: "B / A", get: row => (row.a ? row.b / row.a : null), show: value => (value === null ? format.UNKNOWN : format.number(value)) },
];

function rowsOf(page, a, b) {
	const other = new Map(page.steps.partsOf(b));
	const categories = page.categories();
	return page.steps.partsOf(a).map(([name, ns]) => ({ name, category: categories.get(name) ?? null, a: ns, b: other.get(name) })).filter(row => row.a || row.b);
}

const total = (page, number) => page.steps.total[page.steps.at.get(number)];

function pictures(page, a, b, redraw) {
	const [one, other] = [a, b].map(number => page.steps.tree(number, redraw));
	const flat = [one, other].some(tree => tree.step.layers === false);
	const roots = flat ? [a, b].map(number => nodesOf(page.steps.flat(number))) : [one, other].map(nodesOf);
	return [
		h("h3", null, "Where the difference lies"),
		note(`As wide as the longer of both; ${flat ? "by brick, as the layers of one of them are not in this page" : "by layer and brick"}.`),
		difference(page, roots[0], roots[1], { key: "compare", a: `step ${a}`, b: `step ${b}`, zoom: page.state.compareZoom }),
	];
}

export function compare(page) {
	const listed = page.steps.of_phase(page.state.phase);
	if (listed.length < 2) return null;
	const place = h("div"), tools = h("p", { class: "tools" }), { state } = page;
	const known = notable(page).filter(step => listed.includes(step.number));
	if (!listed.includes(state.compareA)) state.compareA = known[0]?.number ?? listed[0];
	if (!listed.includes(state.compareB)) state.compareB = (known.find(step => step.why.startsWith("slow") && step.number !== state.compareA) ?? known.find(step => step.number !== state.compareA))?.number ?? listed.at(-1);
	state.sorts.compare ??= { key: "difference_ns", direction: -1 };
	const pick = side => number => {
		if (!listed.includes(number)) return page.announce(`Step ${number} is not in this page, or not of this phase`);
		state[side] = number;
		state.compareZoom = { id: 0 };
		return draw();
	};
	const draw = () => {
		const { compareA: a, compareB: b } = state;
		const change = total(page, b) - total(page, a), rows = h("div");
		fill(tools, stepInput(page, "compare-a", "Step A", a, pick("compareA")), stepInput(page, "compare-b", "Step B", b, pick("compareB")));
		table(rows, columns, rowsOf(page, a, b), state.sorts.compare, { caption: `Steps ${a} and ${b} by brick`, key: row => row.name, announce: page.announce,
			last: [{ name: "all", category: null, a: total(page, a), b: total(page, b) }] });
		fill(place, h("p", { class: "best" }, `Step ${b} took `, h("strong", null, `${format.time(Math.abs(change))} ${change < 0 ? "less" : "more"}`), ` than step ${a}: ${format.time(total(page, b))} against ${format.time(total(page, a))}`),
			rows, pictures(page, a, b, () => page.main.contains(place) && draw()));
	};
	draw();
	return section("compare", "Two steps compared", note("Wall time of each brick in two steps; the rows add up to the steps. Two single steps cannot tell a difference from noise: brick diff compares whole runs."), tools, place);
}
