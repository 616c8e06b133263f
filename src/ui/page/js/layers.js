// SPDX-License-Identifier: Apache-2.0
// Layers by bricks: a table with coloured cells, which needs no other table of its numbers.
import { h, fill } from "./dom.js";
import { choice, note, section } from "./figure.js";
import * as format from "./format.js";
import { keysOf, phaseAdjective } from "./phases.js";

const COLUMNS_MAX = 40;

// Map from "layer,brick" to [ns, executions] of the phases that are looked at.
function cellsOf(page) {
	const { layers } = page.data;
	const cells = new Map();
	for (const phase of keysOf(page.state.phase, true))
		for (const [layer, brick, ns, count] of layers[phase] ?? []) {
			const key = `${layer},${brick}`;
			const cell = cells.get(key) ?? { layer, brick, ns: 0, count: 0 };
			cell.ns += ns;
			cell.count += count;
			cells.set(key, cell);
		}
	return cells;
}

// How many steps the phases that are looked at have, to say what one of them spends in a cell.
function stepsOf(page) {
	return keysOf(page.state.phase).reduce((sum, key) => sum + (page.data.report.steps[key]?.count ?? 0), 0);
}

function grid(page) {
	const cells = [...cellsOf(page).values()];
	const in_layers = cells.filter(c => c.layer >= 0 && c.ns > 0);
	if (!in_layers.length) return note("Nothing was recorded with a layer here.");
	const sums = new Map();
	for (const c of in_layers) sums.set(c.brick, (sums.get(c.brick) ?? 0) + c.ns);
	const bricks = [...sums.keys()].sort((a, b) => sums.get(b) - sums.get(a)).slice(0, COLUMNS_MAX);
	const layers = [...new Set(in_layers.map(c => c.layer))].sort((a, b) => a - b);
	const by_key = new Map(in_layers.map(c => [`${c.layer},${c.brick}`, c]));
	const rows = page.data.report.bricks;
	const whole = Math.max(...in_layers.map(c => c.ns));
	const most = new Map(bricks.map(b => [b, Math.max(...in_layers.filter(c => c.brick === b).map(c => c.ns))]));
	const least = new Map(bricks.map(b => [b, Math.min(...in_layers.filter(c => c.brick === b).map(c => c.ns))]));
	const heat = c => {
		if (page.state.heat === "all") return c.ns / whole;
		const low = least.get(c.brick), high = most.get(c.brick);
		return high > low ? (c.ns - low) / (high - low) : 0;
	};
	const steps = stepsOf(page);
	const last = layers.at(-1);
	const total = new Map(layers.map(layer => [layer, in_layers.filter(c => c.layer === layer).reduce((sum, c) => sum + c.ns, 0)]));
	const most_total = Math.max(...total.values());
	const cell = (layer, brick) => {
		const c = by_key.get(`${layer},${brick}`);
		if (!c) return h("td", { class: "empty" }, h("span", { class: "hidden" }, "none"));
		const value = heat(c);
		const mean = steps ? c.ns / steps : c.ns;
		return h("td", {
			class: value > 0.6 ? "hot" : null, style: { "--heat": value.toFixed(3) }, "data-value": c.ns,
			title: `Layer ${layer}, ${rows[brick].name}: ${format.time(c.ns)} in all${steps ? `, ${format.time(Math.round(mean))} a step` : ""}, ${format.plural(c.count, "execution")}`,
		}, format.time(Math.round(mean)));
	};
	return h("div", { class: "scroll heat", tabindex: "0", role: "region", "aria-label": "Layers by bricks" },
		h("table", null,
			h("caption", { class: "hidden" }, `Time by layer and brick${steps ? ", per step" : ""}`),
			h("thead", null, h("tr", null, h("th", { scope: "col" }, "Layer"),
				bricks.map(b => h("th", { scope: "col" }, h("span", null, rows[b].name))),
				h("th", { scope: "col" }, h("span", null, "all")))),
			h("tbody", null, layers.map(layer => h("tr", null,
				h("th", { scope: "row" }, page.data.layers.last_is_rest && layer === last ? `${layer}+` : String(layer)),
				bricks.map(b => cell(layer, b)),
				h("td", { class: "sum" }, h("span", { class: "bar", "aria-hidden": "true" },
					h("span", { style: { width: `${100 * total.get(layer) / most_total}%` } })),
					format.time(Math.round(steps ? total.get(layer) / steps : total.get(layer)))))))));
}

export function layers(page) {
	const place = h("div");
	const tools = h("p", { class: "tools" });
	const draw = () => {
		fill(tools, choice("heat", "Colours compare", [["all", "all cells"], ["brick", "layers within a brick"]],
			page.state.heat, value => { page.state.heat = value; draw(); }));
		fill(place, grid(page));
	};
	draw();
	const left_out = page.data.layers.bricks_left_out;
	return section("layers", "Layers and bricks",
		note("Wall time of a step in each layer and brick, on average", page.state.phase === "all" ? " over all steps" : ` over ${phaseAdjective(page.state.phase).toLowerCase()}steps`, ". The stronger the colour, the longer."),
		tools, place, left_out ? note(`${format.plural(left_out, "brick")} with less time left out.`) : null);
}
