// SPDX-License-Identifier: Apache-2.0
// The frame of every chart: a section with a heading, a sentence on how to read the picture, the
// picture, and its numbers as a table.
import { h } from "./dom.js";

export function section(id, title, ...children) {
	return h("section", { id, "aria-labelledby": `${id}-title`, class: "card" },
		h("h2", { id: `${id}-title` }, title), children);
}

export const note = (...text) => h("p", { class: "note" }, ...text);

export function legend(items) {
	return h("ul", { class: "legend", "aria-label": "Colours" }, items.map(([name, colour]) =>
		h("li", null, h("span", { class: "swatch", style: { background: colour }, "aria-hidden": "true" }), name)));
}

// One choice of several, as buttons in a row. values: [value, label, disabled]
export function choice(name, label, values, chosen, pick) {
	const id = value => `${name}-${value}`;
	return h("fieldset", { class: "choice" }, h("legend", { class: "hidden" }, label),
		values.map(([value, text, disabled]) => [
			h("input", {
				type: "radio", name, id: id(value), value, disabled, "data-key": id(value),
				...(value === chosen ? { checked: true } : {}), onchange: () => pick(value),
			}),
			h("label", { for: id(value) }, text)]));
}
