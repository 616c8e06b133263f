/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules about the engine: its graphs, its library, its weights, and bricks under the ceilings of
 * the machine.
 */
#include "analysis/explain/finding.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/path_name.h"
#include "brick/brick.h"

/* The first step's graph is new in any run, and is no part of the cost. */
bool rule_graph_rebuilt(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	enum { MANY_STEPS = 16 };
	const struct explain_phase *phase = &f->phases[p];
	uint64_t build_ns = explain_on_cpu_ns(phase, brick_name(BRICK_GRAPH_BUILD));
	uint64_t alloc_ns = explain_on_cpu_ns(phase, brick_name(BRICK_GRAPH_ALLOC));
	uint64_t plan_ns = explain_on_cpu_ns(phase, "GraphPlan");

	if (phase->steps < MANY_STEPS)
		return false;
	out->cost_ns = number_minus(build_ns + alloc_ns + plan_ns,
		explain_in_step_ns(f, phase->list[0], explain_is_of_graph));
	out->of.graph_rebuilt.build_ns = build_ns;
	out->of.graph_rebuilt.alloc_ns = alloc_ns;
	out->of.graph_rebuilt.plan_ns = plan_ns;
	return finding_costs(out, 20);
}

static uint64_t rules_engine_count_of(const struct explain_phase *phase, const char *name)
{
	const struct summary_row *row = explain_row(phase, name);

	return row ? row->count : 0;
}

/*
 * A callback that wants to see nodes has them computed as graphs of their own, and each of these is
 * planned, started and waited for.
 */
bool rule_graph_watched(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	enum { MANY = 16 }; /* backends take fewer */
	static const char own[] = "eval callback";
	const struct explain_phase *phase = &f->phases[p];
	const char *attach = run_note_find(f->run, "attach");
	uint64_t plans = rules_engine_count_of(phase, "GraphPlan");

	out->cost_ns = explain_on_cpu_ns(phase, "GraphPlan") +
		       explain_on_cpu_ns(phase, brick_name(BRICK_GRAPH_COMPUTE));
	out->certainty = FINDING_LIKELY;
	out->of.graph_watched.parts = phase->evaluations ? plans / phase->evaluations : 0;
	if (attach && !strncmp(attach, own, sizeof(own) - 1))
		return false; /* Brick is what watches */
	return !phase->queue && out->of.graph_watched.parts >= MANY && finding_costs(out, 20);
}

/* Copies out of the engine are more than logits: its state, layer by layer. */
bool rule_state_copied(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	enum { FEW = 4 }; /* copies of logits and embeddings a step */
	const struct explain_phase *phase = &f->phases[p];
	uint64_t copies = rules_engine_count_of(phase, brick_name(BRICK_OUTPUT_COPY));

	out->of.state_copied.copies = phase->evaluations ? copies / phase->evaluations : 0;
	if (out->of.state_copied.copies > FEW)
		out->cost_ns = explain_on_cpu_ns(phase, brick_name(BRICK_OUTPUT_COPY));
	out->cost_ns +=
		explain_on_cpu_ns(phase, "StateSave") + explain_on_cpu_ns(phase, "StateLoad");
	return !phase->queue && finding_costs(out, 20);
}

/*
 * The CPUs for which the engine has a library, and their speeds, the first being 1: products with
 * quantised weights for one token and for many, with f16, and with f32 for many. Memory limits f32
 * of one token everywhere. Measured with f16, f32, q8_0 and q4_0 on one CPU with AVX2, and on one
 * with AVX-512: there, wider vectors gained nothing more, but for quantised weights of many tokens.
 * Among builds that are alike, the engine would load the last one.
 */
static const struct cpu_build {
	const char *name, *feature; /* as the attached library calls it (note cpu.features) */
	double narrow, narrow_many, half, single_many;
} builds[] = {
	{"x64", "", 1, 1, 1, 1},
	{"sse42", "", 1, 1, 1, 1},
	{"sandybridge", "avx ", 1.4, 2, 1, 1.5},
	{"ivybridge", "f16c ", 1.4, 2, 7, 1.5},
	{"piledriver", "fma4 ", 1.5, 2, 8, 1.7},
	{"haswell", "avx2 ", 2.6, 5, 9.5, 2},
	{"alderlake", "avxvnni ", 2.6, 6, 9.5, 2},
	{"skylakex", "avx512f ", 2.6, 6, 11, 2},
	{"cannonlake", "-", 2.6, 6, 11, 2},
	{"cascadelake", "avx512vnni ", 2.6, 6.5, 11, 2},
	{"icelake", "avx512vnni ", 2.6, 6.5, 11, 2},
	{"cooperlake", "avx512bf16 ", 2.6, 6.5, 11, 2},
	{"zen4", "avx512bf16 ", 2.6, 6.5, 11, 2},
	{"sapphirerapids", "amx_int8 ", 2.6, 10, 11, 2},
};

