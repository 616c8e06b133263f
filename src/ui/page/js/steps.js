// SPDX-License-Identifier: Apache-2.0
// Steps over time, stacked by category; prefill and decode apart, as one prefill takes as long as
// many decodes. A cursor moves with the pointer or the arrow keys, and says what it is on.
import { max } from "d3-array";
import { scaleLinear } from "d3-scale";
import { bottom, left } from "./axis.js";
import { colour, inOrder } from "./categories.js";
import { fill, h, s } from "./dom.js";
import { legend, note, section } from "./figure.js";
import * as format from "./format.js";
import { phaseAdjective, phaseLabel } from "./phases.js";
import { behind, plainTable } from "./table.js";
import { hideTip, tipAt, tipOver } from "./tip.js";
import { drawIn } from "./widths.js";

const MARGIN = { top: 16, right: 8, bottom: 34, left: 64 };
const HEIGHT = 230, FEW = 3;

const stacked = phase => [
	...[...phase.categories].sort((a, b) => inOrder(a.name, b.name)),
	{ name: "unattributed", ns: phase.unattributed_ns },
];

const span = (phase, i) => (phase.count[i] > 1
	? `Steps from ${phase.first[i]} on (${phase.count[i]} of them)` : `Step ${phase.first[i]}`);

// Number of the span that holds a step.
function spanOf(phase, number) {
	let i = phase.first.findIndex(first => first > number);
	return (i < 0 ? phase.first.length : i) - 1;
}

function lines(name, phase, i) {
	const n = phase.count[i];
	const parts = stacked(phase).map(c => [c.name, c.ns[i] / n]).filter(([, ns]) => ns > 0).sort((a, b) => b[1] - a[1]);
	return [
		`${span(phase, i)}: ${format.time(Math.round(phase.total_ns[i] / n))}${n > 1 ? " on average" : ""}`,
		...(n > 1 ? [`slowest: step ${phase.max_number[i]}, ${format.time(phase.max_ns[i])}`] : []),
		...(name === "decode" ? [] : [`${phase.tokens[i]} tokens`]),
		`${format.time(phase.begin_ns[i])} after the begin`,
		...parts.map(([category, ns]) => `${category} ${format.time(Math.round(ns))}`),
	];
}

// One path per category: thousands of steps are a handful of elements.
function bars(phase, x, y) {
	const base = new Float64Array(phase.first.length);
	const gap = x(1) - x(0) > 6 ? 1 : 0;
	return stacked(phase).map(category => {
		let d = "";
		for (let i = 0; i < base.length; i++) {
			const ns = category.ns[i] / phase.count[i];
			if (!(ns > 0)) continue;
			d += `M${x(i).toFixed(1)},${y(base[i]).toFixed(1)}V${y(base[i] + ns).toFixed(1)}H${(x(i + 1) - gap).toFixed(1)}V${y(base[i]).toFixed(1)}Z`;
			base[i] += ns;
		}
		return s("path", { d, style: { fill: colour(category.name) }, "data-category": category.name });
	});
}

function picture(page, name, phase, slow, width, cursor) {
	const count = phase.first.length;
	const inner = width - MARGIN.left - MARGIN.right;
	const wide = Math.min(inner, count * 48);
	const x = scaleLinear([0, count], [MARGIN.left, MARGIN.left + wide]);
	const most = max(phase.max_ns) || 1;
	const y = scaleLinear([0, most], [HEIGHT - MARGIN.bottom, MARGIN.top]).nice(4);
	const marks = new Map(slow.map(step => [spanOf(phase, step.number), step]));
	const label = i => (Number.isInteger(i) && i < count ? phase.first[i] : "");
	const svg = s("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, width: "100%", "aria-hidden": "true" },
		left(y, MARGIN.left, 0, 4, ns => format.time(ns), wide),
		bars(phase, x, y),
		phase.steps_per_span > 1 ? s("path", {
			class: "extreme",
			d: phase.max_ns.map((ns, i) => `M${x(i).toFixed(1)},${y(ns).toFixed(1)}H${x(i + 1).toFixed(1)}`).join(""),
		}) : null,
		[...marks].map(([i, step]) => s("path", {
			class: "slow", d: "M0,0l-5,-8h10z", "data-step": step.number,
			transform: `translate(${((x(i) + x(i + 1)) / 2).toFixed(1)},${(y(phase.max_ns[i]) - 1).toFixed(1)})`,
		})),
		bottom(x, 0, HEIGHT - MARGIN.bottom, Math.min(count, Math.max(1, Math.floor(wide / 90))), label),
		s("text", { class: "title", x: MARGIN.left + wide, y: HEIGHT - 2, "text-anchor": "end" }, "step"),
		cursor === null ? null : s("rect", {
			class: "cursor", x: x(cursor), y: MARGIN.top, width: Math.max(1.5, x(cursor + 1) - x(cursor)), height: HEIGHT - MARGIN.top - MARGIN.bottom,
		}));
	const at = event => {
		const box = svg.getBoundingClientRect();
		const i = Math.floor(x.invert((event.clientX - box.left) * width / box.width));
		return i >= 0 && i < count ? i : null;
	};
	return { svg, at };
}

