// SPDX-License-Identifier: Apache-2.0
// Cuts texts to a width, which it measures in the font of pictures.
export const FONT = '11.5px system-ui, "DejaVu Sans", sans-serif';

const widths = new Map();
let context = null;

export function widthOf(text) {
	if (!context) {
		context = document.createElement("canvas").getContext("2d");
		context.font = FONT;
	}
	if (!widths.has(text)) widths.set(text, context.measureText(text).width);
	return widths.get(text);
}

// "" where not even three letters fit.
export function fit(text, room) {
	if (room < 14) return "";
	if (widthOf(text) <= room) return text;
	let low = 0, high = text.length;
	while (low < high) {
		const middle = (low + high + 1) >> 1;
		if (widthOf(`${text.slice(0, middle)}…`) <= room) low = middle; else high = middle - 1;
	}
	return low < 2 ? "" : `${text.slice(0, low)}…`;
}
