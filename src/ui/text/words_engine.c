/* SPDX-License-Identifier: Apache-2.0 */
/* The sentences of rules_engine.c: builds, large weights, graphs made anew, caches that move. */
#include "ui/text/words.h"

#include <string.h>

#include "ui/text/phase_text.h"
#include "ui/text/text.h"

WORDS(lesser_build)
{
	char ns[UNITS_BYTES];

	fill(what, "the engine's library is built for an older CPU: libggml-cpu-%s",
		finding->of.lesser_build.library);
	fill(evidence,
		"this CPU can run libggml-cpu-%s; %s of products and attention would be quicker",
		finding->of.lesser_build.better,
		units_time(ns, finding->of.lesser_build.products_ns));
	fill(advice,
		"install libggml-cpu-%s of the same version beside it, which the engine then "
		"prefers, or build with GGML_NATIVE=ON for this CPU alone",
		finding->of.lesser_build.better);
	fill(show, "brick report");
	(void)f, (void)phase;
}

WORDS(vocabulary)
{
	char ns[UNITS_BYTES], copy[UNITS_BYTES];

	fill(what, "the product with the vocabulary takes much of a token");
	fill(evidence, "%s in LmHead, %s in copying logits",
		units_time(ns, finding->of.vocabulary.ns),
		units_time(copy, finding->of.vocabulary.copy_ns));
	fill(advice,
		"a smaller type of the output matrix (llama-quantize --output-tensor-type q4_K), "
		"or speculative decoding, which shares it between tokens");
	fill(show, "brick report --phase decode");
	(void)f, (void)phase;
}

/* The gain of q8_0 in the other phase; a large gain is a finding of its own. */
static void say_other_phase(
	struct finding_words *w, const struct explain_facts *f, const struct finding *finding)
{
	int p = finding->phase == STEP_DECODE ? STEP_PREFILL : STEP_DECODE;
	const struct explain_phase *other = &f->phases[p];
	size_t length = strlen(w->evidence);
	char part[UNITS_BYTES];

	if (!other->summary || !other->elapsed_ns)
		return;
	if (p == STEP_PREFILL && !other->products.roof_ns && f->ceilings)
		return; /* no roof of these products is known: fewer bytes may save nothing */
	if (p == STEP_PREFILL && !other->products.roof_ns)
		snprintf(w->evidence + length, sizeof(w->evidence) - length,
			"; what prefill gains is known after 'brick ceilings' only");
	else
		snprintf(w->evidence + length, sizeof(w->evidence) - length,
			"; of the time of %s it saves about %s", phase_whole(p),
			units_percent(part, other->products.saved_ns / (double)other->elapsed_ns));
}

WORDS(large_weights)
{
	char type[32];
	const struct explain_products *m = &phase->products;
	char ns[UNITS_BYTES], bytes[UNITS_BYTES];
	uint64_t wide_ns = m->half_ns + m->single_ns;

	fill(what, "products with weights in %s take much of the time",
		words_weights(type, f, m->wide_bits));
	fill(evidence,
		"%s in these products, which read %s a step; %s q8_0 saves about %.0f%% of "
		"their time",
		units_time(ns, wide_ns), units_bytes(bytes, m->weight_bytes),
		m->roof_ns ? "by the measured roofs of memory and arithmetic,"
			   : "by its fewer bytes, without measured roofs,",
		100 * (double)finding->cost_ns / (double)wide_ns);
	say_other_phase(w, f, finding);
	fill(advice, "q8_0 (llama-quantize), whose answers hardly differ");
	fill(show, "brick report --phase %s", step_phase_name(finding->phase));
}

/*
 * True if the engine keeps graphs: llama.cpp does since August 2025. Its ggml says its version
 * since then, too, and counts from 0.9.
 */