function chart(page, name, phase) {
	const count = phase.first.length;
	const place = h("div");
	let cursor = page.state.cursors[name] ?? null;
	if (cursor !== null && cursor >= count) cursor = null;
	let drawn;
	const slider = h("div", {
		class: "chart", role: "slider", tabindex: "0", "data-key": `steps-${name}`,
		"aria-label": `${phaseAdjective(name)}steps by category; arrow keys move from step to step, Enter shows what it was made of`,
		"aria-valuemin": 0, "aria-valuemax": count - 1,
	}, place);
	const say = () => {
		slider.setAttribute("aria-valuenow", cursor ?? 0);
		slider.setAttribute("aria-valuetext", lines(name, phase, cursor ?? 0).join(", "));
	};
	const move = i => {
		cursor = page.state.cursors[name] = i;
		say();
		drawIn(place, draw);
	};
	const draw = width => {
		drawn = picture(page, name, phase, phase.slow, width, cursor);
		fill(place, drawn.svg);
	};
	const open = i => page.pickStep(phase.count[i] > 1 ? phase.max_number[i] : phase.first[i]);
	slider.addEventListener("keydown", event => {
		const from = cursor ?? -1, page_size = Math.max(1, Math.round(count / 10));
		const to = {
			ArrowRight: from + 1, ArrowUp: from + 1, ArrowLeft: from - 1, ArrowDown: from - 1,
			Home: 0, End: count - 1, PageUp: from + page_size, PageDown: from - page_size,
		}[event.key];
		if (event.key === "Enter" && cursor !== null) open(cursor);
		else if (event.key === "Escape") hideTip();
		else if (to !== undefined) {
			move(Math.max(0, Math.min(count - 1, to)));
			tipAt(slider, lines(name, phase, cursor));
		} else return;
		event.preventDefault();
	});
	slider.addEventListener("blur", hideTip);
	place.addEventListener("pointermove", event => {
		const i = drawn.at(event);
		if (i === null) return hideTip();
		if (i !== cursor) move(i);
		tipOver(event, lines(name, phase, i));
	});
	place.addEventListener("pointerleave", hideTip);
	place.addEventListener("click", event => {
		const i = drawn.at(event);
		if (i !== null) open(i);
	});
	say();
	page.later(() => drawIn(place, draw));
	return slider;
}

function slowList(page, name, phase, factor) {
	if (!phase.slow.length)
		return note(phase.count.reduce((a, b) => a + b, 0) < 3 ? "" : `No ${phaseAdjective(name).toLowerCase()}step took more than ${factor} times the median${name === "prefill" ? " per token" : ""}.`);
	const more = phase.slow_count - phase.slow.length;
	return h("div", { class: "slow-list" },
		h("p", { class: "note" }, `${format.plural(phase.slow_count, "step")} took more than ${factor} times the median${name === "prefill" ? " per token" : ""}:`),
		h("ol", { "aria-label": `Slow ${phaseAdjective(name).toLowerCase()}steps` }, phase.slow.slice(0, 8).map(step => h("li", null,
			h("button", { type: "button", class: "link", "data-key": `slow-${step.number}`, onclick: () => page.pickStep(step.number) }, `step ${step.number}`),
			` ${format.time(step.total_ns)}, ${step.factor.toFixed(1)} times`))),
		phase.slow.length > 8 || more > 0 ? note(`and ${phase.slow_count - Math.min(8, phase.slow.length)} more`) : null);
}

function numbers(name, phase) {
	const parts = stacked(phase);
	return behind(`steps-${name}`, "Numbers", () => plainTable(`${phaseAdjective(name)}steps`,
		["Step", "Steps", "Tokens", "Total", "Slowest", ...parts.map(c => c.name)],
		phase.first.map((first, i) => [String(first), String(phase.count[i]), String(phase.tokens[i]),
			format.time(phase.total_ns[i]), format.time(phase.max_ns[i]), ...parts.map(c => format.time(c.ns[i]))])));
}

export function steps(page) {
	const { steps: data } = page.data;
	const shown = ["prefill", "decode", "mixed", "other", "warm_up"].filter(name => data[name]?.first.length && ["all", name].includes(page.state.phase));
	if (!shown.length) return section("steps", "Steps", note("No step that ended was recorded."));
	const names = new Set(shown.flatMap(name => stacked(data[name]).map(c => c.name)));
	return section("steps", "Steps over time",
		note("Each column is a step, stacked by the categories of its wall time; ",
			h("span", { class: "slow-sign", "aria-hidden": "true" }, "▼"), " marks the slow ones."),
		legend([...names].sort(inOrder).map(name => [name, colour(name)])),
		// A few prefills stand beside the many decodes.
		h("div", { class: shown.length === 2 && data.prefill.first.length <= FEW ? "beside" : null }, shown.map(name => h("div", { class: "phase" },
			h("h3", null, phaseLabel(name),
				data[name].steps_per_span > 1 ? h("small", null, ` ${data[name].steps_per_span} steps a column, their average; the line is the slowest of them`) : null),
			chart(page, name, data[name]), slowList(page, name, data[name], data.slow_factor), numbers(name, data[name])))));
}
