// SPDX-License-Identifier: Apache-2.0
// The table of bricks: the rows of `brick report`, of all steps or of one phase.
import { colour } from "./categories.js";
import { h } from "./dom.js";
import { choice, note, section } from "./figure.js";
import * as format from "./format.js";
import { table } from "./table.js";

const bar = (share, category) => h("span", { class: "bar", "aria-hidden": "true" },
	h("span", { style: { width: `${Math.min(100, 100 * (share ?? 0))}%`, background: category ? colour(category) : "var(--accent)" } }));

const sizes = three => (three ? `(${three.join(",")})` : format.UNKNOWN);

// From a type of field to the function that shows its values; other types need none.
const SHOW = {
	count: format.count, bytes: format.bytes, rate: format.giga, ratio: format.number,
	share: (share, row) => [bar(share, row.category), h("span", { class: "percent" }, format.percent(share))],
};

// "launch.p50_ns" is p50_ns of the object "launch".
const value = (row, key) => key.split(".").reduce((at, part) => at?.[part], row) ?? null;

// A column for a field of the report. ofDevices: its rows are devices' alone.
function column({ key, title, type, means, of_device }, ofDevices) {
	if (type === "sizes") return { key, title, about: means, text: true, get: row => sizes(value(row, key)) };
	const isEstimated = row => row.device_estimated && key !== "device_error_ns" && (of_device || ofDevices || !row.count);
	if (type === "time") return { key, title, about: means, get: row => value(row, key), show: (ns, row) => format.estimate(ns, isEstimated(row)) };
	return { key, title, about: means, text: type === "text", get: row => value(row, key), show: SHOW[type] };
}

const named = (row, name) => [h("span", {
	class: "swatch", "aria-hidden": "true", style: { background: colour(row.category) },
}), row.pick ? h("button", { type: "button", class: "link", "data-key": `brick-${name}`, onclick: row.pick }, name) : name];

// Columns that only "All columns" shows, because a table with them is wider than a screen.
const MORE = new Set("cpu_ns total_ns wait_ns min_ns elements bytes flops backend source".split(" "));

const empty = shown => shown === null || shown === undefined || shown === 0 || shown === format.UNKNOWN;

// The report's columns for a table of such rows, without empty columns.
export function columns(page, rows, plural, first, name) {
	const fields = new Map(page.data.tables.fields.map(field => [field.key, field]));
	const all = page.data.tables.columns[plural].map(key => column(fields.get(key), plural === "kernels" || plural === "queues"));
	return all.map(c => (c.key === "name" ? { ...c, title: first.toUpperCase(), show: name } : c))
		.filter(c => ["name", "share"].includes(c.key) || rows.some(row => !empty(c.get(row))))
		.filter(c => page.state.columns === "all" || !MORE.has(c.key));
}

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
		counter.textContent = shown.length < report.bricks.length
			? `${shown.length} of ${report.bricks.length}` : "";
		table(place, columns(page, report.bricks, "bricks", "Brick", (name, row) => named(row, name)), shown.map(row => ({ ...row, pick: () => page.pickBrick(row.name) })), page.state.sort, {
			caption: "Bricks", key: row => row.name, mark: row => row.name === page.state.brick,
			announce: page.announce,
			last: page.state.filter.trim() ? [] : report.rests,
		});
	};
	const filter = h("input", {
		type: "search", id: "filter", placeholder: "Filter", value: page.state.filter, autocomplete: "off",
		"data-key": "filter", oninput: event => { page.state.filter = event.target.value; draw(); },
	});
	draw();
	page.on("brick", draw);
	return section("bricks", "Bricks",
		note("Each nanosecond of the wall time is in one row; time for which the steps' thread was preempted, or blocked outside of waits, has rows of its own. Choose a brick to see how long its executions took.", page.data.basis ? ` ${page.data.basis}` : ""),
		h("p", { class: "tools" }, h("label", { for: "filter" }, "Filter by name or category"), filter, counter,
			choice("columns", "Columns", [["main", "Main columns"], ["all", "All columns"]], page.state.columns, value => { page.state.columns = value; page.draw(); })), place);
}

// Rows by thread, queue, kernel, ...
export function places(page, key, title, about) {
	const rows = (page.state.phase === "all" ? page.data : page.data.phase_tables[page.state.phase] ?? {})[key];
	if (!Array.isArray(rows) || !rows.length) return null;
	const place = h("div");
	page.state.sorts[key] ??= { key: "self_ns", direction: -1 };
	table(place, columns(page, rows, key, "Name"), rows, page.state.sorts[key],
		{ caption: title, key: row => row.name, announce: page.announce });
	const left_out = page.data.left_out?.[key];
	return section(key, title, note(about), place,
		left_out ? note(`${format.plural(left_out, "row")} with less time left out.`) : null);
}
