/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pass over the host's samples tells who asked for each launch and wait; one over the GPU's
 * commands, in the order of their begins, counts them by phase. A command of no phase is not
 * counted.
 */
#include "analysis/explain/gpu_facts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/devices/gpu_askers.h"
#include "base/array.h"
#include "base/hash.h"
#include "base/number.h"
#include "base/order.h"
#include "base/scope.h"

enum {
	LEAST_COPY_BYTES = 4096, /* smaller copies are values that somebody waits for */
	BLOCKING_NS = 20000,	 /* a call that copies takes less if it does not wait */
	CHAIN = 3,		 /* kernels of elements in a row that a fusion would join */
	ATTENTION_STEPS = 5,	 /* kernels between the two products of attention */
	LANES_OF_MASK = 64,
};

struct interval {
	uint64_t begin_ns, end_ns;
};

struct gpu_queue_state {
	uint64_t chain, chain_ns, chain_last_ns; /* kernels of elements so far */
	uint32_t chain_phase;
	const char *chain_name;
	/* since the last product: kernels, and the time of softmax and its neighbours; 0: none */
	uint32_t after_product;
	uint64_t between_ns;
	bool has_softmax;
};

struct gpu_finder {
	struct explain_gpu *facts;
	const struct run *run;
	const struct step_index *index;
	const struct gpu *gpu;
	const uint64_t *tokens, *steps;
	struct gpu_askers askers;
	ARRAY(struct interval) computing;
	struct gpu_queue_state *queues; /* [lane_count] */
	uint64_t *step_hashes;		/* [step_count]: of the names of a step's kernels */
	uint64_t *step_commands;	/* [step_count] */
	struct interval *optimizers;	/* [step_count] */
	uint64_t *until_ns;		/* [span_count]: the latest end of spans up to this one */
};

static bool gpu_has(const char *text, const char *const *words)
{
	for (; text && *words; words++)
		if (strcasestr(text, *words))
			return true;
	return false;
}

static void gpu_take_command(struct explain_commands *c, uint64_t ns, const char *who)
{
	c->count++;
	c->ns += ns;
	if (ns >= c->most_ns) {
		c->most = who;
		c->most_ns = ns;
	}
}

/* The part of a time in which something computed. */
static uint64_t gpu_computing_ns(const struct gpu_finder *f, uint64_t begin_ns, uint64_t end_ns)
{
	size_t i = BISECT(k, 0, f->computing.count, f->computing.items[k].end_ns <= begin_ns);
	uint64_t ns = 0;

	for (; i < f->computing.count && f->computing.items[i].begin_ns < end_ns; i++) {
		const struct interval *c = &f->computing.items[i];
		uint64_t from = c->begin_ns > begin_ns ? c->begin_ns : begin_ns;
		ns += (c->end_ns < end_ns ? c->end_ns : end_ns) - from;
	}
	return ns;
}

static int gpu_find_computing(struct gpu_finder *f)
{
	uint64_t until_ns = 0;

	f->until_ns = malloc((f->gpu->span_count + 1) * sizeof(*f->until_ns));
	if (!f->until_ns)
		return -ENOMEM;
	for (size_t i = 0; i < f->gpu->span_count; i++) {
		const struct gpu_span *s = &f->gpu->spans[i];
		until_ns = s->end_ns > until_ns ? s->end_ns : until_ns;
		f->until_ns[i] = until_ns;
		if (s->work != GPU_COMPUTE)
			continue;
		struct interval *last =
			f->computing.count ? &f->computing.items[f->computing.count - 1] : NULL;
		if (last && s->begin_ns <= last->end_ns)
			last->end_ns = s->end_ns > last->end_ns ? s->end_ns : last->end_ns;
		else if (array_push(&f->computing, (struct interval){s->begin_ns, s->end_ns}))
			return -ENOMEM;
	}
	return 0;
}

/*
 * Takes a wait of the host: without it, the host would have been earlier by the wait's length. That
 * a program waits at the end of a step is usual, so a call by no operator counts before that only.
 */
