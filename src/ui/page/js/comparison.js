// SPDX-License-Identifier: Apache-2.0
// The page of `brick diff`: the verdict, each brick with its interval, the steps of all recordings
// over time, and where the difference lies (schema brick/diff-page/2).
import { max } from "d3-array";
import { scaleLinear } from "d3-scale";
import { bottom, left } from "./axis.js";
import { difference } from "./difference.js";
import { fill, h, s } from "./dom.js";
import { choice, legend, note, section } from "./figure.js";
import * as format from "./format.js";
import { behind, plainTable, table } from "./table.js";
import { themeButton } from "./theme.js";
import { drawIn } from "./widths.js";

const SIDES = [["a", "A", "var(--better)"], ["b", "B", "var(--worse)"]];
const MARGIN = { top: 12, right: 12, bottom: 40, left: 62 }, HEIGHT = 240;
const label = name => (name === "other" ? "Steps" : name[0].toUpperCase() + name.slice(1));
// Tokens are not counted in steps of no known phase.
const unit = phase => (phase === "other" ? "step" : "token");

const bound = value => (value === null ? "?" : `${value > 0 ? "+" : value < 0 ? "−" : ""}${(100 * Math.abs(value)).toFixed(1)}`);
const interval = row => (row.low === null && row.high === null ? "" : `${bound(row.low)}..${bound(row.high)}%`);

// One scale for all rows of a phase, so that intervals can be compared; the widest leave it.
function scaleOf(rows, threshold) {
	const bounds = rows.flatMap(row => [row.effect, row.low, row.high]).filter(value => value !== null && value !== undefined).map(Math.abs).sort((x, y) => x - y);
	return Math.max(3 * threshold, bounds[Math.floor(0.7 * (bounds.length - 1))] ?? 0) * 1.1;
}

const WIDE = 220, HIGH = 18;

// The interval of a row: a line from bound to bound, a dot at the effect; grey is what does not matter.
function plot(row, scale, threshold) {
	const x = value => WIDE / 2 + Math.max(-1, Math.min(1, value / scale)) * (WIDE / 2 - 4);
	const colour = { slower: "var(--worse)", faster: "var(--better)" }[row.verdict] ?? "var(--soft)";
	const known = row.effect !== null;
	return s("svg", { class: "interval", viewBox: `0 0 ${WIDE} ${HIGH}`, width: WIDE, height: HIGH, role: "img", "aria-label": known ? row.said : "not known" },
		s("rect", { class: "threshold", x: x(-threshold), width: x(threshold) - x(-threshold), y: 0, height: HIGH }),
		s("line", { class: "zero", x1: x(0), x2: x(0), y1: 0, y2: HIGH }),
		known && row.low !== null && row.high !== null ? s("line", { x1: x(row.low), x2: x(row.high), y1: HIGH / 2, y2: HIGH / 2, style: { stroke: colour, "stroke-width": "2.5" } }) : null,
		known ? s("circle", { cx: x(row.effect), cy: HIGH / 2, r: 4, style: { fill: colour } }) : null);
}

const columns = (by, scale, threshold, one) => [
	{ key: "name", title: label(by.replace(/s$/, "")), text: true, get: row => row.name, show: value => h("span", null, value) },
	{ key: "interval", title: `Interval, ±${format.percent(scale)}`, get: row => row.effect, show: (_, row) => plot(row, scale, threshold) },
	{ key: "verdict", title: "Verdict", text: true, get: row => row.verdict, show: value => h("span", { class: `verdict ${value}` }, value) },
	{ key: "effect", title: "Change", get: row => row.effect, show: (_, row) => row.said_effect },
	{ key: "bounds", title: "From..to", text: true, get: row => interval(row) },
	{ key: "points", title: "Points", about: "What it adds to the change of the phase, in percent of A's time", get: row => row.points, order: row => (row.points === null || row.points === undefined ? null : Math.abs(row.points)), show: value => (value === null || value === undefined ? format.UNKNOWN : bound(value)) },
	{ key: "a_ns", title: `A a ${one}`, get: row => row.a_ns, show: value => format.time(value && Math.round(value)) },
	{ key: "b_ns", title: `B a ${one}`, get: row => row.b_ns, show: value => format.time(value && Math.round(value)) },
];

