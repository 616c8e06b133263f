/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One function per rule makes the sentences of its findings; both forms print them. Of JSON that
 * would be too long, the findings that cost least are left out.
 */
#include "ui/text/explain_view.h"

#include <stdlib.h>

#include "analysis/cost/losses.h"
#include "ui/text/json_out.h"
#include "ui/text/terminal.h"
#include "ui/text/text.h"
#include "ui/text/step_number.h"

enum { LABEL = 11 };

/* Fill in a text of the words. */
#define fill(member, ...) snprintf((w)->member, sizeof((w)->member), __VA_ARGS__)

#define WORDS(rule)                                                              \
	static void rule(struct finding_words *w, const struct explain_facts *f, \
		const struct explain_phase *phase, const struct finding *finding)

/* Of a brick's name so many bytes are shown. */
#define NAME "%.47s"

static void say_preempted(
	struct finding_words *w, const struct explain_phase *phase, const struct finding *finding)
{
	char part[UNITS_BYTES];

	fill(what, "threads lost their CPUs during %s of the critical path",
		units_percent(part, explain_share(finding->cost_ns, phase->wall_ns)));
	fill(show, "brick path");
}

WORDS(preempted_by_others)
{
	const struct machine_use *use = &f->run->machine;
	char others[UNITS_BYTES], most[UNITS_BYTES], alone[96] = "";

	say_preempted(w, phase, finding);
	if (use->neighbour[0])
		snprintf(alone, sizeof(alone), ", %.48s alone %s", use->neighbour,
			units_percent(most, f->presence.neighbour));
	fill(evidence, "the kernel's context switches; other programs used %s of all CPUs%s",
		units_percent(others, f->presence.others), alone);
	w->advice = "stop the other programs, or keep them off these CPUs (taskset, nice, cpusets)";
}

WORDS(oversubscribed)
{
	size_t threads = finding->of.oversubscribed.threads;
	uint32_t cpus = finding->of.oversubscribed.cpus;
	char busy[UNITS_BYTES];

	say_preempted(w, phase, finding);
	if (finding->of.oversubscribed.is_crowded)
		fill(evidence,
			"%zu threads took part, and had %u CPU%s to run on; other programs used %s "
			"of all CPUs",
			threads, cpus, plural_s(cpus), units_percent(busy, f->presence.others));
	else
		fill(evidence,
			"%zu thread%s took part, of %u CPUs %s was in use, and no other program "
			"used enough to explain it: the program's own threads share CPUs",
			threads, plural_s(threads), f->run->cpus,
			units_percent(busy, f->presence.busy));
	w->advice = "run no more threads than there are CPUs for it (-t N), and see which CPUs it "
		    "may use (taskset -p, the cgroup's cpuset)";
}

WORDS(blocked)
{
	const struct summary_row *most = finding->of.blocked;
	char ns[UNITS_BYTES];

	fill(what, "bricks slept instead of computing, most in " NAME, most->name);
	fill(evidence,
		"the kernel says that the thread blocked, %s on all threads in " NAME
		"; no wait that Brick knows explains it",
		units_time(ns, most->blocked_ns), most->name);
	w->advice = "look for page faults that read from disk, locks and sleeps there (perf trace "
		    "-s, --mlock), and whether it was stopped (^Z, a debugger)";
	fill(show, "brick report --columns +BLOCKED");
}

WORDS(barrier_waits)
{
	const struct summary_row *most = finding->of.barrier_waits.most;
	char all[UNITS_BYTES], behind[UNITS_BYTES];

	fill(what, "threads wait for one another at barriers, most behind " NAME, most->name);
	fill(evidence,
		"%zu threads waited %s in all, %s of it behind " NAME
		"; the cost leaves out when one of them was preempted",
		finding->of.barrier_waits.threads,
		units_time(all, finding->of.barrier_waits.waited_ns),
		units_time(behind, most->wait_ns), most->name);
	w->advice = "try fewer threads, threads on cores of one kind, and no two on one core (-t "
		    "N, --cpu-mask)";
	fill(show, "brick report --by thread");
}

