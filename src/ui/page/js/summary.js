// SPDX-License-Identifier: Apache-2.0
// The head of the page: the run's speed, how its time divides, how far to trust the numbers, and the
// origin of the recording.
import { colour, inOrder } from "./categories.js";
import { h } from "./dom.js";
import { legend, note, section } from "./figure.js";
import * as format from "./format.js";

const figure = (name, value, ...more) => h("div", { class: "figure", "data-figure": name },
	h("dt", null, name), h("dd", null, h("strong", null, value), more.map(line => h("span", null, line))));

const shell = word => (/^[\w\-./=:,+@%]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);

export const commandLine = run => (run.command ?? []).map(shell).join(" ");

// The lines that the first screen of `brick report` begins with.
function head({ head: lines }) {
	const [what, ...others] = lines;
	return h("div", { class: "head" }, h("p", null, h("strong", null, what.text)),
		h("dl", null, others.map(({ label, text }) => [h("dt", null, label), h("dd", null, text)])));
}

function findings({ explain, report }) {
	if (!explain) return null;
	const cost = ({ cost_ns: ns, cost_per_token_ns: each, phase, share, certainty }) =>
		(ns ? `${format.time(each === null ? null : Math.round(each))} a token, ${format.percent(share)} of ${phase} (${certainty})` : `nothing that could be saved in ${phase}`);
	return [
		h("h3", null, "What costs time"),
		explain.findings.length ? h("ol", { class: "findings" }, explain.findings.map(each => h("li", { "data-rule": each.rule },
			h("strong", null, each.what), h("span", null, `costs ${cost(each)}`), h("span", null, each.evidence), h("span", null, `try: ${each.try}`))))
			: h("p", null, "Nothing stands out."),
		explain.left_out ? note(`${format.plural(explain.left_out, "more finding")}: `, h("code", null, `brick explain ${report.run.file ?? ""}`)) : null,
	];
}

const trustLine = ({ trust: { text, limited } }) =>
	h("p", { class: limited ? "trust bad" : "trust" }, h("strong", null, "Trust"), ` ${text}`);

function speed(report) {
	const { prefill, decode, mixed, other, warm_up: warmUp } = report.steps;
	const tokens = phase => (phase.tokens || phase !== other ? `${format.plural(phase.tokens, "token")} in ` : "");
	const steps = phase => `${tokens(phase)}${format.plural(phase.count, "step")}, ${format.time(phase.running_ns || phase.total_ns - phase.unevaluated_ns)}`;
	return h("dl", { class: "figures" },
		decode.count ? figure("Decode", format.tokensPerSecond(decode.tokens_per_s), steps(decode),
			`step mean ${format.time((decode.total_ns - decode.unevaluated_ns) / decode.count)}, p50 ${format.time(decode.p50_ns)}, p95 ${format.time(decode.p95_ns)}${decode.p99_ns === null ? "" : `, p99 ${format.time(decode.p99_ns)}`}`) : null,
		prefill.count ? figure("Prefill", format.tokensPerSecond(prefill.tokens_per_s), steps(prefill)) : null,
		mixed?.count ? figure("Mixed", format.tokensPerSecond(mixed.tokens_per_s), steps(mixed), "tokens of prompts and new ones in one batch") : null,
		other?.count ? figure("Steps", `${format.time((other.total_ns - other.unevaluated_ns) / other.count)} each`, steps(other)) : null,
		warmUp?.count ? figure("Warm-up", format.time(warmUp.total_ns), steps(warmUp), "not part of any rate, nor of the time to the first token") : null,
		report.steps.ttft_ns !== null ? figure("First token", format.time(report.steps.ttft_ns), "from the start of the first prefill") : null,
		figure("Wall time", format.time(report.coverage.wall_ns),
			report.coverage.of === "steps" ? "of all steps" : "of all threads: no steps were recorded",
			`of ${format.time(report.run.wall_ns)} recorded`));
}

function categories(report) {
	const sums = new Map();
	for (const row of report.bricks) sums.set(row.category, (sums.get(row.category) ?? 0) + row.share);
	const shares = [...sums].filter(([, share]) => share > 0).sort(([a], [b]) => inOrder(a, b));
	shares.push(...report.rests.filter(rest => rest.share > 0).map(rest => [rest.name, rest.share]));
	const words = shares.map(([name, share]) => `${name} ${format.percent(share)}`);
	return [
		h("div", { class: "shares", role: "img", "aria-label": `Share of the wall time: ${words.join(", ")}` },
			shares.map(([name, share]) => h("span", {
				style: { width: `${100 * share}%`, background: colour(name) },
				title: `${name} ${format.percent(share)}`,
			}))),
		legend(shares.map(([name], i) => [words[i], colour(name)])),
	];
}

