// SPDX-License-Identifier: Apache-2.0
// The table of bricks: the rows of `brick report`, of all steps or of one phase.
import { colour } from "./categories.js";
import { h } from "./dom.js";
import { note, section } from "./figure.js";
import * as format from "./format.js";
import { table } from "./table.js";

const times = [
	["self_ns", "Self", "Time in the brick itself, without what was nested in it and without waiting; over all threads"],
	["total_ns", "Total", "Time with at least one execution open on a thread; over all threads"],
	["wait_ns", "Wait", "Waiting inside of and right after its executions; over all threads"],
	["avg_ns", "Avg", "Of single executions"],
	["min_ns", "Min", "Of single executions"],
	["p50_ns", "P50", "Half of the executions took no longer"],
	["p95_ns", "P95", "Needs 20 executions"],
	["p99_ns", "P99", "Needs 100 executions"],
	["max_ns", "Max", "Of single executions"],
].map(([key, title, about]) => ({ key, title, about, get: row => row[key], show: format.time }));

const bar = (share, category) => h("span", { class: "bar", "aria-hidden": "true" },
	h("span", { style: { width: `${Math.min(100, 100 * (share ?? 0))}%`, background: category ? colour(category) : "var(--accent)" } }));

export const columns = [
	{
		key: "name", title: "Brick", text: true, get: row => row.name,
		show: (name, row) => [h("span", {
			class: "swatch", "aria-hidden": "true", style: { background: colour(row.category) },
		}), row.pick ? h("button", { type: "button", class: "link", "data-key": `brick-${name}`, onclick: row.pick }, name) : name],
	},
	{ key: "category", title: "Category", text: true, get: row => row.category },
	{
		key: "share", title: "Share", about: "Part of the wall time", get: row => row.share,
		show: (share, row) => [bar(share, row.category), h("span", { class: "percent" }, format.percent(share))],
	},
	...times.slice(0, 3),
	{ key: "count", title: "Count", about: "Executions", get: row => row.count, show: format.count },
	...times.slice(3),
	{ key: "elements", title: "Elements", about: "From shapes, not measured", get: row => row.elements, show: format.count },
	{ key: "bytes", title: "Bytes", about: "From shapes and types, not measured", get: row => row.bytes, show: format.bytes },
	{ key: "flops", title: "FLOPs", about: "From shapes, not measured", get: row => row.flops, show: format.count },
	{ key: "bytes_per_s", title: "GB/s", about: "Bytes over the time of the executions that say them", get: row => row.bytes_per_s ?? null, show: format.giga },
	{ key: "flops_per_s", title: "GFLOP/s", about: "FLOPs over the time of the executions that say them", get: row => row.flops_per_s ?? null, show: format.giga },
	{ key: "backend", title: "Backend", text: true, get: row => row.backend },
	{ key: "source", title: "Source", text: true, about: "How its times were obtained", get: row => row.source },
];

export function bricks(page) {
	const place = h("div");
	const counter = h("span", { class: "hint", role: "status" });
	const rows = () => {
		const words = page.state.filter.trim().toLowerCase();
		return page.report().bricks.filter(row =>
			!words || `${row.name} ${row.category}`.toLowerCase().includes(words));
	};
	const draw = () => {
		const report = page.report(), shown = rows();
		const rest = { name: "unattributed", category: null, share: 1 - report.coverage.share, self_ns: report.coverage.unattributed_ns };
		counter.textContent = shown.length < report.bricks.length
			? `${shown.length} of ${report.bricks.length}` : "";
		table(place, columns, shown.map(row => ({ ...row, pick: () => page.pickBrick(row.name) })), page.state.sort, {
			caption: "Bricks", key: row => row.name, mark: row => row.name === page.state.brick,
			announce: page.announce,
			last: report.coverage.share === null || page.state.filter.trim() ? [] : [rest],
		});
	};
	const filter = h("input", {
		type: "search", id: "filter", placeholder: "Filter", value: page.state.filter, autocomplete: "off",
		"data-key": "filter", oninput: event => { page.state.filter = event.target.value; draw(); },
	});
	draw();
	page.on("brick", draw);
	return section("bricks", "Bricks",
		note("Each nanosecond of the wall time is in one row, or unattributed. Choose a brick to see how long its executions took."),
		h("p", { class: "tools" }, h("label", { for: "filter" }, "Filter by name or category"), filter, counter), place);
}

const place_columns = {
	name: { key: "name", title: "Name", text: true, get: row => row.name },
};

// Rows by thread, queue, kernel, ...
export function places(page, key, title, about) {
	const rows = page.data[key];
	if (!Array.isArray(rows) || !rows.length) return null;
	const place = h("div");
	const wanted = new Set(["share", "self_ns", "total_ns", "wait_ns", "count", "avg_ns", "p50_ns", "p95_ns", "max_ns",
		...(rows.some(row => row.backend) ? ["backend"] : [])]);
	const shown = columns.filter(c => wanted.has(c.key));
	page.state.sorts[key] ??= { key: "self_ns", direction: -1 };
	table(place, [place_columns.name, ...shown], rows, page.state.sorts[key],
		{ caption: title, key: row => row.name, announce: page.announce });
	const left_out = page.data.left_out?.[key];
	return section(key, title, note(about), place,
		left_out ? note(`${format.plural(left_out, "row")} with less time left out.`) : null);
}