WORDS(ran_on_cpu)
{
	const struct summary_row *most = finding->of.ran_on_cpu.most;
	char ns[UNITS_BYTES], busy[UNITS_BYTES];

	fill(what, "operations ran on the CPU beside a device, most of all " NAME, most->name);
	fill(evidence,
		"%llu executions on threads, %s of it in " NAME
		", none of them launched anything; the device was busy %s",
		(unsigned long long)finding->of.ran_on_cpu.executions,
		units_time(ns, most->wall_ns), most->name, units_time(busy, phase->queue->busy_ns));
	w->advice = "offload those layers too (-ngl), or use a type that the device's backend has "
		    "a kernel for";
	fill(show, "brick tree --step %s", step_phase_name(finding->phase));
}

WORDS(copies)
{
	char between[UNITS_BYTES], in[UNITS_BYTES], back[UNITS_BYTES], size[UNITS_BYTES];

	fill(what, "the engine's thread copies between backends");
	fill(evidence,
		"its time: between backends %s, to the device %s, back %s; %llu transfers of %s",
		units_time(between, finding->of.copies.between_ns),
		units_time(in, finding->of.copies.in_ns),
		units_time(back, finding->of.copies.out_ns),
		(unsigned long long)finding->of.copies.transfers,
		units_bytes(size, finding->of.copies.bytes));
	w->advice = "keep whole blocks on one device (-ngl, --override-tensor), and logits of the "
		    "last token only";
	fill(show, "brick report --by queue");
}

WORDS(launch_bound)
{
	const struct queue_time *q = phase->queue;
	uint64_t record_ns = finding->of.launch_bound.record_ns;
	char idle[UNITS_BYTES], mean[UNITS_BYTES], host[UNITS_BYTES];

	fill(what, "the device waits for the host: idle for %s of the %s steps",
		units_percent(idle, explain_share(finding->of.launch_bound.idle_ns, q->wall_ns)),
		step_phase_name(finding->phase));
	fill(evidence,
		"%llu commands a step, of %s each; the host spent %s in recording and launching",
		(unsigned long long)(q->commands / phase->steps),
		units_time(mean, q->busy_ns / q->commands),
		record_ns ? units_time(host, record_ns) : "an unknown time");
	w->advice = "launch less: graphs (GGML_CUDA_GRAPHS), flash attention (-fa), larger "
		    "batches; or give the host's thread a faster core of its own";
	fill(show, "brick report --by queue");
}

WORDS(prompt_repeated)
{
	fill(what, "prompts are evaluated that had been evaluated before");
	fill(evidence,
		"%llu tokens in %llu of %llu steps are the beginning of an earlier batch, token by "
		"token at the same positions; the cost is what those steps took",
		(unsigned long long)finding->of.prompt_repeated.tokens,
		(unsigned long long)finding->of.prompt_repeated.steps,
		(unsigned long long)phase->steps);
	w->advice = "keep the KV cache of what prompts share (cache_prompt, --cache-reuse, one "
		    "slot per conversation)";
	fill(show, "brick report --by phase");
}

WORDS(sampling)
{
	uint64_t calls = finding->of.sampling.calls;
	char ns[UNITS_BYTES], part[UNITS_BYTES];

	fill(what, "sampling takes %s of the time of a token",
		units_percent(part, explain_share(finding->cost_ns, phase->wall_ns)));
	fill(evidence, "%llu calls of %s each, on the thread that evaluates",
		(unsigned long long)calls, units_time(ns, finding->cost_ns / calls));
	w->advice = "sort less: a small top-k first in the chain, no grammar where none is needed";
	fill(show, "brick report --phase %s", step_phase_name(finding->phase));
}