enum { BUILDS = sizeof(builds) / sizeof(*builds) };

/* "libggml-cpu-sse42.so" is that of sse42; NULL: another one. */
static const struct cpu_build *build_of(const char *library)
{
	static const char prefix[] = "libggml-cpu-";
	const char *base = path_name(library);

	if (strncmp(base, prefix, sizeof(prefix) - 1))
		return NULL;
	base += sizeof(prefix) - 1;
	for (size_t i = 0; i < BUILDS; i++) {
		size_t length = strlen(builds[i].name);
		if (!strncmp(base, builds[i].name, length) && base[length] == '.')
			return &builds[i];
	}
	return NULL;
}

static const struct cpu_build *best_build(const char *features)
{
	const struct cpu_build *best = &builds[0];

	for (size_t i = 0; i < BUILDS; i++)
		if (builds[i].narrow >= best->narrow && strstr(features, builds[i].feature))
			best = &builds[i];
	return best;
}

/* The part of a time that a better build saves. */
static double saved(uint64_t ns, double used, double best)
{
	return best > used ? (double)ns * (1 - used / best) : 0;
}

/* Adds the rows of the phase that are under a roof and that `fits` accepts. */
static uint64_t add_roofs(const struct explain_facts *f, enum step_phase p,
	bool (*fits)(const struct roofline_row *), struct finding *out)
{
	double saved = 0, wall = 0, team = 0;
	uint64_t most_ns = 0;

	for (size_t i = 0; f->ceilings && i < f->roofline->row_count; i++) {
		const struct roofline_row *row = &f->roofline->rows[i];
		if ((int)row->phase != (int)p || row->on_device || row->distance < 0 || !fits(row))
			continue;
		saved += (double)row->team_ns * row->distance;
		wall += (double)row->wall_ns;
		team += (double)row->team_ns;
		out->of.roof.rows++;
		if (row->team_ns > most_ns) {
			most_ns = row->team_ns;
			out->of.roof.most = row;
		}
	}
	out->of.roof.share = wall / (double)f->phases[p].wall_ns;
	out->of.roof.distance = team > 0 ? saved / team : 0;
	return (uint64_t)saved;
}

static bool is_at_memory(const struct roofline_row *row)
{
	return row->bound == ROOFLINE_MEMORY && row->distance <= 0.35 && row->level &&
	       !strcmp(row->level, "memory");
}

bool rule_lesser_build(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const double far_better = 1.5;
	const struct explain_phase *phase = &f->phases[p];
	const struct explain_products *m = &phase->products;
	const char *library = run_note_find(f->run, "ggml.library");
	const char *features = run_note_find(f->run, "cpu.features");
	const struct cpu_build *used = library ? build_of(library) : NULL;

	if (!used || !features)
		return false;
	const struct cpu_build *best = best_build(features);
	uint64_t attention_ns = explain_brick_ns(f, phase, BRICK_FLASH_ATTENTION) +
				explain_brick_ns(f, phase, BRICK_ATTENTION_SCORE) +
				explain_brick_ns(f, phase, BRICK_ATTENTION_OUTPUT);
	bool many = phase->batch > 8;
	out->of.lesser_build.library = used->name;
	out->of.lesser_build.better = best->name;
	out->of.lesser_build.products_ns = m->ns + attention_ns;
	out->certainty = FINDING_LIKELY;
	out->cost_ns =
		(uint64_t)(saved(m->narrow_ns, many ? used->narrow_many : used->narrow,
				   many ? best->narrow_many : best->narrow) +
			   saved(m->half_ns, used->half, best->half) +
			   (many ? saved(m->single_ns, used->single_many, best->single_many) : 0) +
			   saved(attention_ns, many ? used->single_many : used->half,
				   many ? best->single_many : best->half));
	return best->narrow >= far_better * used->narrow && out->cost_ns;
}