static void gpu_take_wait(struct gpu_finder *f, uint32_t lane, const struct run_sample *s,
	const struct gpu_asker *asker)
{
	uint32_t step = step_index_at(f->index, f->run, lane, s->begin_ns);
	size_t next = BISECT(k, 0, f->gpu->span_count, f->gpu->spans[k].begin_ns < s->end_ns);

	if (step == RUN_NONE || !next)
		return;
	const struct gpu_span *after = next < f->gpu->span_count ? &f->gpu->spans[next] : NULL;
	if (asker->site == RUN_NONE && (!after || after->command == RUN_NONE ||
					       step_index_of_command(f->index, f->run,
						       &f->run->commands[after->command]) != step))
		return;
	struct explain_gpu *facts = &f->facts[step_phase_of(&f->run->steps[step])];
	uint64_t idle_ns = 0, until_ns = f->until_ns[next - 1];
	if (next < f->gpu->span_count && until_ns <= s->end_ns)
		idle_ns = f->gpu->spans[next].begin_ns - until_ns;
	gpu_take_command(&facts->syncs, s->end_ns - s->begin_ns,
		gpu_asker_name(f->run, asker->site == RUN_NONE ? s->site : asker->site));
	facts->sync_idle_ns += number_min(idle_ns, s->end_ns - s->begin_ns);
}

static void gpu_find_waits(struct gpu_finder *f)
{
	for (uint32_t lane = 0; lane < f->run->lane_count; lane++) {
		const struct run_lane *l = &f->run->lanes[lane];
		for (size_t i = 0; f->askers.of_lane[lane] && i < l->sample_count; i++)
			if (f->index->kinds[f->run->sites[l->samples[i].site].brick] ==
				BRICK_KIND_WAIT)
				gpu_take_wait(f, lane, &l->samples[i], &f->askers.of_lane[lane][i]);
	}
}

static const char *const elements_words[] = {"elementwise", NULL};
static const char *const single_words[] = {"sgemm", "_f32f32_f32f32_", "_SB_", NULL};
static const char *const tensor_core_words[] = {"tf32", "tensorop", "s1688", NULL};
static const char *const move_words[] = {"direct_copy_kernel", "CatArrayBatchedCopy",
	"batched_transpose", "nchwToNhwc", "nhwcToNchw", "Memcpy DtoD", "copyBuffer", NULL};
static const char *const product_words[] = {"gemm", "cutlass", "nvjet", "Cijk_", "splitK", NULL};
static const char *const attention_products[] = {"bmm", "matmul", "einsum", NULL};

/* Ends a chain of kernels of elements. One of them would be left if they were joined. */
static void gpu_end_chain(struct gpu_finder *f, struct gpu_queue_state *q)
{
	if (q->chain >= CHAIN) {
		struct explain_gpu *facts = &f->facts[q->chain_phase];
		facts->chain_kernels += q->chain;
		gpu_take_command(
			&facts->chains, q->chain_ns - q->chain_ns / q->chain, q->chain_name);
	}
	q->chain = q->chain_ns = 0;
}

/* Attention that is not fused: product, softmax and what is beside it, product. */
static void gpu_take_attention(struct explain_gpu *facts, struct gpu_queue_state *q,
	const char *kernel, const char *operator, uint64_t ns)
{
	if (gpu_has(kernel, product_words)) {
		bool is_attention = gpu_has(operator, attention_products);
		if (is_attention && q->has_softmax && q->after_product)
			gpu_take_command(&facts->softmax, q->between_ns, operator);
		*q = (struct gpu_queue_state){.chain = q->chain,
			.chain_ns = q->chain_ns,
			.chain_phase = q->chain_phase,
			.chain_name = q->chain_name,
			.after_product = is_attention};
		return;
	}
	if (!q->after_product)
		return;
	q->between_ns += ns;
	q->has_softmax = q->has_softmax ||
			 (strcasestr(kernel, "softmax") && !strcasestr(kernel, "logsoftmax"));
	if (++q->after_product > ATTENTION_STEPS + 1)
		q->after_product = 0;
}

