// SPDX-License-Identifier: Apache-2.0
// The difference of two trees: a node is as wide as the longer of both, and coloured by how much
// longer or shorter it is in the second.
import { hierarchy, partition } from "d3-hierarchy";
import { h } from "./dom.js";
import { legend } from "./figure.js";
import * as format from "./format.js";
import { icicle } from "./icicle.js";

const keyOf = node => `${node.kind} ${node.layer} ${node.name}`;

// Operations and kernels are left out: their names differ with the place of data in memory.
function union(a, b, ids) {
	const node = { id: ids.next++, name: (a ?? b).name, kind: (a ?? b).kind, a: a?.time ?? 0, b: b?.time ?? 0, children: [] };
	const inner = side => (side?.children ?? []).filter(child => !["operation", "kernel"].includes(child.kind));
	const others = new Map(inner(b).map(child => [keyOf(child), child]));
	for (const child of inner(a)) {
		node.children.push(union(child, others.get(keyOf(child)), ids));
		others.delete(keyOf(child));
	}
	for (const child of others.values()) node.children.push(union(null, child, ids));
	return node;
}

function words(node, names) {
	const { name, a, b } = node.data;
	return [name, `${format.signed(b - a)}${a ? `, ${format.number(b / a)} times` : ""}`, `${names.a}: ${format.time(Math.round(a))}`, `${names.b}: ${format.time(Math.round(b))}`];
}

// a, b: nodes with name, kind, layer, time and children. options: { key, a, b: names, zoom }
export function difference(page, a, b, options) {
	const root = hierarchy(union(a, b, { next: 0 }), node => node.children);
	root.eachAfter(node => {
		const below = node.children?.reduce((sum, child) => sum + child.value, 0) ?? 0;
		node.value = Math.max(node.data.a, node.data.b, below);
	});
	const most = Math.max(...root.leaves().map(node => Math.abs(node.data.b - node.data.a)), 1e-9);
	partition()(root);
	root.each(node => { node.row = node.depth; });
	const heat = node => Math.min(1, Math.abs(node.data.b - node.data.a) / most);
	return [
		legend([[`longer in ${options.b}`, "var(--worse)"], [`shorter in ${options.b}`, "var(--better)"], ["no difference", "var(--group)"]]),
		icicle(page, root, {
			key: options.key, label: "Where the difference lies", zoom: options.zoom, words: node => words(node, options), short: node => format.signed(node.data.b - node.data.a),
			paint: node => ({ colour: `color-mix(in oklab, ${node.data.b > node.data.a ? "var(--worse)" : "var(--better)"} ${(100 * heat(node)).toFixed(0)}%, var(--group))`, on: heat(node) > 0.55 ? "difference" : null }),
			titles: ["A", "B", "B − A"], row: ({ data }) => [format.time(Math.round(data.a)), format.time(Math.round(data.b)), format.signed(data.b - data.a)],
		}),
	].map(part => (Array.isArray(part) ? h("div", null, part) : part));
}
