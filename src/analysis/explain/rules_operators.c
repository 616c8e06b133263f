/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Causes of lost time in PyTorch on a CPU, by what its operators and phases tell (operators.h).
 * Shares that stand for no measured time were measured elsewhere, as their comments say.
 */
#include "analysis/explain/finding.h"

#include "analysis/explain/rules_operators.h"
#include "base/number.h"

static const struct explain_operators *known(const struct explain_facts *f, enum step_phase p)
{
	return f->operators[p].is_known ? &f->operators[p] : NULL;
}

static bool operators_cost(struct finding *out, uint64_t cost_ns, enum finding_certainty certainty)
{
	out->cost_ns = cost_ns;
	out->certainty = certainty;
	return cost_ns != 0;
}

static bool operators_cost_part(struct finding *out, double cost_ns)
{
	enum { PARTS = 20 };

	return cost_ns > 0 && operators_cost(out, number_of_double(cost_ns), FINDING_LIKELY) &&
	       finding_costs(out, PARTS);
}

bool operators_load(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const struct explain_operators *o = known(f, p);

	/* each program waits for its batches a little */
	return o && operators_cost_part(out, (double)o->loading.ns) &&
	       operators_cost(out, o->loading.ns, FINDING_MEASURED);
}

bool operators_compile(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	/* the second time PyTorch makes a size that changed a variable, and goes on with that */
	enum { FEW = 3 };
	const struct explain_operators *o = known(f, p);

	/* One function for all sizes took about as much longer to compile, where it was tried */
	return o && o->recompiling.count >= FEW &&
	       operators_cost(out,
		       o->recompiling.ns - o->recompiling.ns / (o->recompiled ? o->recompiled : 1),
		       FINDING_LIKELY);
}

bool rule_graph_breaks(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const struct explain_operators *o = known(f, p);

	if (!o || !o->breaks.count)
		return false;
	/* nor is it known what compiling would save where nothing was compiled */
	bool is_unknown = o->is_entry_unknown || !o->has_regions;
	operators_cost(out, o->breaks.ns, FINDING_LIKELY);
	if (is_unknown && !finding_costs(out, FINDING_LEAST_PART))
		out->cost_ns = 0;
	return out->cost_ns || is_unknown;
}

bool rule_recomputation(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const struct explain_operators *o = known(f, p);

	return o && operators_cost(out, o->recomputing.ns, FINDING_MEASURED);
}

bool rule_element_reads(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const struct explain_operators *o = known(f, p);

	return o && operators_cost(out, o->reads.ns, FINDING_LIKELY);
}

/* Where it was tried on a CPU, a fused operator for long contexts saved about the time of what
 * stands between the products. */
bool operators_attend(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const struct explain_operators *o = known(f, p);

	return o && operators_cost_part(out, (double)o->attention.ns);
}

bool operators_copy(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	enum { PARTS = 20 }; /* a model copies some tensors */
	const struct explain_operators *o = known(f, p);

	return o && operators_cost(out, o->copies.ns, FINDING_LIKELY) &&
	       out->cost_ns >= o->ns / PARTS;
}

/* The part of forward and backward passes that some operators of forward passes stand for, as nodes
 * of backward passes have no types. */
static double operators_like(const struct explain_operators *o, uint64_t ns)
{
	return o->typed_of_ns ? (double)ns / (double)o->typed_of_ns * (double)o->model_ns : 0;
}

/*
 * Twice as many bytes, and half as many numbers in a vector; and oneDNN has no such products. Where
 * it was tried on a CPU, float32 saved 0.59 to 0.70 of the time.
 */
bool rule_doubles(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const double gain = 0.625;
	const struct explain_operators *o = known(f, p);

	return o && operators_cost_part(out, gain * operators_like(o, o->doubles.ns));
}

/*
 * A CPU without instructions for them computes such products in float32, or number by number. In
 * float32 they took a fifth of the time on a CPU without; 90 FLOPs per ns are usual in float32 for
 * one thread with AVX2, and no product that uses the CPU's own instructions is below a quarter.
 */
bool rule_halves(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const double least_rate = 22, gain = 0.8;
	const struct explain_operators *o = known(f, p);

	return o && o->half_products.flops &&
	       (double)o->half_products.flops < least_rate * (double)o->half_products.ns &&
	       operators_cost_part(out, gain * operators_like(o, o->half_products.ns));
}

