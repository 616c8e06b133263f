// SPDX-License-Identifier: Apache-2.0
// A table of rows that can be sorted by its column titles. Columns: { key, title, get(row), show
// (value, row), text: sorts as text, about: what it means }. Unknown values sort last either way.
import { h, fill } from "./dom.js";

function compare(column, direction) {
	return (a, b) => {
		const of = column.order ?? column.get, x = of(a), y = of(b);
		const none = v => v === null || v === undefined;
		if (none(x) || none(y)) return none(x) - none(y);
		const order = column.text ? (x < y ? -1 : x > y ? 1 : 0) : x - y;
		return direction * order;
	};
}

// state: { key, direction }, kept by the caller. options: { caption, key(row), mark(row), pick(row),
// last: rows that stay at the end }
export function table(place, columns, rows, state, options = {}) {
	const column = columns.find(c => c.key === state.key);
	const sorted = column ? [...rows].sort(compare(column, state.direction)) : rows;
	const sortBy = c => {
		if (state.key === c.key) state.direction = -state.direction;
		else Object.assign(state, { key: c.key, direction: c.text ? 1 : -1 });
		table(place, columns, rows, state, options);
		options.announce?.(`Sorted by ${c.title}, ${state.direction < 0 ? "largest" : "smallest"} first`);
	};
	const title = c => {
		const active = state.key === c.key;
		const order = active ? (state.direction < 0 ? "descending" : "ascending") : "none";
		return h("th", { scope: "col", "aria-sort": order, class: c.text ? "text" : "number", title: c.about },
			h("button", { type: "button", "data-key": `sort-${c.key}`, onclick: () => sortBy(c) },
				c.title, active ? h("span", { class: "order", "aria-hidden": "true" }, state.direction < 0 ? "▼" : "▲") : null));
	};
	const cell = (c, row, i) => {
		const value = c.get(row);
		const shown = c.show ? c.show(value, row) : value ?? "-";
		const raw = typeof value === "number" || typeof value === "string" ? value : null;
		const attributes = { class: c.text ? "text" : "number", "data-column": c.key, "data-value": raw };
		return i ? h("td", attributes, shown) : h("th", { scope: "row", ...attributes }, shown);
	};
	const line = row => h("tr", {
		"data-row": options.key?.(row),
		class: options.mark?.(row) ? "chosen" : null,
		onclick: options.pick ? () => options.pick(row) : null,
	}, columns.map((c, i) => cell(c, row, i)));
	fill(place, h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": options.caption },
		h("table", { class: options.pick ? "pick" : null },
			h("caption", { class: "hidden" }, options.caption),
			h("thead", null, h("tr", null, columns.map(title))),
			h("tbody", null, sorted.map(line), (options.last ?? []).map(line)))));
}

// A plain table, for what a chart shows. rows: arrays of cells, the first one a title.
export function plainTable(caption, titles, rows) {
	return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
		h("table", null, h("caption", { class: "hidden" }, caption),
			h("thead", null, h("tr", null, titles.map(t => h("th", { scope: "col" }, t)))),
			h("tbody", null, rows.map(row => h("tr", null,
				row.map((cell, i) => (i ? h("td", null, cell) : h("th", { scope: "row" }, cell))))))));
}

// The numbers behind a chart, made when somebody asks for them (and for printing, never).
export function behind(key, label, make) {
	const body = h("div");
	return h("details", {
		class: "numbers",
		ontoggle: event => { if (event.target.open) fill(body, make()); },
	}, h("summary", { "data-key": `numbers-${key}` }, label), body);
}