WORDS(context_growth)
{
	char from[UNITS_BYTES], to[UNITS_BYTES];

	fill(what, "attention takes longer with every token of context");
	fill(evidence,
		"%s a step in the first eighth of %llu decode steps, %s in the last, growing in "
		"each",
		units_time(from, finding->of.context_growth.first_ns),
		(unsigned long long)phase->steps,
		units_time(to, finding->of.context_growth.last_ns));
	w->advice = "a smaller KV cache: quantised (-ctk, -ctv q8_0), a shorter context, sliding "
		    "windows";
	fill(show, "brick report --by category --phase decode");
}

static void show_step(struct finding_words *w, const struct explain_facts *f, uint32_t step)
{
	fill(show, "brick tree --step %u", step_number(f->run, &f->index, step));
}

WORDS(first_step)
{
	char took[UNITS_BYTES], usual[UNITS_BYTES], more[UNITS_BYTES];

	fill(what, "the first %s step is slow", step_phase_name(finding->phase));
	fill(evidence, "it took %s, the others %s (median); most of that is " NAME " (+%s)",
		units_time(took, finding->of.first_step.took_ns),
		units_time(usual, finding->of.first_step.median_ns), finding->of.first_step.more,
		units_time(more, finding->of.first_step.more_ns));
	w->advice = "warm up before you serve: pages of the model that are not in memory yet, "
		    "kernels that are compiled, buffers that are allocated (--no-mmap, --mlock, "
		    "--warmup)";
	show_step(w, f, finding->of.first_step.step);
}

WORDS(slow_steps)
{
	char median[UNITS_BYTES], took[UNITS_BYTES], more[UNITS_BYTES];

	fill(what, "%llu of %llu decode steps took over twice the median",
		(unsigned long long)finding->of.slow_steps.count, (unsigned long long)phase->steps);
	fill(evidence, "the median is %s, the slowest %s: most of that is " NAME " (+%s)",
		units_time(median, finding->of.slow_steps.median_ns),
		units_time(took, finding->of.slow_steps.took_ns), finding->of.slow_steps.more,
		units_time(more, finding->of.slow_steps.more_ns));
	w->advice = "look into that step, and at the bricks that it has more of";
	show_step(w, f, finding->of.slow_steps.step);
}

WORDS(graph_rebuilt)
{
	char build[UNITS_BYTES], alloc[UNITS_BYTES], plan[UNITS_BYTES];

	fill(what, "the graph is built and given memory anew for each step");
	fill(evidence, "%s built, %s allocated, %s planned, in %llu steps",
		units_time(build, finding->of.graph_rebuilt.build_ns),
		units_time(alloc, finding->of.graph_rebuilt.alloc_ns),
		units_time(plan, finding->of.graph_rebuilt.plan_ns),
		(unsigned long long)phase->steps);
	w->advice = "a newer engine that reuses graphs (llama.cpp since August 2025), batches of "
		    "one shape";
	fill(show, "brick tree --step %s", step_phase_name(finding->phase));
}

WORDS(below_roof)
{
	const struct roofline_row *row = finding->of.roof;
	bool computes = row->bound == ROOFLINE_COMPUTE;
	char part[UNITS_BYTES], rate[UNITS_BYTES], roof[UNITS_BYTES];

	fill(what, NAME " reaches %s of its roof (%s)", row->name,
		units_percent(part, 1 - row->distance), roofline_bound_name(row->bound));
	fill(evidence,
		"%s %s where the measured ceilings allow %s at its %.2f FLOP/byte; the cost is "
		"what it takes longer than at the roof",
		units_number(rate, computes ? row->flops_per_ns : row->bytes_per_ns),
		computes ? "GFLOP/s" : "GB/s",
		units_number(roof, computes ? row->roof_flops_per_ns : row->roof_bytes_per_ns),
		row->intensity);
	w->advice = "a kernel for this type and shape: another quantisation, an engine built for "
		    "this CPU (GGML_NATIVE), more threads while it is bound by computing";
	fill(show, "brick roofline");
}