static bool reuses_graphs(const struct run *run)
{
	const char *version = run_note_find(run, "ggml.version");
	int major = 0, minor = 0;

	return version && sscanf(version, "%d.%d", &major, &minor) == 2 && (major || minor >= 9);
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
	if (reuses_graphs(f->run))
		fill(advice, "batches of one shape: this engine keeps a graph as long as tokens, "
			     "sequences and outputs of a batch stay as many, and "
			     "LLAMA_GRAPH_REUSE_DISABLE is not set");
	else
		fill(advice, "a newer engine that keeps graphs (llama.cpp since August 2025)");
	fill(show, "brick tree --step %s", step_phase_name(finding->phase));
}

WORDS(graph_watched)
{
	fill(what, "each graph is computed in many parts");
	fill(evidence,
		"%llu parts in a step, each planned, started and waited for; a callback that sees "
		"nodes (cb_eval) does that",
		(unsigned long long)finding->of.graph_watched.parts);
	fill(advice, "take the callback out, or let it ask for the few nodes that it needs");
	fill(show, "brick tree --step %s", step_phase_name(finding->phase));
	(void)f, (void)phase;
}

WORDS(state_copied)
{
	char ns[UNITS_BYTES];

	fill(what, "the engine's state is copied after steps");
	fill(evidence, "%s in saving, loading and copying, %llu copies out of it in each step",
		units_time(ns, finding->cost_ns),
		(unsigned long long)finding->of.state_copied.copies);
	fill(advice, "save it less often (llama_state_get_data, sessions, prompt caches), or one "
		     "sequence of it");
	fill(show, "brick report --phase %s", step_phase_name(finding->phase));
	(void)f, (void)phase;
}

WORDS(at_memory_roof)
{
	const struct roofline_row *row = finding->of.roof.most;
	char part[UNITS_BYTES], share[UNITS_BYTES], gbs[UNITS_BYTES];

	fill(what, "at the memory roof: %s of the measured bandwidth",
		units_percent(part, 1 - finding->of.roof.distance));
	fill(evidence, "%zu bricks, %s of the phase; " NAME " reads %s GB/s from %s",
		finding->of.roof.rows, units_percent(share, finding->of.roof.share), row->name,
		units_number(gbs, row->bytes_per_ns), row->level);
	fill(advice, "a smaller type of the weights (llama-quantize), or more sequences in a "
		     "batch, which share them; no faster kernel helps");
	fill(show, "brick roofline");
	(void)f, (void)phase;
}

/* Who may hold an engine's memory that grows; NULL: not known. */
static const char *memory_growth_owner(const struct memory_growth *growth)
{
	static const char *const owners[BRICK_MEMORY_KINDS] = {
		[BRICK_MEMORY_STATES] = "states of sequences saved so far (a prompt cache)",
		[BRICK_MEMORY_COMPUTE] = "buffers that the engine computes in",
		[BRICK_MEMORY_WEIGHTS] = "weights",
		[BRICK_MEMORY_OUTPUTS] = "buffers of outputs"};

	return growth->site == RUN_NONE && growth->owner_bytes ? owners[growth->kind] : NULL;
}