/* The product with the whole vocabulary, and the work on its results. */
bool rule_vocabulary(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const struct explain_phase *phase = &f->phases[p];

	out->of.vocabulary.ns = explain_brick_ns(f, phase, BRICK_LM_HEAD);
	out->of.vocabulary.copy_ns = explain_on_cpu_ns(phase, brick_name(BRICK_OUTPUT_COPY));
	out->cost_ns = out->of.vocabulary.ns + out->of.vocabulary.copy_ns;
	return p == STEP_DECODE && !phase->queue && 10 * out->cost_ns >= 3 * phase->wall_ns;
}

/* True if most of the phase is close to the limit of memory. */
bool rule_at_memory_roof(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	add_roofs(f, p, is_at_memory, out);
	return out->of.roof.share >= 0.4;
}

/* Memory that each step leaves behind. It costs no time until there is no more. */
bool rule_memory_growth(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	uint8_t *counts = f->run->memory_count ? calloc(f->run->step_count + 1, 1) : NULL;

	for (size_t i = 0; counts && i < f->run->step_count; i++)
		counts[i] = step_phase_of(&f->run->steps[i]) == p;
	bool grows = counts && memory_growth_find(&out->of.memory_growth, f->run, counts) > 0;
	free(counts);
	return grows;
}

bool rule_large_weights(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	enum { IN_CACHES = 8 << 20 }; /* such a small model is not read from memory */
	const struct explain_phase *phase = &f->phases[p];

	/* of prompts and batches, which share the weights, nothing is known without roofs */
	bool is_known = p == STEP_DECODE || p == STEP_MIXED || phase->products.roof_ns;
	if (!is_known || phase->queue || f->model_bytes < IN_CACHES)
		return false;
	out->certainty = FINDING_LIKELY;
	out->cost_ns = (uint64_t)phase->products.saved_ns;
	return finding_costs(out, 10);
}

bool rule_unattributed(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const struct explain_phase *phase = &f->phases[p];

	out->cost_ns = number_minus(phase->summary->rests.unattributed_ns, phase->unseen_gaps_ns);
	/* a single time may be theirs: an interrupt's, or what their pages took */
	if (presence_is_disturbed(f->run))
		out->cost_ns = number_minus(out->cost_ns, phase->longest_gap_ns);
	/*
	 * In other tools' files of a GPU, what the host does beside operators is in no event. And
	 * where a file without steps is a single one, its thread may have had nothing to do.
	 */
	if ((f->gpus[p].commands && run_note_find(f->run, "imported")) ||
		run_note_find(f->run, "steps.none"))
		return false;
	return finding_costs(out, 10);
}

/* An adapter that is kept apart from the weights has products of its own. */
bool rule_adapter(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const struct explain_phase *phase = &f->phases[p];
	uint32_t brick = run_brick_find(f->run, EXPLAIN_ADAPTER);
	double all = 0, own = 0;

	if (brick == RUN_NONE)
		return false;
	for (size_t i = 0; i < f->run->site_count; i++) {
		const struct run_site *site = &f->run->sites[i];
		bool is_own = site->brick == brick;
		double flops = (double)site->flops * (double)phase->sites[i].count;
		if (explain_is_weight_product(f->run, site)) {
			all += flops;
			own += is_own ? flops : 0;
		}
		out->of.adapter.executions += is_own ? phase->sites[i].count : 0;
	}
	out->of.adapter.flops_share = all > 0 ? own / all : -1;
	out->cost_ns = explain_on_cpu_ns(phase, EXPLAIN_ADAPTER);
	return finding_costs(out, 20);
}

/*
 * The engine moves or rotates what is in its cache, as a whole, before it evaluates: a K-shift
 * where positions were changed, or defragmentation.
 */
bool rule_cache_moved(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const struct explain_phase *phase = &f->phases[p];

	for (uint32_t i = 0; i < f->run->brick_count; i++) {
		uint64_t ns = phase->bricks[i].cache_ns;
		const struct summary_row *row = ns > out->of.cache_moved.most_ns
							? explain_row(phase, f->run->bricks[i].name)
							: NULL;
		if (!row)
			continue;
		out->of.cache_moved.most = row;
		out->of.cache_moved.most_ns = ns;
	}
	out->of.cache_moved.graphs = phase->cache_graphs;
	out->cost_ns = phase->cache_ns;
	return out->of.cache_moved.most && finding_costs(out, 20);
}