WORDS(at_bandwidth)
{
	const struct roofline_row *row = finding->of.roof;
	char part[UNITS_BYTES], share[UNITS_BYTES], gbs[UNITS_BYTES];

	fill(what, NAME " is at %s of the measured bandwidth of memory", row->name,
		units_percent(part, 1 - row->distance));
	fill(evidence, "%s GB/s from %s, %s of the phase", units_number(gbs, row->bytes_per_ns),
		row->level, units_percent(share, row->share));
	w->advice = "no faster kernel helps: move fewer bytes (a smaller quantisation), or several "
		    "sequences at once, which share the weights";
	fill(show, "brick roofline");
}

WORDS(unattributed)
{
	char part[UNITS_BYTES];

	fill(what, "%s of the steps is in no brick",
		units_percent(part, explain_share(finding->cost_ns, phase->wall_ns)));
	fill(evidence, "time of the engine's thread within steps that nothing names");
	w->advice = "see how Brick is attached (brick doctor), or give the code between bricks "
		    "bricks of its own; perf record shows where it is";
	fill(show, "brick tree --step %s", step_phase_name(finding->phase));
}

void finding_words(struct finding_words *words, const struct explain_facts *facts,
	const struct finding *finding)
{
	static void (*const rules[FINDING_RULES])(struct finding_words * w,
		const struct explain_facts *f, const struct explain_phase *phase,
		const struct finding *finding) = {
#define EXPLAIN_WORDS(name, id) [FINDING_##name] = name,
		EXPLAIN_RULES(EXPLAIN_WORDS)
#undef EXPLAIN_WORDS
	};

	rules[finding->rule](words, facts, &facts->phases[finding->phase], finding);
}

/* For people. */

/* A labelled paragraph. */
#define tell(label, ...) paragraph(terminal, LABEL, label, __VA_ARGS__)

static void print_phases(const struct explain_facts *facts, const struct terminal *terminal)
{
	char wall[UNITS_BYTES], each[UNITS_BYTES];

	for (int p = STEP_PHASES; p-- > 0;) {
		const struct explain_phase *phase = &facts->phases[p];
		if (!phase->summary)
			continue;
		uint64_t tokens = phase->tokens;
		tell(step_phase_name(p), "%llu step%s, %llu token%s, %s: %s a token",
			(unsigned long long)phase->steps, plural_s(phase->steps),
			(unsigned long long)tokens, plural_s(tokens),
			units_time(wall, phase->wall_ns),
			units_time(each, tokens ? phase->wall_ns / tokens : UINT64_MAX));
	}
}

static void print_finding(const struct explain_facts *facts, const struct finding *finding,
	size_t number, const struct terminal *terminal)
{
	const struct explain_phase *phase = &facts->phases[finding->phase];
	const char *name = step_phase_name(finding->phase);
	double per_token = finding_cost_per_token_ns(facts, finding);
	char token[UNITS_BYTES], part[UNITS_BYTES], label[UNITS_BYTES];
	struct finding_words words;

	finding_words(&words, facts, finding);
	snprintf(label, sizeof(label), "%zu %s", number, name);
	putc('\n', terminal->out);
	tell(label, "%s", words.what);
	units_time(token, per_token < 0 ? UINT64_MAX : (uint64_t)(per_token + 0.5));
	units_percent(part, (double)finding->cost_ns / (double)phase->wall_ns);
	if (finding->cost_ns)
		tell("  costs", "%s a token, %s of %s (%s)", token, part, name,
			finding_certainty_name(finding->certainty));
	else
		tell("  costs", "nothing that could be saved in %s", name);
	tell("  because", "%s", words.evidence);
	tell("  try", "%s", words.advice);
	tell("  see", "%s %s", words.show, facts->run->path);
}

