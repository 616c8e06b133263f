// SPDX-License-Identifier: Apache-2.0
// Statistics of tiles, where they were recorded.
import { h } from "./dom.js";
import { note, section } from "./figure.js";
import * as format from "./format.js";
import { table } from "./table.js";

const columns = [
	{ key: "level", title: "Level", text: true, get: row => row.level },
	{ key: "brick", title: "Brick", text: true, get: row => row.brick ?? null },
	{ key: "count", title: "Count", get: row => row.count, show: format.count },
	{ key: "total_ns", title: "Total", get: row => row.total_ns, show: format.time },
	{ key: "min_ns", title: "Min", get: row => row.min_ns, show: format.time },
	{ key: "max_ns", title: "Max", get: row => row.max_ns, show: format.time },
	{ key: "elements", title: "Elements", get: row => row.elements, show: format.count },
	{ key: "flops", title: "FLOPs", get: row => row.flops, show: format.count },
	{ key: "flops_per_s", title: "GFLOP/s", get: row => row.flops_per_s, show: format.giga },
];

export function tiles(page) {
	const rows = page.data.tiles?.tiles ?? page.data.tiles;
	if (!Array.isArray(rows) || !rows.length) return null;
	const place = h("div");
	page.state.sorts.tiles ??= { key: "total_ns", direction: -1 };
	table(place, columns, rows, page.state.sorts.tiles, { caption: "Tiles", announce: page.announce });
	return section("tiles", "Tiles", note("Blocks of work within a brick: macro (last-level cache, global memory), midi (L2, shared memory), micro (registers)."), place);
}