const LOSSES = {
	dropped: "records dropped, because a ring was full",
	open: "executions that never ended",
	unmatched: "ends without a begin",
	clamped: "times that were set to a bound",
	unsupported: "executions that could not be timed",
	truncated: "bytes at the end of the file that could not be read",
	too_deep: "begins nested too deep",
	table_full: "names or threads for which there was no room",
	refused: "records of threads or processes that had no memory or file to record to",
	bad_packets: "packets that could not be used",
	bad_records: "records that broke the rules of their ring",
	lost_processes: "processes that were lost",
	unfinished_processes: "processes whose end, or that of their events, was not recorded",
};

function losses(report) {
	const lost = Object.entries(LOSSES).filter(([key]) => report.losses[key]);
	const lines = lost.map(([key, what]) => `${format.count(report.losses[key])} ${what}`);
	if (report.losses.complete === false) lines.push("The recording was never finished");
	return lines.length ? lines : ["Nothing was lost"];
}

const clean = report => losses(report)[0] === "Nothing was lost";

function waitedFor({ waits }) {
	const named = waits.slice(0, 3).map(wait => wait.kernel ?? (wait.queue ? `queue ${wait.queue}` : "an unknown cause"));
	return named.length ? `, for ${named.join(", ")}` : "";
}

/* Who had the CPUs, and whether the steps' threads did. */
function machine({ presence }) {
	if (presence.cpus_busy === null) return null;
	const neighbour = presence.neighbour ? `, ${presence.neighbour} alone ${format.percent(presence.neighbour_share)}` : "";
	return figure("CPUs", `${format.percent(presence.cpus_busy)} busy`,
		`other processes took ${format.percent(presence.others)}${neighbour}; the host of the machine ${format.percent(presence.steal)}`,
		presence.preempted === null ? "when threads were off their CPUs is not known per brick"
			: `threads that ran steps were preempted for ${format.percent(presence.preempted)} of the steps' time, blocked for ${format.percent(presence.blocked)}`);
}

function cost({ share, low, high, measurable }) {
	if (share === null) return "not measured in this run";
	const interval = `${format.fine(low)} to ${format.fine(high)}`;
	return measurable ? `${interval}: what recording cost this run` : `not measurable on this busy machine: ${interval}`;
}

function trust(report) {
	const { coverage, distortion, run } = report;
	return h("dl", { class: "figures" },
		figure("Coverage", format.percent(coverage.share),
			`${format.time(coverage.unattributed_ns)} of ${format.time(coverage.wall_ns)} in no row`,
			coverage.unknown_operations ? `${format.plural(coverage.unknown_operations, "operation")} that no rule knows` : null),
		report.device ? figure("Device coverage", format.percent(report.device.coverage),
			`of ${format.time(report.device.total_ns)} of commands is of bricks`,
			report.device.wait_ns ? `threads waited ${format.time(report.device.wait_ns)}${waitedFor(report.device)}` : null) : null,
		figure("Distortion", format.fine(distortion.measurable ? distortion.share : null), cost(distortion)),
		machine(report),
		figure("Losses", clean(report) ? "none" : "some", ...losses(report)),
		figure("Clock", run.clock.source, run.clock.residual_ns === null ? "how far it may be off is not known" : `right within ${format.time(Math.max(1, run.clock.residual_ns))}`));
}

function provenance(report) {
	const { run } = report;
	const notes = (run.notes ?? []).map(n => `${n.key}: ${n.value}`);
	const lines = [
		["Command", h("code", null, commandLine(run) || "-")],
		...(report.selected ? [["Only", report.selected]] : []),
		["Recorded", [run.start, run.host ? `on ${run.host}` : null, run.exit_code === null ? null : `exit code ${run.exit_code}`].filter(Boolean).join(", ") || "-"],
		...(run.marks ? [["Marks", run.marks.map(m => `${m.kind === "mark" ? m.text : `recording ${m.kind}`} at ${format.time(m.ns)}`).join("; ")]] : []),
		["Machine", [run.cpu, run.cpus ? format.plural(run.cpus, "CPU") : null].filter(Boolean).join(", ") || "-"],
		["Backends", (run.backends ?? []).join(", ") || "-"],
		["Processes, threads", `${run.processes}, ${run.threads}${run.queues ? ` and ${format.plural(run.queues, "queue")}` : ""}`],
		["Samples", `${format.count(report.coverage.samples)} in the file of ${format.count(report.coverage.executions)} executions`],
		["Distortion by", report.distortion.method ?? "-"],
		["File", h("code", null, run.file ?? "-")],
	];
	return h("details", { class: "provenance", open: true }, h("summary", null, "Where these numbers come from"),
		h("dl", null, lines.map(([name, value]) => [h("dt", null, name), h("dd", null, value)])),
		notes.length ? h("details", null, h("summary", null, format.plural(notes.length, "note")),
			h("ul", null, notes.map(text => h("li", null, text)))) : null);
}

export function summary(page) {
	const report = page.data.report;
	return section("summary", "Summary", head(page.data), trustLine(page.data), findings(page.data), speed(report), categories(page.report()),
		h("h3", null, "How far to trust it"), trust(report), provenance(report),
		report.run.notes?.some(n => n.key === "reset") ? note("The program set its statistics back to zero during the run.") : null);
}