void explain_text(
	const struct explain_facts *facts, const struct findings *findings, size_t top, FILE *out)
{
	struct terminal screen, *terminal = &screen;
	struct losses losses;

	terminal_init(terminal, out);
	print_phases(facts, terminal);
	losses_of_run(&losses, facts->run, 0);
	if (losses_any(&losses))
		tell("trust", "the recording is not whole: see the ledger of 'brick report'");
	if (facts->run->off_cpu.source == OFF_CPU_UNKNOWN)
		tell("trust", "when threads were off their CPUs was not recorded: no word on it");
	else if (facts->run->off_cpu.gap_count)
		tell("trust",
			"when threads were off their CPUs was not recorded all the time, as 'brick "
			"report' says: no word on the rest");
	for (size_t i = 0; i < findings->count && (!top || i < top); i++)
		print_finding(facts, &findings->list[i], i + 1, terminal);
	if (!findings->count)
		tell("", "Nothing stands out: none of %d checks found 2 %% of a phase or more.",
			FINDING_RULES);
}

/* JSON. */

static json_t *phase_json(const struct explain_phase *phase, int p)
{
	json_t *object = json_object();

	json_put(object, "phase", json_text(step_phase_name(p)));
	json_put(object, "steps", json_number(phase->steps));
	json_put(object, "tokens", json_number(phase->tokens));
	json_put(object, "wall_ns", json_number(phase->wall_ns));
	return object;
}

static json_t *finding_json(const struct explain_facts *facts, const struct finding *finding)
{
	const struct explain_phase *phase = &facts->phases[finding->phase];
	json_t *object = json_object();
	struct finding_words words;

	finding_words(&words, facts, finding);
	json_put(object, "rule", json_text(finding_rule_id(finding->rule)));
	json_put(object, "phase", json_text(step_phase_name(finding->phase)));
	json_put(object, "what", json_text(words.what));
	json_put(object, "cost_ns", json_number(finding->cost_ns));
	json_put(object, "cost_per_token_ns", json_rate(finding_cost_per_token_ns(facts, finding)));
	json_put(object, "share", json_rate((double)finding->cost_ns / (double)phase->wall_ns));
	json_put(object, "certainty", json_text(finding_certainty_name(finding->certainty)));
	json_put(object, "evidence", json_text(words.evidence));
	json_put(object, "try", json_text(words.advice));
	json_put(object, "see", json_text(words.show));
	return object;
}

static json_t *answer(
	const struct explain_facts *facts, const struct findings *findings, size_t shown)
{
	json_t *root = json_object(), *phases = json_array(), *list = json_array();

	json_put(root, "schema", json_text("brick/explain/1"));
	json_put(root, "rules", json_number(FINDING_RULES));
	json_put(root, "off_cpu_known",
		json_boolean(run_off_cpu_is_known(facts->run, 0, UINT64_MAX)));
	for (int p = 0; p < STEP_WARM_UP; p++)
		if (facts->phases[p].summary)
			json_add(phases, phase_json(&facts->phases[p], p));
	json_put(root, "phases", phases);
	for (size_t i = 0; i < shown; i++)
		json_add(list, finding_json(facts, &findings->list[i]));
	json_put(root, "findings", list);
	json_put(root, "left_out", json_number(findings->count - shown));
	return root;
}

/* As json_print() prints it. */
static size_t printed_bytes(const json_t *root)
{
	return json_dumpb(root, NULL, 0, JSON_INDENT(2) | JSON_ENSURE_ASCII) + 1;
}

void explain_json(
	const struct explain_facts *facts, const struct findings *findings, size_t top, FILE *out)
{
	size_t shown = top && top < findings->count ? top : findings->count;
	json_t *root = answer(facts, findings, shown);

	while (shown && printed_bytes(root) > EXPLAIN_JSON_BYTES) {
		json_decref(root);
		root = answer(facts, findings, --shown);
	}
	json_print(root, out);
}