/* The rows of a product: all dimensions of its first input but the last. 0: not known. */
static double gpu_rows_of(const struct run_site *site)
{
	static const char *const with_weights[] = {"aten::mm", "aten::addmm", "aten::linear",
		"aten::_scaled_mm", "aten::matmul", NULL};
	bool is_product = false;
	double rows = 1, last = 1;

	for (size_t i = 0; site->operation && with_weights[i]; i++)
		is_product |= !strcmp(site->operation, with_weights[i]);
	if (!is_product || !site->label)
		return 0;
	const char *shape = site->label;
	/* addmm has the addend in front */
	if (!strcmp(site->operation, "aten::addmm"))
		shape = strchr(shape, ' ');
	shape = shape ? strchr(shape, '[') : NULL;
	while (shape && *shape && *shape != ']') {
		char *end;
		rows *= last;
		last = strtod(shape + 1, &end);
		if (end == shape + 1 || !(last > 0))
			return 0;
		shape = end;
	}
	return shape && *shape == ']' ? rows : 0;
}

static void gpu_take_padding(struct gpu_finder *f, struct explain_gpu *facts, uint32_t phase,
	const struct run_site *site, uint64_t ns)
{
	double tokens = f->steps[phase] ? (double)f->tokens[phase] / (double)f->steps[phase] : 0;
	double rows = tokens > 0 ? gpu_rows_of(site) : 0;

	if (rows <= tokens || rows <= 1)
		return;
	facts->padding_ns += number_of_double((double)ns * (1 - tokens / rows));
	facts->padding_rows = rows;
}

/* True if the call that launched the copy waited for its end. */
static bool gpu_is_blocking(const struct run_command *c, const struct gpu_span *s)
{
	return c->launch_end_ns >= s->end_ns && c->launch_end_ns - c->launch_ns > BLOCKING_NS;
}

static void gpu_take_transfer(struct gpu_finder *f, struct explain_gpu *facts,
	const struct gpu_span *s, const struct run_command *c, const struct gpu_asker *asker)
{
	const struct run_kernel *k = &f->run->kernels[c->kernel];

	if (k->kind != BRICK_KERNEL_H2D && k->kind != BRICK_KERNEL_D2H)
		return;
	if (gpu_is_blocking(c, s) && c->launch_lane != RUN_NONE)
		gpu_take_wait(f, c->launch_lane,
			&f->run->lanes[c->launch_lane].samples[c->launch_sample], asker);
	if (c->bytes <= LEAST_COPY_BYTES)
		return;
	uint64_t ns = s->end_ns - s->begin_ns;
	ns -= number_min(ns, gpu_computing_ns(f, s->begin_ns, s->end_ns));
	if (strcasestr(k->name, "pageable")) {
		gpu_take_command(&facts->pageable, ns, gpu_asker_name(f->run, asker->site));
		facts->pageable_bytes += c->bytes;
	} else {
		gpu_take_command(&facts->pinned, ns, gpu_asker_name(f->run, asker->site));
		facts->pinned_bytes += c->bytes;
	}
}

static void gpu_take_span(struct gpu_finder *f, const struct gpu_span *s)
{
	const struct run *run = f->run;
	const struct run_command *c = s->command == RUN_NONE ? NULL : &run->commands[s->command];
	struct gpu_queue_state *q = &f->queues[s->queue];
	uint64_t ns = s->end_ns - s->begin_ns;

	uint32_t step = c ? step_index_of_command(f->index, run, c) : RUN_NONE;
	if (step == RUN_NONE || c->kernel >= run->kernel_count) {
		gpu_end_chain(f, q);
		return;
	}
	uint32_t phase = (uint32_t)step_phase_of(&run->steps[step]);
	struct explain_gpu *facts = &f->facts[phase];
	const struct run_kernel *k = &run->kernels[c->kernel];
	const struct gpu_asker asked = gpu_asker_of(&f->askers, c), *asker = &asked;
	const char *operator= gpu_asker_name(run, asker->site);

	facts->commands++;
	facts->command_ns += ns;
	f->step_hashes[step] = hash_add(f->step_hashes[step], c->kernel);
	f->step_commands[step]++;
	if (asker->in_optimizer) {
		struct interval *o = &f->optimizers[step];
		o->begin_ns = o->end_ns ? o->begin_ns : s->begin_ns;
		o->end_ns = s->end_ns > o->end_ns ? s->end_ns : o->end_ns;
		gpu_take_command(&facts->optimizer, ns, k->name);
		gpu_end_chain(f, q);
		return;
	}
	if (s->work == GPU_TRANSFER)
		gpu_take_transfer(f, facts, s, c, asker);
	if (gpu_has(k->name, move_words))
		gpu_take_command(&facts->moves, ns, operator? operator: k->name);
	if (s->work == GPU_COMPUTE && gpu_has(k->name, elements_words)) {
		if (q->chain && q->chain_phase != phase)
			gpu_end_chain(f, q);
		q->chain_phase = phase;
		q->chain_name = operator? operator: k->name;
		q->chain++;
		q->chain_ns += ns;
	} else {
		gpu_end_chain(f, q);
	}
	if (s->work != GPU_COMPUTE)
		return;
	if (gpu_has(k->name, single_words) && !gpu_has(k->name, tensor_core_words))
		gpu_take_command(&facts->single, ns, k->name);
	if (asker->site != RUN_NONE)
		gpu_take_padding(f, facts, phase, &run->sites[asker->site], ns);
	gpu_take_attention(facts, q, k->name, operator, ns);
}

