/* SPDX-License-Identifier: Apache-2.0 */
/* The sentences of rules_steps.c: batches, prompts, attention, slow steps, work between steps. */
#include "ui/text/words.h"

#include <string.h>

#include "analysis/accounts/workload.h"
#include "base/number.h"
#include "ui/text/phase_text.h"
#include "ui/text/program_options.h"
#include "ui/text/text.h"

static void say_between(struct finding_words *w, const struct explain_phase *phase,
	const struct finding *finding, const char *how, const char *state)
{
	const struct explain_between *b = &phase->between;
	char mean[UNITS_BYTES], longest[UNITS_BYTES];

	fill(what, "the program %s between steps", how);
	fill(evidence,
		"%s%s on average in each of the %llu gaps between a step with its sampling and the "
		"next; the longest gap is %s long",
		units_time(mean, finding->cost_ns / b->count), state, (unsigned long long)b->count,
		units_time(longest, b->longest_ns));
	fill(show, "brick report");
}

WORDS(host_pauses)
{
	say_between(w, phase, finding, "waits", " of sleep");
	fill(advice, "see which call the thread that evaluates waits in (perf trace -s -p PID, "
		     "gdb -p PID): for a client, another thread, a pipe, a lock, a timer");
}

WORDS(host_works)
{
	say_between(w, phase, finding, "does other work",
		f->run->off_cpu.source == OFF_CPU_UNKNOWN ? "" : " on the CPU");
	words_function(w, f, RUN_NONE, false);
	fill(advice, "see which functions run there (brick record --sample, then brick report --by "
		     "function), and run them on another thread while the next step is evaluated");
}

WORDS(turns)
{
	const struct explain_between *b = &phase->between;
	uint64_t tokens = explain_tokens(f, finding->phase);
	uint64_t token_ns = tokens ? phase->elapsed_ns / tokens : 0;
	uint64_t left_ns = tokens ? number_minus(phase->elapsed_ns, finding->cost_ns) / tokens : 0;
	char mean[UNITS_BYTES], each[UNITS_BYTES], all[UNITS_BYTES], less[UNITS_BYTES];

	fill(what, "%u threads evaluate one after another, and wait for each other",
		b->turn_threads);
	fill(evidence,
		"%s a token for each thread, which is a user, and %s in all; before %llu of %llu "
		"steps a thread slept, %s on average, until a step of another one ended; each has "
		"a context of its own, and their steps never overlap, as one lock for all would do",
		units_time(each, token_ns), units_time(all, words_turns_ns(phase, token_ns)),
		(unsigned long long)b->turns, (unsigned long long)phase->steps,
		units_time(mean, b->turns_ns / b->turns));
	fill(expected_note,
		" for each thread, and %s instead of %s in all, if a batch takes as long as a "
		"token",
		units_time(less, words_turns_ns(phase, left_ns)), all);
	fill(advice,
		"evaluate their tokens in one batch of one context (%s), which reads the "
		"weights once for all",
		OPTION(PARALLEL, b->turn_threads));
	fill(other, "a lock for each context instead of one for all, where CPUs are left");
	fill(show, "brick requests");
}

WORDS(prompt_repeated)
{
	const struct explain_operators *o = &f->operators[finding->phase];
	if (o->repeated) {
		fill(what, "each new token is computed with all tokens before it");
		fill(evidence,
			"%llu tokens in %llu steps had been computed before; the cost is by how "
			"steps grow with them",
			(unsigned long long)o->repeated, (unsigned long long)o->repeating_steps);
		fill(advice, "keep their keys and values: generate(use_cache=True), or "
			     "past_key_values handed to the next call");
		fill(show, "brick scaling");
		return;
	}
	fill(what, "prompts are evaluated that had been evaluated before");
	fill(evidence,
		"%llu tokens in %llu of %llu steps are the beginning of an earlier batch, token by "
		"token at the same positions; the cost is what those steps took",
		(unsigned long long)finding->of.prompt_repeated.tokens,
		(unsigned long long)finding->of.prompt_repeated.steps,
		(unsigned long long)phase->steps);
	fill(advice, "keep the cache of what prompts share: %s", OPTION(REUSE, 0));
	fill(show, "brick report --by phase");
}

