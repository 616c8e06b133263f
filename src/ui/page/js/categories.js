// SPDX-License-Identifier: Apache-2.0
// One colour per category in every chart. The hues differ under any common colour vision
// (after Okabe and Ito); style.css has their values for light and dark. Categories that a program
// registered itself take spare colours in the order of their first appearance.

const FIXED = {
	Attention: "attention",
	FFN: "ffn",
	Norm: "norm",
	Other: "other",
	Engine: "engine",
	Wait: "wait",
	Sparse: "sparse",
	FFT: "fft",
	Solver: "solver",
	preempted: "none",
	blocked: "none",
	"left out": "none",
	unattributed: "none",
};
const SPARE = ["sparse", "fft", "solver", "spare-1", "spare-2", "spare-3"];
const given = new Map();

export function colour(category) {
	if (!category) return "var(--none)";
	if (Object.hasOwn(FIXED, category)) return `var(--${FIXED[category]})`;
	if (!given.has(category)) given.set(category, SPARE[given.size % SPARE.length]);
	return `var(--${given.get(category)})`;
}

// From the bottom of a stack to its top.
const ORDER = ["FFN", "Attention", "Norm", "Other", "Engine", "Wait"];
const REST = ["preempted", "blocked", "left out", "unattributed"]; // time in no category

export function inOrder(a, b) {
	const place = name => (ORDER.includes(name) ? ORDER.indexOf(name) : ORDER.length + 1 + REST.indexOf(name));
	return place(a) - place(b) || (a < b ? -1 : a > b ? 1 : 0);
}