static void gpu_find_steps(struct gpu_finder *f)
{
	uint32_t last[STEP_PHASES];
	uint64_t launch_ns = 0;

	for (int p = 0; p < STEP_PHASES; p++)
		last[p] = RUN_NONE;
	for (uint32_t i = 0; i < f->run->step_count; i++) {
		uint32_t phase = (uint32_t)step_phase_of(&f->run->steps[i]);
		struct explain_gpu *facts = &f->facts[phase];
		if (!f->step_commands[i])
			continue;
		facts->steps++;
		facts->same_steps += last[phase] != RUN_NONE &&
				     f->step_hashes[i] == f->step_hashes[last[phase]] &&
				     f->step_commands[i] == f->step_commands[last[phase]];
		last[phase] = i;
		facts->optimizer_wall_ns += f->optimizers[i].end_ns - f->optimizers[i].begin_ns;
	}
	for (size_t i = 0; i < f->gpu->span_count; i++) {
		const struct gpu_span *s = &f->gpu->spans[i];
		const struct run_command *c =
			s->command == RUN_NONE ? NULL : &f->run->commands[s->command];
		uint32_t step = c ? step_index_of_command(f->index, f->run, c) : RUN_NONE;
		if (step != RUN_NONE && c->launch_ns != launch_ns)
			f->facts[step_phase_of(&f->run->steps[step])].calls++;
		launch_ns = c ? c->launch_ns : 0;
	}
}

/* The queue that computes most: others beside it that compute make regions. */
static uint32_t gpu_main_queue(const struct gpu_finder *f, uint64_t *computing_ns)
{
	uint32_t most = 0;

	for (size_t i = 0; i < f->gpu->span_count; i++)
		if (f->gpu->spans[i].work == GPU_COMPUTE)
			computing_ns[f->gpu->spans[i].queue] +=
				f->gpu->spans[i].end_ns - f->gpu->spans[i].begin_ns;
	for (uint32_t lane = 1; lane < f->run->lane_count; lane++)
		most = computing_ns[lane] > computing_ns[most] ? lane : most;
	return most;
}

/*
 * Regions in which several other queues compute, and the main one does not: they begin together,
 * and the last to end decides. Queues with even work would have taken the sum divided by their
 * number.
 */
