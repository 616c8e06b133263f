// SPDX-License-Identifier: Apache-2.0
// The page: reads its numbers, keeps the reader's choices, and draws the sections, the comparison of
// `brick diff`, or the ranks of a job. All numbers come from the JSON in the document (schema brick/page/3), or from the same
// JSON that `brick serve` sends again while a process runs.
import { bricks, places } from "./bricks.js";
import { fill, h } from "./dom.js";
import { choice } from "./figure.js";
import { compare } from "./compare.js";
import { context } from "./context.js";
import { comparison } from "./comparison.js";
import { flame } from "./flame.js";
import { inside, notable } from "./inside.js";
import { layers } from "./layers.js";
import { durations } from "./durations.js";
import { follow } from "./live.js";
import { path } from "./path.js";
import { jobPage, ranks } from "./ranks.js";
import { roofline } from "./roofline.js";
import { scaling } from "./scaling.js";
import { slots } from "./slots.js";
import { steps } from "./steps.js";
import { PHASES } from "./phases.js";
import { commandLine, summary } from "./summary.js";
import { themeButton } from "./theme.js";
import { Steps } from "./single.js";
import { Slices } from "./slices.js";
import { tiles } from "./tiles.js";
import { timeline } from "./timeline.js";
import { hideTip } from "./tip.js";

class Page {
	constructor(data) {
		this.take(data);
		this.state = {
			phase: PHASES.map(([key]) => key).find(key => data.report.by_phase?.[key]) ?? "all", brick: null, step: null, filter: "", heat: "all", columns: "main",
			sort: { key: "share", direction: -1 }, sorts: {}, cursors: {}, zoom: { step: null, id: 0 }, compareZoom: { id: 0 },
			range: { from: 0, to: this.slices.wall },
		};
		this.listeners = new Map();
		this.pending = [];
		this.main = h("main", { id: "main", tabindex: "-1" });
		this.status = h("div", { class: "hidden", role: "status" });
		this.announce = text => { this.status.textContent = text; };
		this.checkChoices();
	}

	take(data) {
		const { steps, slices } = this;
		this.data = data;
		this.steps = new Steps(data);
		this.slices = new Slices(data);
		// What a recording held once stays; a session shows its last moments only.
		if (!steps || !data.served || !data.report.run.file) return;
		this.steps.adopt(steps);
		this.slices.adopt(slices);
	}

	// Of bricks by name.
	categories() {
		return new Map(this.data.report.bricks.map(row => [row.name, row.category]));
	}

	// What was chosen must exist.
	checkChoices() {
		const { report } = this.data, { steps, state } = this;
		if (!this.hasPhase(state.phase)) state.phase = "all";
		if (!report.bricks.some(row => row.name === this.state.brick)) this.state.brick = this.report().bricks[0]?.name ?? null;
		if (!steps.has(state.step) || (state.phase !== "all" && steps.phaseOf(state.step) !== state.phase)) state.step = notable(this)[0]?.number ?? steps.of_phase(state.phase)[0] ?? null;
	}

	hasPhase(phase) {
		return phase === "all" || Boolean(this.data.report.by_phase?.[phase]);
	}

	// The rows of the phase that was chosen, and time in none of them.
	report() {
		return this.data.report.by_phase?.[this.state.phase] ?? this.data.report;
	}

	on(event, listener) {
		this.listeners.set(event, [...(this.listeners.get(event) ?? []), listener]);
	}

	emit(event) {
		this.listeners.get(event)?.forEach(listener => listener());
	}

	// Charts are drawn when their places are in the document and have a width.
	later(draw) {
		if (this.drawing) this.pending.push(draw);
		else draw();
	}

	pickBrick(name) {
		this.state.brick = name;
		this.emit("brick");
		this.announce(`${name} is shown below`);
	}

	// follow: also bring it into view.
	pickStep(number, follow = true) {
		const { state, steps } = this, phase = steps.phaseOf(number);
		if (!steps.has(number)) {
			this.announce(`Step ${number} is not in this page; brick tree --step ${number} shows it`);
			this.emit("step");
			return;
		}
		if (state.phase !== "all" && phase !== state.phase) {
			state.step = number;
			this.pickPhase(phase);
		} else {
			state.step = number;
			this.emit("step");
		}
		if (follow) document.getElementById("step").scrollIntoView({ block: "nearest" });
		this.announce(`Step ${number} is shown below`);
	}

	pickPhase(phase) {
		this.state.phase = phase;
		this.checkChoices();
		this.draw();
	}

