// SPDX-License-Identifier: Apache-2.0
// One step as an icicle, from the step down to its operations and kernels, in the order in which they
// ran. The user opens any step: by its number, from a list of notable steps, or from the chart.
import { hierarchy, partition } from "d3-hierarchy";
import { colour } from "./categories.js";
import { fill, h } from "./dom.js";
import { note, section } from "./figure.js";
import * as format from "./format.js";
import { icicle } from "./icicle.js";
import { phaseLabel } from "./phases.js";

// Makes a tree of nodes from the columns of the page's JSON.
export function nodesOf({ step: { nodes }, names, kinds }) {
	const all = nodes.parent.map((_, i) => ({
		id: i, name: names[nodes.name[i]], kind: kinds[nodes.kind[i]] ?? "node", layer: nodes.layer[i],
		count: nodes.count[i], time: nodes.time_ns[i], self: nodes.self_ns[i], bytes: nodes.bytes[i], flops: nodes.flops[i],
		estimated: Boolean(nodes.device_estimated?.[i]) && kinds[nodes.kind[i]] === "kernel",
		children: [],
	}));
	all.forEach((node, i) => { if (nodes.parent[i] >= 0) all[nodes.parent[i]].children.push(node); });
	return all[0];
}

const of_device = node => node.data.kind === "kernel";

// Device time is no part of what launched it: kernels share the width of that by their own times,
// below what the host did there.
function placeKernels(root) {
	root.eachAfter(node => {
		const others = node.children?.filter(child => !of_device(child)) ?? [];
		node.host_rows = Math.max(0, ...others.map(child => 1 + child.rows));
		node.rows = node.host_rows + (others.length < (node.children?.length ?? 0) ? 1 : 0);
	});
	root.eachBefore(node => {
		node.row ??= node.depth;
		const kernels = node.children?.filter(of_device) ?? [];
		const sum = kernels.reduce((total, child) => total + child.data.time, 0);
		const row = node.row + node.host_rows + 1;
		let x = node.x0;
		for (const kernel of kernels) {
			const wide = sum ? (node.x1 - node.x0) * kernel.data.time / sum : 0;
			Object.assign(kernel, { x0: x, x1: x + wide, row });
			x += wide;
		}
	});
}

function grow(page, tree) {
	const root = hierarchy(nodesOf(tree));
	root.eachAfter(node => {
		const below = node.children?.reduce((sum, child) => sum + (of_device(child) ? 0 : child.value), 0) ?? 0;
		node.value = Math.max(node.data.time ?? 0, below);
	});
	root.each(node => { if (of_device(node)) node.value = 0; });
	const categories = new Map(page.data.report.bricks.map(row => [row.name, row.category]));
	root.eachBefore(node => {
		const { kind, name } = node.data;
		node.category = kind === "wait" ? "Wait" : kind === "brick" ? categories.get(name) ?? "Other"
			: kind === "operation" || kind === "kernel" ? node.parent?.category : null;
	});
	partition()(root);
	placeKernels(root);
	return root;
}

function words(node, whole) {
	const { name, count, time, self, bytes, flops, kind, estimated } = node.data;
	return [
		name,
		kind === "kernel" ? `${format.estimate(time, estimated)} on the device` : `${format.time(time)}, ${format.percent(whole ? time / whole : null)} of the step`,
		...(kind !== "root" && count !== null ? [`${format.plural(count, "execution")}`] : []),
		...(node.children ? [`${format.time(self)} of it in nothing below`] : []),
		...(bytes !== null ? [`${format.bytes(bytes)}${time ? `, ${format.number(bytes / time)} GB/s` : ""}`] : []),
		...(flops ? [`${format.count(flops)} FLOPs${time ? `, ${format.number(flops / time)} GFLOP/s` : ""}`] : []),
	];
}

