// SPDX-License-Identifier: Apache-2.0
// Tiles, where they were recorded: statistics by level and brick, and where in the grid the time
// went.
import { fill, h } from "./dom.js";
import { note, section } from "./figure.js";
import * as format from "./format.js";
import { table } from "./table.js";

const columns = [
	{ key: "level", title: "Level", text: true, get: row => row.level },
	{ key: "brick", title: "Brick", text: true, get: row => row.brick },
	{ key: "count", title: "Count", get: row => row.count, show: format.count },
	...[["total_ns", "Total"], ["avg_ns", "Avg"], ["min_ns", "Min"], ["p50_ns", "P50"], ["p95_ns", "P95"], ["p99_ns", "P99"], ["max_ns", "Max"]]
		.map(([key, title]) => ({ key, title, get: row => row[key], show: ns => format.time(ns === null ? null : Math.round(ns)) })),
	{ key: "elements", title: "Elements", get: row => row.elements, show: format.count },
	{ key: "flops", title: "FLOPs", get: row => row.flops, show: format.count },
	{ key: "gflops_per_s", title: "GFLOP/s", get: row => row.gflops_per_s, show: value => format.number(value ?? -1) },
	{ key: "intensity", title: "FLOPs/byte", get: row => row.intensity, show: value => format.number(value ?? -1) },
	{ key: "grid", title: "Grid", get: row => row.rows * row.columns, show: (_, row) => `${row.rows} x ${row.columns}` },
];

const title = row => `${row.level}${row.brick ? `, ${row.brick}` : ""}`;

// The mean time of the tiles at each place, as a table of colours.
function map(row) {
	const means = row.map.cells.map(line => line.map(([count, ns]) => (count ? ns / count : null)));
	const known = means.flat().filter(ns => ns !== null);
	const low = Math.min(...known), high = Math.max(...known);
	const cell = ns => (ns === null ? h("td", { class: "empty" }, h("span", { class: "hidden" }, "none"))
		: h("td", { title: format.time(Math.round(ns)), style: { "--heat": (high > low ? (ns - low) / (high - low) : 0).toFixed(3) } },
			h("span", { class: "hidden" }, format.time(Math.round(ns)))));
	return h("div", { class: "scroll heat map", tabindex: "0", role: "region", "aria-label": `Where the time of ${title(row)} went` },
		h("table", null, h("caption", null, `${title(row)}: ${row.rows} x ${row.columns}, ${format.time(Math.round(low))} to ${format.time(Math.round(high))} a tile`),
			h("tbody", null, means.map((line, i) => h("tr", null, h("th", { scope: "row", class: "hidden" }, `row ${i}`), line.map(cell))))));
}

export function tiles(page) {
	const rows = page.data.tiles?.tiles ?? [];
	if (!rows.length) return null;
	const place = h("div"), maps = h("div", { class: "maps" });
	page.state.sorts.tiles ??= { key: "total_ns", direction: -1 };
	table(place, columns, rows, page.state.sorts.tiles, { caption: "Tiles", key: title, announce: page.announce });
	fill(maps, rows.filter(row => row.map.rows * row.map.columns > 1 && row.map.cells.flat().some(([count]) => count)).slice(0, 6).map(map));
	return section("tiles", "Tiles", note("Of all steps. Blocks of work within a brick: macro (last-level cache, global memory), midi (L2, shared memory), micro (registers). Maps show the mean time of the tiles at each place of the grid; the stronger the colour, the longer."), place, maps,
		page.data.tiles.without_place ? note(`${format.plural(page.data.tiles.without_place, "tile")} whose place was lost.`) : null);
}
