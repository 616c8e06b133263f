// SPDX-License-Identifier: Apache-2.0
// The ranks of a job: how each divides its time into work and waiting, which one is late and in which
// brick, and the critical path across them over time (schema brick/ranks/1, as `brick report --json`).
import { max, sum } from "d3-array";
import { scaleLinear } from "d3-scale";
import { bottom } from "./axis.js";
import { colour, inOrder } from "./categories.js";
import { fill, h, s } from "./dom.js";
import { legend, note, section } from "./figure.js";
import { fit } from "./fit.js";
import * as format from "./format.js";
import { behind, plainTable, table } from "./table.js";
import { themeButton } from "./theme.js";
import { hideTip, tipOver } from "./tip.js";
import { drawIn } from "./widths.js";

const ROW = 22, FOOT = 30, SHOWN = 48, ON_PATH = 16;
const WORK = "var(--accent)", WAITED = "var(--worse)", JOINED = "var(--wait)";

const nameOf = ({ rank, host }) => `rank ${rank}${host ? ` ${host}` : ""}`;
const marginOf = width => ({ left: Math.min(150, width / 3), right: 12 });
const longerIn = row => (!row.longer_ns ? null : row.was_preempted ? "(preempted)" : row.longer_in ?? "(no brick)");

const label = (text, i, margin, is_late) => s("text", { x: margin.left - 8, y: i * ROW + ROW / 2 + 4, "text-anchor": "end", "aria-hidden": "true", class: is_late ? "late" : null }, fit(text, margin.left - 12));

const words = row => [
	`${nameOf(row)}${row.is_late ? ", late" : ""}`, `worked ${format.time(row.work_ns)}`, `waited ${format.time(row.waited_ns)} for others, ${format.time(row.exposed_ns - row.waited_ns)} in collectives to which all had come`,
	`others waited ${format.time(row.caused_ns)} for it`, longerIn(row) ? `took ${format.time(row.longer_ns)} longer in ${longerIn(row)}` : null, row.path_ns === null ? null : `${format.time(row.path_ns)} of the critical path`,
].filter(Boolean);

function balance(rows, width) {
	const margin = marginOf(width), x = scaleLinear([0, max(rows, row => row.work_ns + row.exposed_ns)], [margin.left, width - margin.right]);
	const parts = row => [[row.work_ns, WORK], [row.waited_ns, WAITED], [row.exposed_ns - row.waited_ns, JOINED]];
	return s("svg", { viewBox: `0 0 ${width} ${rows.length * ROW + FOOT}`, width: "100%", role: "img", "aria-label": rows.map(row => words(row).join(", ")).join("; ") },
		rows.map((row, i) => {
			let at = 0;
			return s("g", { "data-rank": row.rank, onpointermove: event => tipOver(event, words(row)), onpointerleave: hideTip },
				label(`${row.is_late ? "▲ " : ""}${nameOf(row)}`, i, margin, row.is_late),
				parts(row).map(([ns, paint]) => s("rect", { x: x(at).toFixed(1), width: (x(at += ns) - x(at - ns)).toFixed(1), y: i * ROW + 3, height: ROW - 6, style: { fill: paint }, "data-ns": ns })));
		}), bottom(x, 0, rows.length * ROW + 2, Math.max(2, Math.floor(width / 140)), format.time));
}

// Rows of the strip: ranks with the most of the path, all others, and what is on no rank.
function tracks({ strip }) {
	const whole = track => sum(track.ns), apart = [...strip.ranks].sort((a, b) => whole(b) - whole(a)), rest = apart.slice(ON_PATH);
	const all = [...strip.ranks.filter(each => !rest.includes(each)).map(({ rank, ns, bricks }) => ({ name: `rank ${rank}`, ns, bricks }))];
	const others = strip.others_ns.map((ns, i) => ns + sum(rest, each => each.ns[i]));
	for (const [name, ns, paint] of [["other ranks", others, "var(--none)"], ["in collectives", strip.exchange_ns, JOINED], ["messages", strip.message_ns, JOINED]])
		if (ns.some(value => value)) all.push({ name, ns, paint });
	return all;
}

function paintOf({ strip }, track, i) {
	return track.paint ?? colour(strip.bricks[track.bricks[i]]?.category);
}