function picture(page, tree) {
	const root = grow(page, tree);
	if (page.state.zoom.step !== tree.step.number) page.state.zoom = { step: tree.step.number, id: 0 };
	return icicle(page, root, {
		key: "node", label: "What the step was made of", zoom: page.state.zoom,
		words: node => words(node, root.data.time), short: node => format.estimate(node.data.time, node.data.estimated),
		paint: node => ({ colour: node.category ? colour(node.category) : "var(--group)", on: node.category }),
		titles: ["Kind", "Count", "Time", "Self"],
		row: ({ data }) => [data.kind, data.count === null ? format.UNKNOWN : String(data.count), format.estimate(data.time, data.estimated), format.estimate(data.self, data.estimated)],
	});
}

// Says which nodes are not in the picture of a step, because the page must stay small.
const missing = ({ served }, step) => (
	step.layers === false ? (served ? "; asking the server for its layers ..." : `; only its bricks are in this page: brick tree --step ${step.number}, or brick serve, shows layers and operations`)
		: step.operations ? "" : "; operations left out, to keep the page small");

// A number to be typed, with its neighbours of the same phase beside it.
export function stepInput(page, id, label, value, pick) {
	const numbers = page.steps.of_phase(page.state.phase);
	const at = numbers.indexOf(value);
	const near = move => (at >= 0 ? numbers[at + move] : move > 0 ? numbers.find(n => n > value) : numbers.findLast(n => n < value));
	const button = (move, text, name) => h("button", {
		type: "button", class: "plain", "data-key": `${id}${move}`, "aria-label": `${label}: ${name}`,
		disabled: near(move) === undefined, onclick: () => pick(near(move)),
	}, text);
	return h("span", { class: "step-input" }, h("label", { for: id }, label), button(-1, "‹", "the one before"), h("input", {
		type: "number", id, "data-key": id, min: 1, max: numbers.at(-1) ?? 1, value, inputmode: "numeric",
		onchange: event => pick(Number(event.target.value)),
	}), button(1, "›", "the next one"));
}

// Steps worth a look, of the phase that is looked at.
export const notable = page => page.data.trees.steps.filter(({ phase }) =>
	page.state.phase === "all" || phase.replace("-", "_") === page.state.phase);

function hint(page, step) {
	return h("p", { class: "hint" }, `${phaseLabel(step.phase.replace("-", "_"))}, ${format.plural(step.tokens, "token")}, ${format.time(step.total_ns)}; ${format.time(step.unattributed_ns)} of it in no brick`,
		step.other_threads ? `; ${format.plural(step.other_threads, "other thread")} worked at the same time` : "", missing(page.data, step));
}

export function inside(page) {
	const { data } = page;
	if (page.state.step === null) return section("step", "Inside of a step", note("No step that ended was recorded."));
	const place = h("div"), tools = h("p", { class: "tools" });
	const draw = () => {
		const { step: number } = page.state;
		const tree = page.steps.tree(number, () => page.state.step === number && page.emit("step"));
		const known = notable(page);
		const select = h("select", { id: "step-choice", "aria-label": "Steps worth a look", "data-key": "step-choice", onchange: event => page.pickStep(Number(event.target.value)) },
			known.some(step => step.number === number) ? null : h("option", { value: number }, `Step ${number}`),
			known.map(step => h("option", { value: step.number }, `Step ${step.number}: ${step.why}, ${format.time(step.total_ns)}`)));
		select.value = String(number);
		fill(tools, stepInput(page, "step-number", "Step", number, n => page.pickStep(n)), select);
		fill(place, tree ? [hint(page, tree.step), picture(page, tree)] : note(`Step ${number} is not in this page.`));
	};
	draw();
	page.on("step", draw);
	const kept = data.trees.steps.length + data.trees.others.length, { of } = page.steps, listed = page.steps.number.length;
	return section("step", "Inside of a step",
		note("From the step down to its operations, each as wide as its time; kernels share the width of the operation that launched them. Click to zoom in, or use the arrow keys, Enter and Backspace.",
			data.served || kept >= of ? "" : ` In this page: ${listed} of ${of} steps by brick, ${kept} of them with layers, ${data.trees.steps.length} with operations.`),
		tools, place);
}