function rows(page, phase) {
	const { diff, by } = page.data, place = h("div"), part = diff.phases[phase];
	const whole = [...(part.rate ? [{ ...part.rate, name: phase === "other" ? "steps/s" : `${phase} tokens/s` }] : []), { ...part.time, name: phase === "other" ? "a typical step" : `${phase}, a typical token` }, ...(part.elapsed ? [{ ...part.elapsed, name: `${label(phase).toLowerCase()}, time between too` }] : [])];
	const all = [...part[by], ...part.kernels.map(row => ({ ...row, name: `${row.name} (kernel)` }))];
	const scale = scaleOf(all, diff.threshold);
	page.sorts[phase] ??= { key: "points", direction: -1 };
	table(place, columns(by, scale, diff.threshold, unit(phase)), all, page.sorts[phase], { caption: `${label(phase)}: ${by} on both sides`, key: row => row.name, announce: page.announce, last: whole });
	return section("rows", label(by), note(`Of ${label(phase).toLowerCase()}, time of a ${unit(phase)}. Grey is what does not matter: ±${format.percent(diff.threshold)}; a line that leaves the picture goes on beyond it.`), place);
}

function line(x, y, points) {
	let pen = "M";
	return points.map((ns, i) => {
		if (ns === null) { pen = "M"; return ""; }
		const at = `${pen}${x(i)},${y(ns).toFixed(1)}`;
		pen = "L";
		return at;
	}).join("");
}

// Each recording is a line: the time of a token of its steps.
function stepsPicture(runs, width) {
	const most = max(runs, run => run.steps);
	const sorted = runs.flatMap(run => run.token_ns).filter(ns => ns !== null).sort((p, q) => p - q);
	const x = scaleLinear([0, most], [MARGIN.left, width - MARGIN.right]);
	const y = scaleLinear([0, 1.5 * (sorted[Math.floor(0.95 * (sorted.length - 1))] || 1)], [HEIGHT - MARGIN.bottom, MARGIN.top]).nice(4);
	const at = run => i => x((i + 0.5) * run.steps / run.token_ns.length).toFixed(1);
	return s("svg", { class: "runs", viewBox: `0 0 ${width} ${HEIGHT}`, width: "100%", role: "img", "aria-label": `Time of a token over the steps of ${runs.length} recordings` },
		left(y, MARGIN.left, 0, 4, ns => format.time(ns), width - MARGIN.left - MARGIN.right),
		runs.map(run => s("path", { "data-side": run.side, d: line(at(run), ns => Math.max(y(ns), MARGIN.top - 8), run.token_ns), style: { stroke: run.colour } }, s("title", null, run.path))),
		bottom(x, 0, HEIGHT - MARGIN.bottom, Math.max(2, Math.floor(width / 110)), n => format.count(n)),
		s("text", { class: "title", x: width - MARGIN.right, y: HEIGHT - 4, "text-anchor": "end" }, "step"));
}

function overTime(page, phase) {
	const runs = SIDES.flatMap(([side, , colour]) => page.data[side].filter(run => run.phases[phase]?.token_ns.length > 1)
		.map(run => ({ side, colour, path: run.path, ...run.phases[phase] })));
	if (!runs.length) return section("over-time", "Steps over time", note("The history keeps no single steps."));
	const place = h("div", { class: "chart" });
	const median = run => [...run.token_ns].filter(ns => ns !== null).sort((p, q) => p - q)[(run.token_ns.length - 1) >> 1] ?? null;
	page.later(() => drawIn(place, width => fill(place, stepsPicture(runs, width))));
	return section("over-time", "Steps over time", note("Time of a token; a line is a recording. Points above 1.5 times the 95th percentile are cut off."),
		legend(SIDES.map(([, name, colour]) => [name, colour])), place,
		behind("over-time", "Numbers", () => plainTable("Recordings", ["Recording", "Side", "Steps", "Median point"], runs.map(run => [run.path, run.side.toUpperCase(), String(run.steps), format.time(median(run))]))));
}

// Phase, layers, bricks; outside of layers bricks stand by themselves.
function treesOf(page, phase) {
	const cells = page.data.layers[phase], { bricks } = page.data;
	return ["a", "b"].map((_, side) => {
		const root = { name: label(phase), kind: "root", layer: -1, time: 0, children: [] }, layers = new Map();
		for (const [layer, brick, ...ns] of cells) {
			if (!layers.has(layer)) layers.set(layer, layer < 0 ? root : { name: `Layer ${layer}`, kind: "layer", layer, time: 0, children: [] });
			const above = layers.get(layer);
			above.children.push({ name: bricks[brick], kind: "brick", layer, time: ns[side], children: [] });
			if (layer >= 0) above.time += ns[side];
			root.time += ns[side];
		}
		root.children.push(...[...layers].filter(([layer]) => layer >= 0).sort(([p], [q]) => p - q).map(([, node]) => node));
		return root;
	});
}

