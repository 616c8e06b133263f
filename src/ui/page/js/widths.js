// SPDX-License-Identifier: Apache-2.0
// Draws charts as wide as their place, and again when its width changes. On paper charts are scaled,
// because the width of paper is not known in time.
const drawn = new Map();

const observer = new ResizeObserver(entries => {
	for (const entry of entries) {
		const chart = drawn.get(entry.target);
		const width = Math.round(entry.contentRect.width);
		if (chart && width && Math.abs(width - chart.width) > 1 && !matchMedia("print").matches) {
			chart.width = width;
			chart.draw(width);
		}
	}
});

// Draw into a place now and whenever its width changes.
export function drawIn(place, draw) {
	const width = Math.round(place.clientWidth) || drawn.get(place)?.width || 900;
	drawn.set(place, { width, draw });
	draw(width);
	observer.observe(place);
}