	update(data) {
		const { state } = this, whole = state.range.from === 0 && state.range.to === this.slices.wall;
		this.take(data);
		if (whole || state.range.to > this.slices.wall) state.range = { from: 0, to: this.slices.wall };
		this.checkChoices();
		this.draw();
	}

	sections() {
		return [
			summary(this),
			h("div", { class: "phases" }, choice("phase", "Steps to look at",
				[...PHASES.filter(([key]) => this.hasPhase(key) || !["mixed", "warm_up", "other"].includes(key))
					.map(([key, label]) => [key, label, !this.hasPhase(key)]), ["all", "All steps", false]],
				this.state.phase, phase => this.pickPhase(phase)),
			h("span", { class: "hint" }, "for all below")),
			bricks(this), durations(this), steps(this), timeline(this), slots(this), inside(this), compare(this), context(this), scaling(this), layers(this), roofline(this), path(this), ranks(this), flame(this), tiles(this),
			places(this, "kernels", "Kernels", "What was launched on devices."),
			places(this, "queues", "Queues", "Device queues and what ran on them."),
			places(this, "threads", "Threads", "The thread that runs the steps stands for their wall time; what others do is alongside."),
		].filter(Boolean);
	}

	draw() {
		hideTip();
		this.listeners.clear();
		const view = keepView(this.main);
		this.drawing = true;
		const sections = this.sections();
		fill(this.main, sections);
		fill(this.nav, h("ul", null, sections.filter(each => each.id).map(each =>
			h("li", null, h("a", { href: `#${each.id}` }, each.querySelector("h2").textContent)))));
		this.drawing = false;
		const pending = this.pending;
		this.pending = [];
		pending.forEach(draw => draw());
		view.restore();
	}
}

// Keeps open parts and the place of scrolling while everything is drawn anew.
function keepView(main) {
	const name = details => details.querySelector("summary").textContent;
	const open = new Map([...main.querySelectorAll("details")].map(each => [`${each.closest("section").id} ${name(each)}`, each.open]));
	const scrolled = new Map([...main.querySelectorAll(".scroll")].map(each => [each.getAttribute("aria-label"), [each.scrollLeft, each.scrollTop]]));
	main.style.minHeight = `${main.offsetHeight}px`;
	return {
		restore() {
			for (const each of main.querySelectorAll("details")) each.open = open.get(`${each.closest("section").id} ${name(each)}`) ?? each.open;
			for (const each of main.querySelectorAll(".scroll"))
				[each.scrollLeft, each.scrollTop] = scrolled.get(each.getAttribute("aria-label")) ?? [0, 0];
			main.style.minHeight = "";
		},
	};
}

// The state of a served page's connection, and the button that holds the page still.
function liveControls(page) {
	if (!page.data.served) return [];
	const now = () => (page.data.live ? "Live" : "Ended");
	const said = h("span", { class: "live", role: "status" }, now());
	const follower = follow(page, (text, good) => {
		said.textContent = text;
		said.classList.toggle("bad", !good);
	});
	const hold = h("button", { type: "button", id: "hold", class: "plain", "aria-pressed": "false" }, "Hold");
	hold.addEventListener("click", () => {
		const held = hold.getAttribute("aria-pressed") !== "true";
		hold.setAttribute("aria-pressed", String(held));
		follower.pause(held);
		said.textContent = held ? "Held" : now();
	});
	return [said, hold];
}

function start() {
	const data = JSON.parse(document.getElementById("data").textContent);
	if (data.schema.startsWith("brick/diff-page/")) return comparison(data);
	if (data.schema.startsWith("brick/ranks-page/")) return jobPage(data);
	const page = new Page(data);
	page.nav = h("nav", { "aria-label": "Sections" });
	const line = commandLine(data.report.run);
	document.title = `Brick: ${line || data.report.run.file || "a process"}`;
	fill(document.getElementById("page"),
		h("header", null, h("h1", null, "Brick"), h("p", { class: "command", title: line }, h("code", null, line || data.report.run.file || "a process")),
			h("div", { class: "controls" }, liveControls(page), themeButton(() => page.emit("theme")))),
		page.nav, page.main, page.status,
		h("footer", null, `Made by brick ${data.version}${data.report.run.file ? ` from ${data.report.run.file}` : ""}. All times are measured; nothing is derived from shares.`));
	page.draw();
	matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => page.emit("theme"));
	return page;
}

start();
document.documentElement.dataset.ready = "true";
