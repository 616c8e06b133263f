/* SPDX-License-Identifier: Apache-2.0 */
/* The sentences of rules_operators.c: PyTorch's operators and graphs. */
#include "ui/text/words.h"

#include "ui/text/text.h"

WORDS(graph_breaks)
{
	const struct explain_operators *o = &f->operators[finding->phase];

	fill(what, o->has_regions ? "compiled functions are broken into several graphs"
				  : "torch.compile left functions as they are");
	w->is_unknown = !finding->cost_ns;
	fill(evidence, "%llu graph break%s, the first at %.100s; %s",
		(unsigned long long)o->breaks.count, plural_s(o->breaks.count),
		words_label(f, &o->breaks),
		!o->has_regions ? "no compiled part ran, and what it would save is not known"
		: o->is_entry_unknown
			? "Python runs between the compiled parts in each step; what it takes to "
			  "enter these is not known, as their kernels are no operators"
			: "Python runs between the compiled parts in each step");
	fill(advice, "take what breaks the graph out of the compiled function; "
		     "torch.compile(fullgraph=True) names it, TORCH_LOGS=graph_breaks lists all");
	fill(show, "brick tree --step %s", step_phase_name(finding->phase));
	(void)phase;
}

WORDS(recomputation)
{
	const struct explain_executions *e = &f->operators[finding->phase].recomputing;
	char each[UNITS_BYTES];

	fill(what, "backward passes compute forward passes again (checkpointing)");
	fill(evidence, "%llu times a step, of %s each", words_a_step(phase->steps, e->count),
		units_time(each, e->count ? e->ns / e->count : 0));
	fill(advice, "checkpoint fewer layers (gradient_checkpointing=False), if memory has room "
		     "for their activations");
	fill(show, "brick report --phase %s", step_phase_name(finding->phase));
	(void)f;
}

WORDS(element_reads)
{
	const struct explain_executions *e = &f->operators[finding->phase].reads;
	char most[128], each[UNITS_BYTES];

	fill(what, "numbers are taken out of tensors one by one");
	fill(evidence, "%llu reads a step in rows of small operators, of %s each%s",
		words_a_step(phase->steps, e->count),
		units_time(each, e->count ? e->ns / e->count : 0), words_longest(most, f, e));
	fill(advice, "compute with whole tensors, or take all numbers at once (tensor.tolist()) "
		     "in place of .item(), float() or a loop over elements");
	fill(show, "brick tree --step %s", step_phase_name(finding->phase));
}

WORDS(doubles)
{
	const struct explain_operators *o = &f->operators[finding->phase];
	char part[UNITS_BYTES], most[128];

	fill(what, "operators compute with float64");
	fill(evidence,
		"%s of the time of operators in forward passes%s; where it was tried, float32 "
		"saved "
		"5/8 of such time",
		units_percent(part, explain_share(o->doubles.ns, o->typed_of_ns)),
		words_longest(most, f, &o->doubles));
	fill(advice, "float32: model.float(), torch.set_default_dtype(torch.float32), arrays of "
		     "NumPy converted when they are loaded");
	fill(show, "brick tree --step %s", step_phase_name(finding->phase));
	(void)phase;
}

WORDS(halves)
{
	const struct explain_operators *o = &f->operators[finding->phase];
	char rate[UNITS_BYTES], part[UNITS_BYTES], most[128];

	fill(what, "this CPU has no quick products of 16 bits");
	fill(evidence,
		"products of float16 or bfloat16 go at %s GFLOP/s and take %s of the time of "
		"operators in forward passes%s",
		units_number(rate, (double)o->half_products.flops / (double)o->half_products.ns),
		units_percent(part, explain_share(o->half_products.ns, o->typed_of_ns)),
		words_longest(most, f, &o->halves));
	fill(advice, "float32 on this CPU (torch_dtype=torch.float32), or a CPU with AVX512-BF16 "
		     "or AMX; lscpu names what it has");
	fill(show, "brick report --phase %s", step_phase_name(finding->phase));
	(void)phase;
}

WORDS(interpreter_lock)
{
	const struct explain_operators *o = &f->operators[finding->phase];
	double seen = finding->of.interpreter_lock.seen;
	char slept[UNITS_BYTES], share[UNITS_BYTES];

	fill(what, "steps wait for another thread of Python");
	fill(evidence,
		"between operators the thread slept %s, mostly (%llu times) for 5ms, after which a "
		"thread asks another one for the interpreter's lock (GIL)%s%s%s",
		units_time(slept, o->slept_between_ns), (unsigned long long)o->switches,
		seen < 1 ? "; that was recorded in " : "",
		seen < 1 ? units_percent(share, seen) : "",
		seen < 1 ? " of the steps' time, and the rest taken for alike" : "");
	fill(advice, "move that thread's work into a process (multiprocessing), or into code that "
		     "releases the lock; py-spy dump --pid PID shows which it is");
	fill(show, "brick report --by thread");
	(void)phase;
}