function where(page, phase) {
	if (!page.data.layers[phase]?.length) return section("where", "Where the difference lies", note("Layers and bricks are known of recordings only, where both sides have some."));
	const [a, b] = treesOf(page, phase);
	page.zooms[phase] ??= { id: 0 };
	return section("where", "Where the difference lies", note("Mean time of a token of typical steps (at most 32 of each recording, of the quarter below the median), by layer and brick; as wide as the longer of both. It says where, and not whether that is noise: that is above."),
		difference(page, a, b, { key: "where", a: "A", b: "B", zoom: page.zooms[phase] }));
}

function verdict(page) {
	const { diff } = page.data, { differences } = diff;
	const unfair = differences.filter(d => d.unfair), other = differences.filter(d => !d.unfair);
	const said = d => (d.key ? `${d.key}: ${d.a ?? "-"} in A, ${d.b ?? "-"} in B` : d.text);
	const times = Object.entries(diff.phases).map(([phase, { time, rate }]) => h("div", { class: "figure", "data-figure": phase }, h("dt", null, label(phase)),
		h("dd", null, h("strong", null, (rate ?? time).said),
			rate ? h("span", null, phase === "other" ? `steps/s: ${format.number(rate.a_tokens_per_s)} in A, ${format.number(rate.b_tokens_per_s)} in B` : `tokens/s: ${format.tokensPerSecond(rate.a_tokens_per_s)} in A, ${format.tokensPerSecond(rate.b_tokens_per_s)} in B`) : null,
			h("span", null, `a typical ${unit(phase)}: ${format.time(Math.round(time.a_ns))} in A, ${format.time(Math.round(time.b_ns))} in B: ${time.said}`))));
	if (diff.wall) times.push(h("div", { class: "figure", "data-figure": "wall" }, h("dt", null, "Wall time"),
		h("dd", null, h("strong", null, diff.wall.said), h("span", null, `${format.time(Math.round(diff.wall.a_ns))} in A, ${format.time(Math.round(diff.wall.b_ns))} in B`))));
	const list = (items, title) => (items.length ? [h("h3", null, title), h("ul", { class: "plain-list" }, items.map(d => h("li", null, said(d))))] : []);
	return section("verdict", diff.said,
		h("dl", { class: "figures" }, times), list(unfair, "Unfair"), list(other, "What else differs"),
		note(`${diff.a.length} and ${diff.b.length} recordings or runs; ${diff.assumes ? "too few to know what runs differ by, so it is assumed, and only large differences show" : "each is one value"}.`),
		h("details", { class: "provenance" }, h("summary", null, "Recordings"), h("dl", null, SIDES.flatMap(([side, name]) => diff[side].map(run => [h("dt", null, name), h("dd", null, h("code", null, `${run.path}${run.command ? `: ${run.command}` : ""}`))])))));
}

export function comparison(data) {
	const status = h("div", { class: "hidden", role: "status" });
	const page = { data, sorts: {}, zooms: {}, pending: [], announce: text => { status.textContent = text; }, later: draw => (page.drawing ? page.pending.push(draw) : draw()) };
	const phases = Object.keys(data.diff.phases), main = h("main", { id: "main", tabindex: "-1" }), nav = h("nav", { "aria-label": "Sections" });
	let phase = phases.includes("decode") ? "decode" : phases[0];
	const draw = () => {
		page.drawing = true;
		const sections = !phase ? [verdict(page)] : [verdict(page), h("div", { class: "phases" }, choice("phase", "Steps to look at", phases.map(key => [key, label(key), false]), phase, key => { phase = key; draw(); })), rows(page, phase), overTime(page, phase), where(page, phase)];
		fill(main, sections);
		fill(nav, h("ul", null, sections.filter(each => each.id).map(each => h("li", null, h("a", { href: `#${each.id}` }, each.querySelector("h2").textContent)))));
		page.drawing = false;
		page.pending.splice(0).forEach(each => each());
	};
	document.title = "Brick: comparison";
	fill(document.getElementById("page"),
		h("header", null, h("h1", null, "Brick"), h("p", { class: "command" }, "A against B"), h("div", { class: "controls" }, themeButton(() => {}))),
		nav, main, status, h("footer", null, `Made by brick ${data.version}. All times are measured; nothing is derived from shares.`));
	draw();
}