WORDS(sampling)
{
	uint64_t calls = finding->of.sampling.calls;
	char ns[UNITS_BYTES];

	fill(what, "sampling takes much of the time of a token");
	fill(evidence, "%llu calls of %s each, on the thread that evaluates",
		(unsigned long long)calls, units_time(ns, finding->cost_ns / calls));
	fill(advice,
		"put top-k first in the chain of samplers: those before it go over the whole "
		"vocabulary; brick record --sample, then brick report --by function --brick %s "
		"names the one that takes the time",
		brick_name(BRICK_SAMPLING));
	fill(expected_note, ", if sampling took no time");
	for (char *const *word = f->run->command; word && *word; word++)
		if (!strcmp(*word, "--grammar") || !strcmp(*word, "--grammar-file") ||
			!strcmp(*word, "--json-schema") || !strcmp(*word, "-j"))
			fill(other, "sample without %s, if its form need not be kept", *word);
	fill(show, "brick report --phase %s", step_phase_name(finding->phase));
}

WORDS(mixed)
{
	fill(what, "new tokens wait for prompts that are evaluated with them");
	fill(evidence,
		"%llu batches of %llu new tokens and %llu of prompts; the cost is what they "
		"took longer than decoding alone",
		(unsigned long long)finding->of.mixed.steps,
		(unsigned long long)finding->of.mixed.output_tokens,
		(unsigned long long)finding->of.mixed.prompt_tokens);
	fill(advice, "evaluate prompts on an instance of their own");
	/* half of the prompt's tokens that go with a batch now */
	fill(other, "%s: smaller parts of prompts beside decoding",
		OPTION(BATCH, (finding->of.mixed.prompt_tokens / finding->of.mixed.steps + 1) / 2));
	fill(show, "brick report --by phase");
	(void)phase;
}

WORDS(drafts)
{
	enum { MANY = 16 };
	char drafting[UNITS_BYTES], checking[UNITS_BYTES], saved[UNITS_BYTES];
	uint64_t checked = finding->of.drafts.checked, held = finding->of.drafts.held;
	uint64_t draft_ns = finding->of.drafts.draft_ns;

	fill(what, "drafts cost more than they save: %llu of %llu are rejected",
		(unsigned long long)(checked - held), (unsigned long long)checked);
	if (draft_ns)
		fill(evidence, "drafting took %s; ", units_time(drafting, draft_ns));
	add(evidence, "checking the rejected ones took about %s",
		units_time(checking, finding->of.drafts.refuted_ns));
	if (held)
		add(evidence, ", and those that held saved about %s",
			units_time(saved, finding->of.drafts.saved_ns));
	add(evidence, ", by how much longer an evaluation takes than one of a single token");
	fill(advice, "%s%s", OPTION(NO_DRAFT, 0), held ? ", or drafts that are better" : "");
	if (!held && checked >= MANY) {
		add(evidence, "; that none of so many holds may be a bug");
		add(advice, "; then see why none holds: another vocabulary, positions that are off "
			    "by one, a wrong comparison");
	}
	if (held)
		fill(other, "shorter drafts: %s; 'brick requests' models each length",
			OPTION(DRAFT, 2));
	fill(show, "brick requests");
	(void)phase;
}

WORDS(all_logits)
{
	char copy[UNITS_BYTES];

	fill(what, "logits are made for every token of a prompt");
	fill(evidence,
		"LmHead computes %.0f rows an evaluation, and %s go into copying them; one row is "
		"needed to go on",
		finding->of.all_logits.rows, units_time(copy, finding->of.all_logits.copy_ns));
	fill(advice, "%s", OPTION(LAST_LOGITS, 0));
	fill(show, "brick report --phase prefill");
	(void)phase;
}

static const char *batching_source(const struct explain_batching *model)
{
	return model->is_measured ? "by the two sizes of this run, and by what batches gave "
				    "elsewhere"
				  : "by what batches gave elsewhere";
}

static void say_pieces(
	struct finding_words *w, const struct explain_phase *phase, const struct finding *finding)
{
	char took[UNITS_BYTES], would[UNITS_BYTES];

	fill(evidence,
		"%llu evaluations took %s, with %.1f token%s in each on average; with up to 512 in "
		"each, they would take %s in all (%s)",
		(unsigned long long)phase->evaluations,
		units_time(took, finding->of.batches.took_ns), finding->of.batches.batch,
		finding->of.batches.batch < 1.05 ? "" : "s",
		units_time(would, finding->of.batches.would_ns),
		batching_source(&finding->of.batches.model));
	fill(show, "brick report --by phase");
}