/*
 * Each operator of such an optimizer reads and writes all tensors. Where both were tried on a CPU,
 * a fused AdamW took a sixth of the time of one with nine operators, and SGD with momentum half of
 * one with three: as long as one and a half. Where caches hold the tensors, arithmetic decides: it
 * takes no less than the slowest of these operators, whose arithmetic it has, too.
 */
bool operators_optimize(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	/* SGD with momentum has three, but one in its first step; without, two at most */
	const double of_fused = 1.5, least = 2.25;
	const struct explain_operators *o = known(f, p);

	if (!o || o->optimizer_passes < least)
		return false;
	uint64_t fused_ns =
		number_of_double(of_fused / o->optimizer_passes * (double)o->optimizer_ns);
	fused_ns = number_max(fused_ns, o->optimizer_slowest_ns);
	return operators_cost(out, number_minus(o->optimizer_ns, fused_ns), FINDING_LIKELY);
}

bool operators_pad(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const struct explain_operators *o = known(f, p);
	uint64_t tokens = o ? f->phases[p].tokens + o->padding : 0;

	return o && o->padding &&
	       operators_cost_part(out, (double)o->padding / (double)tokens * (double)o->model_ns);
}

bool operators_repeat(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const struct explain_operators *o = known(f, p);

	out->of.prompt_repeated.tokens = o ? o->repeated : 0;
	out->of.prompt_repeated.steps = o ? o->repeating_steps : 0;
	return o && operators_cost_part(out, (double)o->repeated_ns);
}

/* The part of the phase's steps in which the kernel's switches were recorded. */
static double operators_seen(const struct explain_facts *f, enum step_phase p)
{
	const struct off_cpu_account *off = &f->run->off_cpu;
	const struct explain_phase *phase = &f->phases[p];
	uint64_t all_ns = 0, unseen_ns = 0;

	for (uint64_t i = 0; i < phase->steps; i++) {
		const struct run_step *s = &f->run->steps[phase->list[i]];
		all_ns += s->end_ns - s->begin_ns;
		for (uint32_t k = 0; k < off->gap_count; k++)
			unseen_ns += number_minus(number_min(s->end_ns, off->gaps[k].end_ns),
				number_max(s->begin_ns, off->gaps[k].begin_ns));
	}
	return 1 - explain_share(unseen_ns, all_ns);
}

/*
 * A thread of Python that wants to run sleeps for 5 ms, then asks the thread that runs to let it.
 * So of such sleeps none is shorter, and the quickest are hardly longer. Of others' rest the thread
 * waited for a CPU: so it did if the thread that was asked did not let it at once. And other
 * threads ran meanwhile, though who has the lock may wait for a CPU, too: nobody holds up a thread
 * that sleeps on its own. So many switches cost much to record, and then they are not for a while,
 * in which the steps wait as they do in the rest.
 */
bool rule_interpreter_lock(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	enum { FEW = 8, MOST_NS = 6000000, RAN_PARTS = 8 };
	const struct explain_operators *o = known(f, p);

	out->of.interpreter_lock.seen = operators_seen(f, p);
	return o && o->switches >= FEW && 2 * o->switches_ns >= o->slept_between_ns &&
	       o->sleep_least_ns && o->sleep_least_ns <= MOST_NS && o->others_ns &&
	       RAN_PARTS * o->others_ns >= o->slept_in_steps_ns &&
	       operators_cost(out,
		       number_of_double((double)(o->slept_between_ns - o->switches_ns +
						 o->switches * o->sleep_least_ns) /
					out->of.interpreter_lock.seen),
		       FINDING_LIKELY);
}

/* Threads that wait for a CPU make operators of one kind take uneven times. */
bool operators_crowd(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const struct explain_operators *o = known(f, p);
	uint64_t threads = o ? explain_note_number(f->run, "torch.threads") : 0;
	uint32_t cpus = run_usable_cpus(f->run);

	out->of.crowd.threads = threads;
	out->of.crowd.cpus = cpus;
	out->of.crowd.online = f->run->cpus;
	return cpus && threads > cpus &&
	       operators_cost_part(out, (double)number_minus(o->taken_ns, o->quickest_ns));
}