WORDS(memory_growth)
{
	const struct memory_growth *growth = &finding->of.memory_growth;
	uint64_t bytes = growth->last_bytes - growth->first_bytes;
	char grown[UNITS_BYTES], each[UNITS_BYTES], last[UNITS_BYTES], part[UNITS_BYTES];
	const char *owner = memory_growth_owner(growth);

	fill(what, phase->trains || owner || growth->is_of_system
			   ? "memory grows from step to step"
			   : "results that the program keeps grow from step to step");
	if (growth->site != RUN_NONE) {
		const struct run_site *site = &f->run->sites[growth->site];
		const char *module = site->label && *site->label ? site->label : NULL;
		fill(evidence,
			"%s more is alive after %llu steps, %s a step, and %s at the end; %s of it "
			"are %s that %s%s%s asked for",
			units_bytes(grown, bytes), (unsigned long long)growth->steps,
			units_bytes(each, growth->steps ? bytes / growth->steps : 0),
			units_bytes(last, growth->last_bytes),
			units_bytes(part, growth->owner_bytes),
			growth->kind == BRICK_MEMORY_OTHER ? "blocks"
							   : memory_kind_name(growth->kind),
			site->operation ? site->operation : f->run->bricks[site->brick].name,
			module ? " in " : " outside of modules", module ? module : "");
	} else {
		fill(evidence,
			"%s more is alive after %llu steps, %s a step, and %s at the end; %s%s%s",
			units_bytes(grown, bytes), (unsigned long long)growth->steps,
			units_bytes(each, growth->steps ? bytes / growth->steps : 0),
			units_bytes(last, growth->last_bytes),
			owner		       ? owner
			: growth->is_of_system ? "no buffer of the engine has grown meanwhile"
					       : "no operator asked for most of it",
			owner ? " have grown by " : "",
			owner ? units_bytes(part, growth->owner_bytes) : "");
	}
	if (growth->kind == BRICK_MEMORY_STATES)
		fill(advice,
			"keep fewer of them: llama-server's --cache-ram and --ctx-checkpoints");
	else if (growth->is_of_system || owner)
		fill(advice,
			"see what the program keeps of each request: its own memory grows, too, "
			"where an allocator cannot give small blocks back");
	else
		fill(advice,
			phase->trains
				? "let go of what steps keep: a list that results are appended "
				  "to, a "
				  "loss that is summed up with its graph (.item() or .detach() "
				  "first)"
				: "let go of them, or keep less: numbers (.tolist()), or a "
				  "copy of the "
				  "part that is needed (.clone() of a slice)");
	fill(show, "brick report --by memory");
}

WORDS(unattributed)
{
	fill(what, "much of the steps is in no brick");
	fill(evidence, "time of the engine's thread within steps that nothing names");
	if (run_note_find(f->run, "imported"))
		fill(advice, WORDS_PROFILE_MORE);
	else
		fill(advice,
			"see which functions run there (brick record --sample, then brick report "
			"--by function), and whether Brick is attached to all of the engine "
			"(brick doctor -- CMD)");
	fill(show, "brick tree --step %s", step_phase_name(finding->phase));
}

WORDS(adapter)
{
	char flops[UNITS_BYTES], share[UNITS_BYTES];

	fill(what, EXPLAIN_ADAPTER " takes %s of the time%s%s%s",
		units_percent(share, finding_share(finding)),
		finding->of.adapter.flops_share >= 0 ? " for " : "",
		finding->of.adapter.flops_share >= 0
			? units_percent(flops, finding->of.adapter.flops_share)
			: "",
		finding->of.adapter.flops_share >= 0 ? " of the products' FLOPs" : "");
	fill(evidence,
		"%llu small operations of an adapter (LoRA) in %llu steps, beside each product "
		"that it changes",
		(unsigned long long)finding->of.adapter.executions,
		(unsigned long long)phase->steps);
	fill(advice, "merge the adapter into the weights (llama-export-lora), or, where it must "
		     "stay apart, use one with fewer targets");
	fill(expected_note, ", with a merged one");
	fill(show, "brick report --phase %s", step_phase_name(finding->phase));
	(void)f;
}

WORDS(cache_moved)
{
	char most[UNITS_BYTES];

	fill(what, "the whole cache is rewritten in %llu of %llu steps",
		(unsigned long long)finding->of.cache_moved.graphs,
		(unsigned long long)phase->steps);
	fill(evidence,
		"%llu graphs that evaluate no token but prepare the cache (a K-shift of a full "
		"context, or defragmentation), %s of it in " NAME,
		(unsigned long long)finding->of.cache_moved.graphs,
		units_time(most, finding->of.cache_moved.most_ns),
		finding->of.cache_moved.most->name);
	fill(advice, "drop many tokens at once when the context is full (half of it), and not one "
		     "for each new token; or a larger context");
	fill(show, "brick tree --step %s", step_phase_name(finding->phase));
	(void)f;
}