WORDS(small_ubatch)
{
	struct workload workload;

	workload_of_run(&workload, f->run);
	fill(what, "the engine cuts prompts into small pieces");
	if (workload.ubatch && workload.ubatch < UINT32_MAX)
		add(what, ": its ubatch is %llu token%s", (unsigned long long)workload.ubatch,
			plural_s(workload.ubatch));
	say_pieces(w, phase, finding);
	fill(advice, "%s", OPTION(UBATCH, 512));
}

WORDS(small_batches)
{
	fill(what, "the program hands prompts over in small pieces");
	say_pieces(w, phase, finding);
	fill(advice, "%s", OPTION(BATCH, 512));
}

WORDS(sequences_apart)
{
	fill(what, "%.0f sequences are decoded one after another", finding->of.batches.sequences);
	const struct explain_batching *m = &finding->of.batches.model;
	char fixed[UNITS_BYTES], token[UNITS_BYTES];
	fill(evidence,
		"%.1f tokens an evaluation, which takes %s beside %s for each of its tokens (%s)",
		finding->of.batches.batch, units_time(fixed, (uint64_t)m->fixed_ns),
		units_time(token, (uint64_t)m->token_ns), batching_source(m));
	fill(advice, "decode them in one batch: %s",
		OPTION(PARALLEL, (uint64_t)finding->of.batches.sequences));
	fill(show, "brick report --by phase");
	(void)phase;
}

static const char *type_of_bytes(double bytes)
{
	return bytes > 3 ? "f32" : bytes > 1.5 ? "f16" : bytes > 0.9 ? "q8_0" : "4 or 5 bits";
}

WORDS(kv_type)
{
	char ns[UNITS_BYTES];

	fill(what, "attention reads a cache of %s", type_of_bytes(finding->of.attention.bytes));
	fill(evidence,
		"%s of attention over the cache, whose values take %.2f bytes; over f16 it took "
		"less wherever it was tried on a CPU",
		units_time(ns, finding->of.attention.attention_ns), finding->of.attention.bytes);
	fill(advice, "%s", OPTION(CACHE_F16, 0));
	fill(show, "brick report --by category");
	(void)phase;
}

WORDS(no_flash_attention)
{
	char ns[UNITS_BYTES];

	fill(what, "attention of prompts is computed without flash attention");
	fill(evidence,
		"%s in scores, softmax and sums by themselves; where both were tried on a CPU, "
		"flash attention took half",
		units_time(ns, finding->of.attention.attention_ns));
	fill(advice, "%s", OPTION(FLASH, 0));
	fill(show, "brick report --by category --phase prefill");
	(void)phase;
}

WORDS(long_context)
{
	char ns[UNITS_BYTES];

	fill(what, "attention goes over a long context");
	fill(evidence, "%s of attention over the cache, without its products with weights",
		units_time(ns, finding->of.attention.attention_ns));
	fill(advice,
		"keep less in the context: a shorter prompt, or drop its oldest half when it is "
		"full; or a model with a sliding window");
	fill(show, "brick report --by category --phase decode");
	(void)f, (void)phase;
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
	fill(advice,
		"keep less in the context: a shorter prompt, or drop its oldest half when it is "
		"full; or a model with a sliding window");
	fill(show, "brick report --by category --phase decode");
}

WORDS(first_step)
{
	char took[UNITS_BYTES], usual[UNITS_BYTES], more[UNITS_BYTES];

	fill(what, "the first %sstep is slow", phase_adjective(finding->phase));
	fill(evidence, "it took %s, the others %s (median); most of that is " NAME " (+%s)",
		units_time(took, finding->of.first_step.took_ns),
		units_time(usual, finding->of.first_step.median_ns), finding->of.first_step.more,
		units_time(more, finding->of.first_step.more_ns));
	fill(advice, "warm up before you serve: %s", OPTION(WARM_UP, 0));
	words_show_step(w, f, finding->of.first_step.step);
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
	fill(advice,
		"look for " NAME " in the tree of that step (below); 'brick report --trust' says "
		"whether others had the CPUs",
		finding->of.slow_steps.more);
	words_show_step(w, f, finding->of.slow_steps.step);
}
