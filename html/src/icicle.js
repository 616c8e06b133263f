// SPDX-License-Identifier: Apache-2.0
// One step, from the step down to its operations and kernels: as wide as it took, in the order in
// which it ran. A node can be zoomed into; a tree for keyboard and screen reader.
import { hierarchy, partition } from "d3-hierarchy";
import { colour } from "./categories.js";
import { fill, h, s } from "./dom.js";
import { note, section } from "./figure.js";
import * as format from "./format.js";
import { behind, plainTable } from "./table.js";
import { hideTip, tipAt, tipOver } from "./tip.js";
import { drawIn } from "./widths.js";

const ROW = 26, ROWS_MAX = 400, NARROW = 0.7;

function grow(page, step) {
	const { names, kinds } = page.data.trees;
	const { nodes } = step;
	const all = nodes.parent.map((parent, i) => ({
		id: i, name: names[nodes.name[i]], kind: kinds[nodes.kind[i]] ?? "node", layer: nodes.layer[i],
		count: nodes.count[i], time: nodes.time_ns[i], self: nodes.self_ns[i], bytes: nodes.bytes[i], flops: nodes.flops[i],
		children: [],
	}));
	all.forEach((node, i) => { if (nodes.parent[i] >= 0) all[nodes.parent[i]].children.push(node); });
	const root = hierarchy(all[0]);
	const of_device = node => node.data.kind === "kernel";
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
	// Device time is no part of what launched it: kernels share the width of that by their own times,
	// below what the host did there.
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
	return root;
}

function words(node, whole) {
	const { name, count, time, self, bytes, flops, kind } = node.data;
	return [
		name,
		kind === "kernel" ? `${format.time(time)} on the device` : `${format.time(time)}, ${format.percent(whole ? time / whole : null)} of the step`,
		...(kind !== "root" ? [`${format.plural(count, "execution")}`] : []),
		...(node.children ? [`${format.time(self)} of it in nothing below`] : []),
		...(bytes !== null ? [`${format.bytes(bytes)}${time ? `, ${format.number(bytes / time)} GB/s` : ""}`] : []),
		...(flops ? [`${format.count(flops)} FLOPs${time ? `, ${format.number(flops / time)} GFLOP/s` : ""}`] : []),
	];
}

function box(view, node, width) {
	const { zoom, whole, focus } = view;
	const span = zoom.x1 - zoom.x0;
	const x0 = Math.max(0, (node.x0 - zoom.x0) / span * width), x1 = Math.min(width, (node.x1 - zoom.x0) / span * width);
	const y = node.row * ROW;
	const wide = x1 - x0;
	if (wide < NARROW) return null;
	const inside = node.depth >= zoom.depth;
	const text = wide > 34 ? node.data.name : "";
	const clip = Math.floor((wide - 8) / 6.6);
	return s("g", {
		role: "treeitem", tabindex: node === focus ? "0" : "-1", "aria-level": node.depth + 1,
		"aria-label": words(node, whole).join(", "), "aria-expanded": node.children ? "true" : null,
		"data-key": `node-${node.data.id}`, "data-node": node.data.id, class: inside ? "node" : "node above",
		transform: `translate(${x0.toFixed(1)},${y})`,
	}, s("rect", {
		width: Math.max(0.5, wide - (wide > 3 ? 1 : 0)).toFixed(1), height: ROW - 1, rx: wide > 6 ? 2 : 0,
		style: { fill: node.category ? colour(node.category) : "var(--group)" },
		class: node.data.kind,
	}), text && clip > 2 ? s("text", { x: 4, y: ROW - 9, class: node.category ? "on" : null, "data-colour": node.category },
		text.length > clip ? `${text.slice(0, clip - 1)}…` : text) : null);
}

// Nodes wide enough to be seen, without descending below those that are not.
function visible(view, width) {
	const { zoom, root } = view;
	const least = NARROW / width * (zoom.x1 - zoom.x0);
	const shown = [];
	const visit = node => {
		if (node.x1 <= zoom.x0 + 1e-12 || node.x0 >= zoom.x1 - 1e-12 || node.x1 - node.x0 < least) return;
		shown.push(node);
		node.children?.forEach(visit);
	};
	visit(root);
	return shown;
}

function picture(view, width) {
	const shown = visible(view, width);
	const depth = Math.max(...shown.map(node => node.row)) + 1;
	view.shown = shown;
	return s("svg", {
		class: "icicle", viewBox: `0 0 ${width} ${depth * ROW}`, width: "100%", role: "tree",
		"aria-label": "What the step was made of; arrow keys move, Enter zooms in, Backspace out",
	}, shown.map(node => box(view, node, width)));
}

