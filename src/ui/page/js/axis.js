// SPDX-License-Identifier: Apache-2.0
// Axes with our own units, drawn by d3-axis and freed of its inline styles so that style.css rules.
import { axisBottom, axisLeft } from "d3-axis";
import { select } from "d3-selection";
import { s } from "./dom.js";
import { widthOf } from "./fit.js";

function draw(axis, x, y) {
	const group = s("g", { class: "axis", transform: `translate(${x},${y})`, "aria-hidden": "true" });
	const chosen = select(group).call(axis);
	for (const name of ["fill", "font-size", "font-family", "text-anchor"]) chosen.attr(name, null);
	return group;
}

// Removes labels that would cover the label before them. kept: the values to label; null: all.
export const bottom = (scale, x, y, ticks, format, kept = null) => {
	const group = draw(axisBottom(scale).ticks(ticks).tickFormat(format).tickSizeOuter(0), x, y);
	let end = -Infinity;
	for (const tick of group.querySelectorAll(".tick")) {
		const text = tick.querySelector("text"), at = scale(tick.__data__), half = widthOf(text.textContent) / 2;
		if (kept && !kept.has(tick.__data__)) tick.remove();
		else if (!text.textContent) continue;
		else if (at - half < end) text.remove();
		else end = at + half + 6;
	}
	group.classList.add("bottom");
	return group;
};

export const left = (scale, x, y, ticks, format, grid = 0) => {
	const group = draw(axisLeft(scale).ticks(ticks).tickFormat(format).tickSizeOuter(0)
		.tickSizeInner(grid ? -grid : 6), x, y);
	group.classList.add("left");
	if (grid) group.classList.add("grid");
	return group;
};

// Few round values on a logarithmic scale: powers of ten.
export function tens(scale, most = 8) {
	const [low, high] = scale.domain();
	const all = [];
	for (let e = Math.ceil(Math.log10(low) - 1e-9); e <= Math.floor(Math.log10(high) + 1e-9); e++) all.push(10 ** e);
	const step = Math.ceil(all.length / most);
	return all.filter((_, i) => i % step === 0);
}