static int gpu_find_unbalanced(struct gpu_finder *f)
{
	SCOPED uint64_t *computing_ns = calloc(f->run->lane_count + 1, sizeof(*computing_ns));
	struct interval region = {0};
	uint64_t sum_ns = 0, lanes = 0, second_ns = 0;
	uint32_t phase = STEP_PHASES;

	if (!computing_ns)
		return -ENOMEM;
	uint32_t main_queue = gpu_main_queue(f, computing_ns);
	for (size_t i = 0; i <= f->gpu->span_count; i++) {
		const struct gpu_span *s = i < f->gpu->span_count ? &f->gpu->spans[i] : NULL;
		bool is_side = s && s->work == GPU_COMPUTE && s->queue != main_queue;
		if (s && !is_side && !(s->work == GPU_COMPUTE && s->begin_ns < region.end_ns))
			continue;
		if (is_side && lanes && s->begin_ns <= region.end_ns) {
			uint64_t bit = UINT64_C(1) << s->queue % LANES_OF_MASK;
			second_ns = !(lanes & bit) && !second_ns ? s->begin_ns : second_ns;
			lanes |= bit;
			sum_ns += s->end_ns - s->begin_ns;
			region.end_ns = s->end_ns > region.end_ns ? s->end_ns : region.end_ns;
			continue;
		}
		/* the region ends: here, or because the main queue computes in it */
		uint64_t length_ns = region.end_ns - region.begin_ns;
		uint64_t queues = (uint64_t)__builtin_popcountll(lanes);
		bool is_cut = s && !is_side;
		if (queues > 1 && !is_cut && phase < STEP_PHASES && sum_ns > length_ns &&
			second_ns - region.begin_ns <= length_ns / 10 + BLOCKING_NS)
			gpu_take_command(&f->facts[phase].unbalanced,
				length_ns - number_min(length_ns, sum_ns / queues), NULL);
		lanes = sum_ns = second_ns = 0;
		region = (struct interval){0};
		if (!is_side)
			continue;
		uint32_t step = s->command == RUN_NONE ? RUN_NONE
						       : step_index_of_command(f->index, f->run,
								 &f->run->commands[s->command]);
		phase = step == RUN_NONE ? STEP_PHASES
					 : (uint32_t)step_phase_of(&f->run->steps[step]);
		region = (struct interval){s->begin_ns, s->end_ns};
		sum_ns = s->end_ns - s->begin_ns;
		lanes = UINT64_C(1) << s->queue % LANES_OF_MASK;
	}
	return 0;
}

static int gpu_find_all(struct gpu_finder *f)
{
	int rc = gpu_askers_init(&f->askers, f->run, f->index);
	if (!rc)
		rc = gpu_find_computing(f);
	if (rc)
		return rc;
	gpu_find_waits(f);
	for (size_t i = 0; i < f->gpu->span_count; i++)
		gpu_take_span(f, &f->gpu->spans[i]);
	for (size_t lane = 0; lane < f->run->lane_count; lane++)
		gpu_end_chain(f, &f->queues[lane]);
	gpu_find_steps(f);
	return gpu_find_unbalanced(f);
}

int explain_gpus_find(struct explain_gpu facts[STEP_PHASES], const struct run *run,
	const struct step_index *index, const struct gpu_times *const times[STEP_PHASES],
	const uint64_t tokens[STEP_PHASES], const uint64_t steps[STEP_PHASES])
{
	struct gpu_finder f = {facts, run, index, .tokens = tokens, .steps = steps};

	memset(facts, 0, STEP_PHASES * sizeof(*facts));
	for (int p = 0; p < STEP_PHASES; p++) {
		size_t most = 0;
		if (!times[p] || !times[p]->spans.count)
			continue;
		for (size_t g = 1; g < times[p]->spans.count; g++)
			if (times[p]->spans.list[g].span_count >
				times[p]->spans.list[most].span_count)
				most = g;
		facts[p].gpu = f.gpu = &times[p]->spans.list[most];
		facts[p].time = &times[p]->list[most];
	}
	if (!f.gpu)
		return 0;
	f.queues = calloc(run->lane_count + 1, sizeof(*f.queues));
	f.step_hashes = calloc(run->step_count + 1, sizeof(*f.step_hashes));
	f.step_commands = calloc(run->step_count + 1, sizeof(*f.step_commands));
	f.optimizers = calloc(run->step_count + 1, sizeof(*f.optimizers));
	int rc = f.queues && f.step_hashes && f.step_commands && f.optimizers ? gpu_find_all(&f)
									      : -ENOMEM;
	gpu_askers_fini(&f.askers);
	free(f.queues);
	free(f.step_hashes);
	free(f.step_commands);
	free(f.optimizers);
	free(f.until_ns);
	array_fini(&f.computing);
	return rc;
}
