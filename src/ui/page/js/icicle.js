// SPDX-License-Identifier: Apache-2.0
// A tree as a picture: a node is as wide as its time, and lies below the node that holds it. The user
// can zoom into a node, also by keyboard and screen reader. The caller describes its nodes (`like`).
import { fill, h, s } from "./dom.js";
import { note } from "./figure.js";
import { fit } from "./fit.js";
import { behind, plainTable } from "./table.js";
import { hideTip, tipAt, tipOver } from "./tip.js";
import { drawIn } from "./widths.js";

const ROW = 26, ROWS_MAX = 400, NARROW = 0.7;

function box(view, node, width) {
	const { zoom, focus, like } = view;
	const span = zoom.x1 - zoom.x0;
	const x0 = Math.max(0, (node.x0 - zoom.x0) / span * width), x1 = Math.min(width, (node.x1 - zoom.x0) / span * width);
	const wide = x1 - x0;
	if (wide < NARROW) return null;
	const inside = node.depth >= zoom.depth;
	const text = wide > 34 ? fit(node.data.name, wide - 9) : "";
	const { colour, on } = like.paint(node);
	return s("g", {
		role: "treeitem", tabindex: node === focus ? "0" : "-1", "aria-level": node.depth + 1,
		"aria-label": like.words(node).join(", "), "aria-expanded": node.children ? "true" : null,
		"data-key": `${like.key}-${node.data.id}`, "data-node": node.data.id, class: inside ? "node" : "node above",
		transform: `translate(${x0.toFixed(1)},${node.row * ROW})`,
	}, s("rect", {
		width: Math.max(0.5, wide - (wide > 3 ? 1 : 0)).toFixed(1), height: ROW - 1, rx: wide > 6 ? 2 : 0,
		style: { fill: colour }, class: node.data.kind,
	}), text ? s("text", { x: 4, y: ROW - 9, class: on ? "on" : null, "data-colour": on }, text) : null);
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
		"aria-label": `${view.like.label}; arrow keys move, Enter zooms in, Backspace out`,
	}, shown.map(node => box(view, node, width)));
}

// The node to which an arrow key leads: along the row, to the holder, or to a node inside.
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

function numbers({ zoom, like }) {
	return behind(like.key, "Numbers", () => {
		const rows = [];
		zoom.eachBefore(node => {
			if (rows.length < ROWS_MAX) rows.push([`${"\u2003".repeat(node.depth)}${node.data.name}`, ...like.row(node)]);
		});
		const table = plainTable(`${like.label}, as a table`, ["Name", ...like.titles], rows);
		return rows.length < ROWS_MAX ? table : h("div", null, table, note(`The first ${ROWS_MAX} rows; zoom in to see others.`));
	});
}

// root: a hierarchy with x0, x1 and row. like: { key, label, zoom: { id }, words(node), short(node),
// paint(node): { colour, on }, titles, row(node) }
export function icicle(page, root, like) {
	const zoomed = root.find(node => node.data.id === like.zoom.id) ?? root;
	const view = { root, zoom: zoomed, focus: zoomed, shown: [], like };
	const place = h("div", { class: "chart" }), path = h("nav", { class: "zoomed", "aria-label": `${like.label}, zoomed to` }), table = h("div");
	const node_of = target => {
		const id = target.closest?.("[data-node]")?.dataset.node;
		return id === undefined ? null : view.shown.find(node => node.data.id === Number(id));
	};
	const zoom = node => {
		view.zoom = view.focus = node;
		like.zoom.id = node.data.id;
		redraw();
		place.querySelector(`[data-node="${node.data.id}"]`)?.focus({ preventScroll: true });
	};
	const redraw = () => {
		drawIn(place, width => fill(place, picture(view, width)));
		fill(path, view.zoom.ancestors().reverse().map((node, i, all) => (i < all.length - 1
			? [h("button", { type: "button", class: "link", "data-key": `${like.key}-up-${node.data.id}`, onclick: () => zoom(node) }, node.data.name), " › "]
			: h("span", { "aria-current": "true" }, `${node.data.name}, ${like.short(node)}`))));
		fill(table, numbers(view));
	};
	const focus = node => {
		if (!node) return;
		place.querySelector('[tabindex="0"]')?.setAttribute("tabindex", "-1");
		view.focus = node;
		const element = place.querySelector(`[data-node="${node.data.id}"]`);
		element?.setAttribute("tabindex", "0");
		element?.focus({ preventScroll: true });
		if (element) tipAt(element, like.words(node));
	};
	place.addEventListener("click", event => { const node = node_of(event.target); if (node) { hideTip(); zoom(node); } });
	place.addEventListener("pointermove", event => {
		const node = node_of(event.target);
		if (node) tipOver(event, like.words(node)); else hideTip();
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