function stripPicture(path, all, width) {
	const { strip } = path, margin = marginOf(width), x = scaleLinear([0, path.whole_ns], [margin.left, width - margin.right]);
	const end = i => x(Math.min(path.whole_ns, (i + 1) * strip.column_ns));
	const shapes = (track, row) => {
		const by = new Map();
		track.ns.forEach((ns, i) => {
			if (!ns) return;
			const high = Math.max(1, Math.min(1, ns / strip.column_ns) * (ROW - 4)), low = (row + 1) * ROW - 2, paint = paintOf(path, track, i);
			by.set(paint, `${by.get(paint) ?? ""}M${x(i * strip.column_ns).toFixed(1)},${low}V${(low - high).toFixed(1)}H${end(i).toFixed(1)}V${low}Z`);
		});
		return [...by].map(([paint, d]) => s("path", { d, style: { fill: paint } }));
	};
	const tip = (event, track) => {
		const area = event.currentTarget.ownerSVGElement.getBoundingClientRect();
		const i = Math.floor(x.invert((event.clientX - area.left) * width / area.width) / strip.column_ns);
		if (!(track.ns[i] > 0)) return hideTip();
		return tipOver(event, [track.name, `${format.time(track.ns[i])} of the ${format.time(strip.column_ns)} at ${format.time(i * strip.column_ns)}`, track.bricks ? `most in ${strip.bricks[track.bricks[i]]?.name ?? "no brick"}` : null].filter(Boolean));
	};
	return s("svg", { viewBox: `0 0 ${width} ${all.length * ROW + FOOT}`, width: "100%", role: "img", "aria-label": `Critical path of ${format.time(path.whole_ns)}: ${all.map(track => `${track.name} ${format.percent(sum(track.ns) / path.whole_ns)}`).join(", ")}` },
		all.map((track, i) => s("g", { "data-track": track.name, onpointermove: event => tip(event, track), onpointerleave: hideTip },
			s("rect", { x: margin.left, width: width - margin.left - margin.right, y: i * ROW, height: ROW, fill: "transparent" }), label(track.name, i, margin), shapes(track, i))),
		bottom(x, 0, all.length * ROW + 2, Math.max(2, Math.floor(width / 140)), format.time));
}

function criticalPath(page, path) {
	if (!path) return null;
	const all = tracks(path), place = h("div", { class: "chart", id: "rank-path" });
	const categories = [...new Set(path.strip.bricks.map(({ category }) => category))].sort(inOrder);
	page.later(() => drawIn(place, width => fill(place, stripPicture(path, all, width))));
	return h("div", { class: "phase" }, h("h3", null, "The critical path over time"),
		note("Where the rank works that all others wait for, directly or through others: as high as its part of that moment. A brick that is faster elsewhere makes the job no shorter."),
		legend([...categories.map(name => [name, colour(name)]), ["no brick", colour(null)], ["in collectives after all had come, and messages on the way", JOINED]]), place,
		behind("rank-path", "Numbers", () => plainTable("Parts of the critical path", ["Rank", "Brick", "Time", "Part"],
			path.parts.map(part => [String(part.rank), part.brick ?? "(no brick)", format.time(part.ns), format.percent(part.ns / path.whole_ns)]))));
}

const columns = [
	{ key: "rank", title: "Rank", get: row => row.rank },
	{ key: "host", title: "Host", text: true, get: row => row.host },
	{ key: "steps", title: "Steps", get: row => row.steps, show: format.count },
	{ key: "tokens_per_s", title: "Tokens/s", get: row => row.tokens_per_s, show: format.number },
	{ key: "work_ns", title: "Work", about: "From collective to collective, without waiting", get: row => row.work_ns, show: format.time },
	{ key: "exposed_ns", title: "Wait", about: "Waiting for collectives and for ranks to send", get: row => row.exposed_ns, show: format.time },
	{ key: "waited_ns", title: "For others", about: "Part of the wait: for a rank that had not come, or sent", get: row => row.waited_ns, show: format.time },
	{ key: "last", title: "Last", about: "Collectives to which it came last", get: row => row.last, show: format.count },
	{ key: "caused_ns", title: "Others waited", about: "For it, added up", get: row => row.caused_ns, show: format.time },
	{ key: "is_late", title: "Late", text: true, about: "It had more work than the others, beyond chance", get: row => (row.is_late === null ? null : row.is_late ? "late" : "no"), show: value => h("span", { class: value === "late" ? "verdict slower" : null }, value ?? format.UNKNOWN) },
	{ key: "longer_ns", title: "Longer", about: "Than the others, before it came last", get: row => row.longer_ns, show: format.time },
	{ key: "longer_in", title: "In", text: true, get: longerIn },
	{ key: "path_ns", title: "On path", about: "Of the critical path: it worked", get: row => row.path_ns, show: format.time },
	{ key: "clock_bound_ns", title: "Clock to", about: "Its clock is aligned to within this", get: row => row.clock_bound_ns, show: format.time },
];

