// SPDX-License-Identifier: Apache-2.0
// The critical path: the work that decided the steps' time, and the gain from a faster brick.
import { scaleLinear } from "d3-scale";
import { bottom } from "./axis.js";
import { colour } from "./categories.js";
import { fill, h, s } from "./dom.js";
import { note, section } from "./figure.js";
import * as format from "./format.js";
import { table } from "./table.js";
import { hideTip, tipOver } from "./tip.js";
import { phaseLabel } from "./phases.js";
import { drawIn } from "./widths.js";

const LANE = 24, MARGIN = { left: 90, right: 12, bottom: 26 };

function gain(value, before) {
	if (value === null || before === null) return format.UNKNOWN;
	const more = format.percent(value / before - 1);
	return `${format.number(value)} (${more.startsWith("<") ? more : `+${more}`})`;
}

const columns = before => [
	{
		key: "name", title: "Brick", text: true, get: row => row.name,
		show: (name, row) => [h("span", { class: "swatch", "aria-hidden": "true", style: { background: colour(row.category) } }), name],
	},
	{
		key: "on_path_share", title: "On the path", get: row => row.on_path_share,
		about: "Part of the path that lies in this brick",
		show: (share, row) => [h("span", { class: "bar", "aria-hidden": "true" },
			h("span", { style: { width: `${100 * (share ?? 0)}%`, background: colour(row.category) } })), h("span", { class: "percent" }, format.percent(share))],
	},
	{ key: "on_path_ns", title: "Time on it", get: row => row.on_path_ns, show: (ns, row) => format.estimate(ns, row.estimated) },
	{ key: "own_ns", title: "Own time", about: "Of all threads, less what is nested", get: row => row.own_ns, show: (ns, row) => format.estimate(ns, row.estimated) },
	{ key: "slack", title: "Slack", about: "How much longer an execution could have taken without delaying the steps, on average", get: row => row.slack.mean_ns, show: format.time },
	{ key: "less", title: "10% faster", about: "Tokens per second if it took 10% less time", get: row => row.slack.mean_ns === null ? null : row.ten_percent_less.tokens_per_s, show: value => gain(value, before) },
	{ key: "nothing", title: "For free", about: "Tokens per second if it took no time: the most there is to win", get: row => row.slack.mean_ns === null ? null : row.nothing.tokens_per_s, show: value => gain(value, before) },
];

const WORTH = 0.0005;

function opportunities(page, path) {
	const place = h("div");
	const name = path.phase ? phaseLabel(path.phase).toLowerCase() : "run";
	page.state.sorts[`path-${name}`] ??= { key: "on_path_share", direction: -1 };
	table(place, columns(path.tokens_per_s), path.bricks.filter(row => row.on_path_share > WORTH), page.state.sorts[`path-${name}`],
		{ caption: `Critical path of ${name}`, key: row => row.name, announce: page.announce });
	const best = [...path.bricks].filter(row => row.ten_percent_less.tokens_per_s)
		.sort((a, b) => b.ten_percent_less.tokens_per_s - a.ten_percent_less.tokens_per_s)[0];
	const rest = path.bricks.filter(row => row.on_path_share <= WORTH).length;
	return h("div", { class: "phase" }, h("h3", null, path.phase ? phaseLabel(path.phase) : "The whole run"),
		note(`${format.time(path.path_ns)} in ${format.plural(path.steps, "step")}`,
			path.tokens_per_s === null ? "" : `, ${format.tokensPerSecond(path.tokens_per_s)}`,
			path.threads.length > 1 ? `; it changes between ${path.threads.length} threads and queues ${format.plural(path.switches, "time")}` : "; one thread did all of it",
			path.known.unknown_wait_ns ? `; ${format.time(path.known.unknown_wait_ns)} of waiting for something that was not recorded` : "", "."),
		best ? h("p", { class: "best" }, "Best opportunity: ", h("strong", null, best.name), ` 10% faster gives ${gain(best.ten_percent_less.tokens_per_s, path.tokens_per_s)} tokens/s`) : null,
		place, rest ? note(`${format.plural(rest, "brick")} with less than ${format.percent(WORTH)} of the path left out.`) : null);
}

const lane = (path, hop) => path.threads[hop.thread]?.name || `thread ${hop.tid}`;

const words = (path, hop) => [
	hop.name, format.estimate(hop.time_ns, hop.is_estimated), hop.layer === null ? null : `layer ${hop.layer}`,
	[hop.operation, hop.label].filter(Boolean).join(" ") || null, lane(path, hop),
].filter(Boolean);

function timeline(page, path) {
	const hops = path.path;
	const lanes = [...new Set(hops.map(hop => hop.thread))];
	const label = thread => lane(path, hops.find(hop => hop.thread === thread)).slice(0, 12);
	const categories = new Map(page.data.report.bricks.map(row => [row.name, row.category]));
	const end = Math.max(...hops.map(hop => hop.begin_ns + hop.time_ns));
	const draw = width => {
		const x = scaleLinear([0, end], [MARGIN.left, width - MARGIN.right]);
		const height = lanes.length * LANE + MARGIN.bottom;
		return s("svg", {
			viewBox: `0 0 ${width} ${height}`, width: "100%", role: "img",
			"aria-label": `Critical path of step ${path.step}: ${format.plural(hops.length, "part")} on ${format.plural(lanes.length, "lane")}`,
		}, lanes.map((thread, i) => s("text", { class: "title", x: 0, y: i * LANE + 15 }, label(thread))),
		hops.map(hop => s("rect", {
			x: x(hop.begin_ns).toFixed(1), width: Math.max(0.4, x(hop.begin_ns + hop.time_ns) - x(hop.begin_ns)).toFixed(1),
			y: lanes.indexOf(hop.thread) * LANE, height: LANE - 4, class: "hop", style: { fill: colour(categories.get(hop.name) ?? null) },
			onpointermove: event => tipOver(event, words(path, hop)), onpointerleave: hideTip,
		})), bottom(x, 0, lanes.length * LANE, Math.floor(width / 140), ns => format.time(Math.round(ns))));
	};
	const place = h("div", { class: "chart" });
	page.later(() => drawIn(place, width => fill(place, draw(width))));
	const longest = [...hops].sort((a, b) => b.time_ns - a.time_ns).slice(0, 8);
	return h("div", { class: "phase" }, h("h3", null, `The path of step ${path.step}, the median decode`), place,
		h("ol", { class: "hops", "aria-label": "Its longest parts" }, longest.map(hop => h("li", null, words(path, hop).join(", ")))));
}

export function path(page) {
	const { all, median_decode: median } = page.data.path;
	if (!all?.sections?.length) return section("path", "Critical path", note("Nothing was recorded that has a path."));
	const wanted = all.sections.filter(each => page.state.phase === "all" || !each.phase || each.phase === page.state.phase);
	const one = median?.sections?.find(each => each.path?.length);
	return section("path", "Critical path",
		note("The critical path is the work that decided how long the steps took. Slack is how much longer other work could have taken without delaying them. The last two columns come from running the schedule again with a faster brick."),
		wanted.map(each => opportunities(page, each)), one && page.state.phase !== "prefill" ? timeline(page, one) : null);
}
