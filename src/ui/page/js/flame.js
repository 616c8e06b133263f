// SPDX-License-Identifier: Apache-2.0
// The flame graph of `brick flame`: all threads and queues, their phases, and bricks on the bricks that
// hold them, each as wide as the sum of its times.
import { hierarchy, partition } from "d3-hierarchy";
import { colour } from "./categories.js";
import { note, section } from "./figure.js";
import * as format from "./format.js";
import { icicle } from "./icicle.js";
import { nodesOf } from "./inside.js";

function grow(page, flame) {
	const root = hierarchy(nodesOf({ step: flame, names: flame.names, kinds: page.data.trees.kinds }));
	root.eachAfter(node => {
		node.value = Math.max(node.data.time, node.children?.reduce((sum, child) => sum + child.value, 0) ?? 0);
	});
	const categories = page.categories();
	root.each(node => {
		const { kind, name } = node.data;
		node.category = kind === "wait" ? "Wait" : kind === "brick" || kind === "kernel" ? categories.get(name) ?? "Other" : null;
	});
	partition()(root);
	root.each(node => { node.row = node.depth; });
	return root;
}

export function flame(page) {
	const { flame: all } = page.data;
	if (!all) return null;
	const root = grow(page, all), whole = root.data.time;
	page.state.flameZoom ??= { id: 0 };
	const share = node => format.percent(whole ? node.data.time / whole : null);
	return section("flame", "Flame graph",
		note("All that ran on all threads and queues, whatever phase is chosen: a box is as wide as the sum of its times, and lies below what holds it."),
		icicle(page, root, {
			key: "frame", label: "Time of all threads and queues", zoom: page.state.flameZoom,
			words: node => [node.data.name, `${format.time(node.data.time)}, ${share(node)}`, ...(node.data.count ? [format.plural(node.data.count, "execution")] : [])],
			short: node => format.time(node.data.time),
			paint: node => ({ colour: node.category ? colour(node.category) : "var(--group)", on: node.category }),
			titles: ["Count", "Time", "Self"],
			row: ({ data }) => [data.count === null ? format.UNKNOWN : String(data.count), format.time(data.time), format.time(data.self)],
		}));
}