function worstSteps({ steps }) {
	if (!steps?.worst.length) return null;
	return h("div", { class: "phase" }, h("h3", null, "The steps in which others waited longest"),
		note(`${format.plural(steps.count, "step")} with collectives; imbalance ${format.percent(steps.imbalance)} (median), ${format.percent(steps.imbalance_most)} at most: by so much more than the mean the rank with the most work has.`),
		plainTable("Worst steps", ["Step", "Others waited", "Imbalance", "For rank", "Longer", "In"], steps.worst.map(step => [String(step.number), format.time(step.waited_ns), format.percent(step.imbalance), String(step.late), format.time(step.longer_ns), longerIn(step) ?? format.UNKNOWN])));
}

export function ranks(page) {
	const job = page.data.ranks;
	if (!job) return null;
	const known = job.ranks.filter(row => row.work_ns !== null && row.exposed_ns !== null);
	const shown = [...known].sort((a, b) => b.caused_ns - a.caused_ns).slice(0, SHOWN).sort((a, b) => a.rank - b.rank);
	const place = h("div", { class: "chart", id: "rank-balance" }), rows = h("div", { id: "rank-rows" });
	const has = column => job.ranks.some(row => column.get(row) !== null && column.get(row) !== undefined);
	page.rankSort ??= { key: "rank", direction: 1 };
	table(rows, columns.filter(has), job.ranks, page.rankSort, { caption: "Ranks", key: row => String(row.rank), announce: page.announce });
	if (shown.length) page.later(() => drawIn(place, width => fill(place, balance(shown, width))));
	return section("ranks", "Ranks",
		note("The last rank to come to a collective makes the others wait. A rank is late (▲) if it has more work than the others in most stretches of the run, beyond chance."),
		shown.length ? [legend([["work", WORK], ["waiting for a rank that had not come or sent", WAITED], ["in collectives to which all had come", JOINED]]), place] : null,
		known.length > shown.length ? note(`${format.plural(known.length - shown.length, "more rank")}, for which others waited less, are in the table.`) : null,
		rows, criticalPath(page, job.path), worstSteps(job));
}

// The page of a job, each rank of which has a recording (schema brick/ranks-page/1).
export function jobPage(data) {
	const status = h("div", { class: "hidden", role: "status" }), { head, ranks: job } = data, [what, ...others] = head;
	const page = { data, pending: [], announce: text => { status.textContent = text; }, later: draw => page.pending.push(draw) };
	const sections = [
		section("summary", what.text, h("div", { class: "head" }, h("dl", null, others.map(({ label: name, text }) => [h("dt", null, name), h("dd", null, text)]))),
			h("details", { class: "provenance" }, h("summary", null, "Recordings"), h("dl", null, job.ranks.map(row => [h("dt", null, `rank ${row.rank}`), h("dd", null, h("code", null, row.recording))])))),
		ranks(page),
	];
	document.title = "Brick: ranks of a job";
	fill(document.getElementById("page"),
		h("header", null, h("h1", null, "Brick"), h("p", { class: "command" }, "Ranks of a job"), h("div", { class: "controls" }, themeButton(() => {}))),
		h("nav", { "aria-label": "Sections" }, h("ul", null, sections.map(each => h("li", null, h("a", { href: `#${each.id}` }, each.querySelector("h2").textContent))))),
		h("main", { id: "main", tabindex: "-1" }, sections), status, h("footer", null, `Made by brick ${data.version}. All times are measured; nothing is derived from shares.`));
	page.pending.splice(0).forEach(draw => draw());
}