// Where an arrow key leads from a node: along its row, or to what holds it or is in it.
function neighbour(view, node, key) {
	const row = view.shown.filter(other => other.row === node.row);
	const at = row.indexOf(node);
	switch (key) {
	case "ArrowRight": return row[at + 1];
	case "ArrowLeft": return row[at - 1];
	case "ArrowUp": return node.parent;
	case "ArrowDown": return node.children?.find(child => view.shown.includes(child));
	case "Home": return view.root;
	default: return undefined;
	}
}

function numbers(view) {
	return behind("icicle", "Numbers", () => {
		const rows = [];
		view.zoom.eachBefore(node => {
			if (rows.length < ROWS_MAX)
				rows.push([`${"\u2003".repeat(node.depth)}${node.data.name}`, node.data.kind, String(node.data.count), format.time(node.data.time), format.time(node.data.self)]);
		});
		const table = plainTable("The step as a table", ["Name", "Kind", "Count", "Time", "Self"], rows);
		return rows.length < ROWS_MAX ? table : h("div", null, table, note(`The first ${ROWS_MAX} rows; zoom in to see others.`));
	});
}

function tree(page, step) {
	const root = grow(page, step);
	const zoomed = page.state.zoom?.step === step.number
		? root.find(node => node.data.id === page.state.zoom.id) ?? root : root;
	const view = { root, zoom: zoomed, focus: zoomed, whole: root.data.time, shown: [] };
	const place = h("div", { class: "chart" }), path = h("nav", { "aria-label": "Zoomed to" }), table = h("div");
	const node_of = target => {
		const id = target.closest?.("[data-node]")?.dataset.node;
		return id === undefined ? null : view.shown.find(node => node.data.id === Number(id));
	};
	const zoom = node => {
		view.zoom = view.focus = node;
		page.state.zoom = { step: step.number, id: node.data.id };
		redraw();
		place.querySelector(`[data-node="${node.data.id}"]`)?.focus({ preventScroll: true });
	};
	const redraw = () => {
		drawIn(place, width => fill(place, picture(view, width)));
		fill(path, view.zoom.ancestors().reverse().map((node, i, all) => (i < all.length - 1
			? [h("button", { type: "button", class: "link", "data-key": `up-${node.data.id}`, onclick: () => zoom(node) }, node.data.name), " › "]
			: h("span", { "aria-current": "true" }, `${node.data.name}, ${format.time(node.data.time)}`))));
		fill(table, numbers(view));
	};
	const focus = node => {
		if (!node) return;
		place.querySelector('[tabindex="0"]')?.setAttribute("tabindex", "-1");
		view.focus = node;
		const element = place.querySelector(`[data-node="${node.data.id}"]`);
		element?.setAttribute("tabindex", "0");
		element?.focus({ preventScroll: true });
		if (element) tipAt(element, words(node, view.whole));
	};
	place.addEventListener("click", event => { const node = node_of(event.target); if (node) { hideTip(); zoom(node); } });
	place.addEventListener("pointermove", event => {
		const node = node_of(event.target);
		if (node) tipOver(event, words(node, view.whole)); else hideTip();
	});
	place.addEventListener("pointerleave", hideTip);
	place.addEventListener("focusout", hideTip);
	place.addEventListener("keydown", event => {
		const node = node_of(event.target);
		if (!node) return;
		if (event.key === "Enter" || event.key === " ") zoom(node);
		else if (event.key === "Backspace" || event.key === "Escape") { hideTip(); if (view.zoom.parent) zoom(view.zoom.parent); }
		else if (/^(Arrow|Home)/.test(event.key)) focus(neighbour(view, node, event.key));
		else return;
		event.preventDefault();
	});
	page.later(redraw);
	return [path, place, table];
}

export function icicle(page) {
	const { steps } = page.data.trees;
	if (!steps.length) return section("step", "Inside of a step", note("No step that ended was recorded."));
	const place = h("div");
	const select = h("select", { id: "step-choice", "data-key": "step-choice", onchange: event => page.pickStep(Number(event.target.value)) },
		steps.map(step => h("option", { value: step.number }, `Step ${step.number}: ${step.why}, ${format.time(step.total_ns)}`)));
	const draw = () => {
		const step = steps.find(each => each.number === page.state.step) ?? steps[0];
		select.value = String(step.number);
		fill(place, h("p", { class: "hint" }, `${format.plural(step.tokens, "token")}, ${format.time(step.total_ns)}; ${format.time(step.unattributed_ns)} of it in no brick`,
			step.other_threads ? `; ${format.plural(step.other_threads, "other thread")} worked at the same time` : "",
			step.operations ? "" : "; operations left out, to keep the page small"), tree(page, step));
	};
	draw();
	page.on("step", draw);
	return section("step", "Inside of a step",
		note("From the step down to its operations, as wide as they took; kernels share the width of what launched them. Click to zoom in, or use the arrow keys, Enter and Backspace."),
		h("p", { class: "tools" }, h("label", { for: "step-choice" }, "Step"), select), place);
}
