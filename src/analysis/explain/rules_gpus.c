/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Causes of lost time on a GPU, by what its commands and its idle time tell (gpu_facts.h). A rule
 * that needs more than a share of the phase to be believed says why.
 */
#include "analysis/explain/finding.h"

#include "analysis/explain/rules_operators.h"
#include "base/number.h"

enum {
	LATE_PARTS = 10,    /* the host is too slow if the GPU waits for it a tenth of the time */
	MOVES_PARTS = 10,   /* a model copies some tensors: a tenth of the time is too much */
	MANY_COMMANDS = 40, /* of an optimizer in a step: a fused one has a few */
	PASSES = 5,	    /* over its tensors by an optimizer that is not fused */
	SPEED_UP = 2,	    /* the least that tensor cores gain over f32 (TF32, and more so f16) */
	FEWEST_STEPS = 3,   /* that tell that steps repeat */
	SAME_TENTHS = 7,    /* steps with the same commands as the one before */
};

static const struct explain_gpu *gpu_of(const struct explain_facts *f, enum step_phase p)
{
	const struct explain_gpu *gpu = &f->gpus[p];

	return gpu->gpu && gpu->commands && gpu->time->wall_ns ? gpu : NULL;
}

/* Engines of our own recordings have rules of their own: launch-bound, copies-between-backends. */
static const struct explain_gpu *gpu_imported(const struct explain_facts *f, enum step_phase p)
{
	return run_note_find(f->run, "imported") ? gpu_of(f, p) : NULL;
}

static bool rules_gpus_find(struct finding *out, uint64_t cost_ns, enum finding_certainty certainty)
{
	out->cost_ns = cost_ns;
	out->certainty = certainty;
	return cost_ns != 0;
}

static uint64_t idle_for(const struct explain_gpu *gpu, enum gpu_idle_cause cause)
{
	return gpu ? gpu->time->idle_of_ns[cause] : 0;
}

/* Collectives ran, and nothing computed. */
bool rule_exposed_communication(
	const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const struct explain_gpu *gpu = gpu_of(f, p);

	return gpu && rules_gpus_find(out,
			      gpu->time->alone_ns[GPU_COLLECTIVE] +
				      gpu->time->idle_of_ns[GPU_IDLE_COLLECTIVE],
			      FINDING_MEASURED);
}

bool rule_pageable_copies(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const struct explain_gpu *gpu = gpu_imported(f, p);

	return gpu && rules_gpus_find(out, gpu->pageable.ns, FINDING_MEASURED);
}

bool rule_copies_exposed(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const struct explain_gpu *gpu = gpu_imported(f, p);

	return gpu && rules_gpus_find(out, gpu->pinned.ns, FINDING_MEASURED);
}

bool rule_hidden_sync(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const struct explain_gpu *gpu = gpu_of(f, p);

	return gpu && rules_gpus_find(out, gpu->sync_idle_ns, FINDING_LIKELY);
}

bool rule_data_loader(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	return rules_gpus_find(out, idle_for(gpu_of(f, p), GPU_IDLE_LOADER), FINDING_MEASURED) ||
	       operators_load(f, p, out);
}

bool rule_compilation(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	return rules_gpus_find(
		       out, idle_for(gpu_of(f, p), GPU_IDLE_COMPILATION), FINDING_MEASURED) ||
	       operators_compile(f, p, out);
}

/* The host did something long between two launches. Its files of other tools say what. */
bool rule_host_alone(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const struct explain_gpu *gpu = gpu_imported(f, p);

	return gpu && rules_gpus_find(out, gpu->time->gaps_ns, FINDING_MEASURED);
}

bool rule_allocation(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	return rules_gpus_find(out, idle_for(gpu_of(f, p), GPU_IDLE_ALLOCATION), FINDING_MEASURED);
}

uint64_t explain_late_ns(const struct explain_gpu *gpu)
{
	uint64_t late_ns = idle_for(gpu, GPU_IDLE_BETWEEN) + idle_for(gpu, GPU_IDLE_WORK) +
			   idle_for(gpu, GPU_IDLE_LAUNCH);

	late_ns -= number_min(late_ns, gpu->sync_idle_ns + gpu->time->gaps_ns);
	return late_ns >= gpu->time->wall_ns / LATE_PARTS ? late_ns : 0;
}

/* The same kernels in each step, launched one by one, and too slowly: a graph launches them at
 * once. */
bool rule_graphs_unused(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const struct explain_gpu *gpu = gpu_imported(f, p);

	/* engines of our own recordings have advice of their own: launch-bound */
	return gpu && run_note_find(f->run, "imported") && gpu->steps >= FEWEST_STEPS &&
	       gpu->same_steps * 10 >= (gpu->steps - 1) * SAME_TENTHS &&
	       gpu->calls * 10 >= gpu->commands * 8 &&
	       rules_gpus_find(out, explain_late_ns(gpu), FINDING_LIKELY);
}

bool rule_kernels_apart(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const struct explain_gpu *gpu = gpu_of(f, p);

	return gpu && rules_gpus_find(out, gpu->chains.ns, FINDING_LIKELY);
}

bool rule_attention_apart(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const struct explain_gpu *gpu = gpu_of(f, p);

	if (operators_attend(f, p, out))
		return true;
	/* a router of experts has one softmax, too, but no products without weights around it */
	return gpu && gpu->softmax.count >= gpu->steps &&
	       rules_gpus_find(out, gpu->softmax.ns, FINDING_LIKELY);
}

bool rule_products_single(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const struct explain_gpu *gpu = gpu_of(f, p);

	return gpu &&
	       rules_gpus_find(out, gpu->single.ns - gpu->single.ns / SPEED_UP, FINDING_LIKELY);
}

bool rule_optimizer_apart(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const struct explain_gpu *gpu = gpu_of(f, p);

	if (!gpu)
		return operators_optimize(f, p, out);
	if (!gpu->steps || gpu->optimizer.count / gpu->steps < MANY_COMMANDS)
		return false;
	uint64_t fused_ns = gpu->optimizer.ns / PASSES;
	return rules_gpus_find(out,
		gpu->optimizer_wall_ns - number_min(gpu->optimizer_wall_ns, fused_ns),
		FINDING_LIKELY);
}

bool rule_padding(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const struct explain_gpu *gpu = gpu_of(f, p);

	return gpu ? rules_gpus_find(out, gpu->padding_ns, FINDING_LIKELY)
		   : operators_pad(f, p, out);
}

bool rule_streams_unbalanced(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const struct explain_gpu *gpu = gpu_of(f, p);

	return gpu && rules_gpus_find(out, gpu->unbalanced.ns, FINDING_LIKELY);
}

bool rule_tensor_copies(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const struct explain_gpu *gpu = gpu_of(f, p);

	if (!gpu)
		return operators_copy(f, p, out);
	return gpu->moves.ns >= gpu->time->wall_ns / MOVES_PARTS &&
	       rules_gpus_find(out, gpu->moves.ns, FINDING_LIKELY);
}
