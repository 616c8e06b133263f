// SPDX-License-Identifier: Apache-2.0
// Elements from values. Text is always set as text, so that no name from a recording can become
// markup; nothing in the page parses HTML.

const SVG = "http://www.w3.org/2000/svg";

function build(element, attributes, children) {
	for (const [name, value] of Object.entries(attributes ?? {})) {
		if (value === null || value === undefined || value === false) continue;
		if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
		else if (name === "style") Object.entries(value).forEach(([k, v]) => element.style.setProperty(k, v));
		else element.setAttribute(name, value === true ? "" : value);
	}
	for (const child of children.flat(Infinity))
		if (child !== null && child !== undefined && child !== false) element.append(child);
	return element;
}

export const h = (tag, attributes, ...children) =>
	build(document.createElement(tag), attributes, children);

export const s = (tag, attributes, ...children) =>
	build(document.createElementNS(SVG, tag), attributes, children);

// Replaces the content of a place. Focus returns to the element with the same data-key.
export function fill(place, ...children) {
	const key = place.contains(document.activeElement)
		? document.activeElement.closest("[data-key]")?.dataset.key : undefined;
	place.replaceChildren(...children.flat(Infinity).filter(child => child));
	if (key !== undefined)
		place.querySelector(`[data-key="${CSS.escape(key)}"]`)?.focus({ preventScroll: true });
}
