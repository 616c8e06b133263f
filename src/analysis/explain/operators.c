/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pass over the samples of each thread that runs steps (operators.h). Sites are put into kinds
 * by the names of operators, spans by the names of their bricks; no name of a model counts. Rows of
 * operators are followed in the order of their begins.
 */
#include "analysis/explain/operators.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "analysis/accounts/counter_accounts.h"
#include "analysis/statistics/percentile.h"
#include "base/array.h"
#include "base/number.h"
#include "base/order.h"
#include "base/scope.h"
#include "base/words_among.h"
#include "brick/abi/step_counters.h"
#include "brick/brick.h"

/* Kinds of sites. Spans hold others, operators do not. */
enum {
	LOADING = 1 << 0,
	COMPILING = 1 << 1,
	RECOMPILING = 1 << 2,
	BREAK = 1 << 3,
	REGION = 1 << 4,
	RECOMPUTING = 1 << 5,
	OPTIMIZER = 1 << 6,
	FORWARD = 1 << 7,
	BACKWARD = 1 << 8,
	OPERATOR = 1 << 9,
	READ = 1 << 10, /* a number is taken out of a tensor */
	VIEW = 1 << 11,
	PRODUCT = 1 << 12, /* of two activations */
	WEIGHTS = 1 << 13, /* a product with weights, or a convolution */
	SOFTMAX = 1 << 14,
	COPY = 1 << 15,
	FUSED = 1 << 16,
	MANY = 1 << 17, /* over a list of tensors */
	GRADIENT = 1 << 18,
	IS_DOUBLE = 1 << 19,
	IS_HALF = 1 << 20,
	LIST = 1 << 21, /* makes a list of views, for which Python makes objects */
	POINTWISE = 1 << 22,
	MODEL = FORWARD | BACKWARD,
	SPANS = LOADING | COMPILING | RECOMPILING | RECOMPUTING | OPTIMIZER | FORWARD | BACKWARD |
		REGION,
};

#define REGION_NAME "Torch-Compiled Region"

enum {
	SMALL_NS = 10000,      /* an operator that a read may stand beside */
	NEAR_NS = 100000,      /* ... if no longer time lies between */
	FAR_OPERATORS = 3,     /* ... and no more of them */
	FEW_READS = 16,	       /* in a row: fewer cost nothing */
	LARGE_FLOPS = 1 << 21, /* arithmetic decides such a product's time ... */
	INTENSE = 32,	       /* ... if it has so many for each byte: one token only reads */
	NESTING = 32,
	SWITCH_NS = 4900000, /* a thread sleeps so long for Python's lock before it asks for it */
};

/*
 * ---- kinds ----
 */

static const struct {
	const char *names; /* a star at the end stands for any letters */
	uint32_t kind;
} operator_kinds[] = {
	{"aten::item aten::_local_scalar_dense aten::is_nonzero aten::equal", READ},
	{"aten::select aten::slice aten::unbind aten::view aten::reshape aten::flatten aten::t "
	 "aten::squeeze aten::unsqueeze aten::detach aten::detach_ detach aten::alias aten::to "
	 "aten::lift_fresh aten::resolve_conj aten::resolve_neg aten::transpose aten::permute "
	 "aten::expand aten::split aten::chunk",
		VIEW},
	{"aten::matmul aten::bmm aten::baddbmm aten::einsum BmmBackward* BaddbmmBackward*",
		PRODUCT},
	{"aten::linear aten::addmm aten::mm aten::addmv aten::mv aten::conv* aten::_conv* "
	 "AddmmBackward* MmBackward* ConvolutionBackward* AddmvBackward*",
		WEIGHTS},
	{"aten::softmax aten::_softmax SoftmaxBackward*", SOFTMAX},
	{"aten::unbind aten::split aten::chunk", LIST},
	{"aten::contiguous aten::clone aten::copy_ aten::repeat aten::reshape aten::flatten "
	 "aten::repeat_interleave CloneBackward* CopyBackwards RepeatBackward* CopySlices",
		COPY},
	{"aten::_fused_*", FUSED},
	{"aten::_foreach_*", MANY},
	{"torch::autograd::AccumulateGrad", GRADIENT},
	{"aten::add aten::sub aten::mul aten::div aten::relu aten::gelu aten::silu aten::tanh "
	 "aten::sigmoid aten::native_layer_norm aten::threshold_backward aten::gelu_backward "
	 "aten::silu_backward aten::tanh_backward aten::native_layer_norm_backward",
		POINTWISE},
};

static uint32_t kind_of_operation(const char *operation)
{
	size_t length = strcspn(operation, "(");
	uint32_t kind = 0;

	if (!strncmp(operation, "aten::", 6) || strstr(operation, "Backward") ||
		!strncmp(operation, "torch::autograd::", 17) || !strcmp(operation, "detach"))
		kind |= OPERATOR;
	for (size_t i = 0; i < sizeof(operator_kinds) / sizeof(*operator_kinds); i++)
		if (words_among(operator_kinds[i].names, operation, length))
			kind |= operator_kinds[i].kind;
	if (!strcmp(operation + length, "(float64)"))
		kind |= IS_DOUBLE;
	if (!strcmp(operation + length, "(float16)") || !strcmp(operation + length, "(bfloat16)"))
		kind |= IS_HALF;
	return kind;
}

static uint32_t kind_of_brick(const char *brick)
{
	static const struct {
		const char *brick;
		uint32_t kind;
	} spans[] = {{"DataLoading", LOADING}, {"Compilation", COMPILING},
		{"Recompilation", RECOMPILING}, {"GraphBreak", BREAK},
		{"Recomputation", RECOMPUTING}, {"OptimizerStep", OPTIMIZER}, {"Forward", FORWARD},
		{"Backward", BACKWARD}};

	for (size_t i = 0; i < sizeof(spans) / sizeof(*spans); i++)
		if (!strcmp(spans[i].brick, brick))
			return spans[i].kind;
	return strncmp(brick, REGION_NAME, sizeof(REGION_NAME) - 1) &&
			       strcmp(brick, "CompiledFunctionBackward")
		       ? 0
		       : REGION;
}

/* NULL: no memory, or no operator of PyTorch (is_any). */
static uint32_t *kinds_of_sites(const struct run *run, bool *is_any)
{
	uint32_t *kinds = calloc(run->site_count + 1, sizeof(*kinds));

	*is_any = false;
	for (size_t i = 0; kinds && i < run->site_count; i++) {
		const char *operation = run->sites[i].operation;
		kinds[i] = kind_of_brick(run->bricks[run->sites[i].brick].name);
		if (!kinds[i] && operation)
			kinds[i] = kind_of_operation(operation);
		*is_any |= operation && !strncmp(operation, "aten::", 6);
	}
	return kinds;
}

/*
 * ---- the pass ----
 */

/* A row of small operators, up to its last read. */
struct read_row {
	uint64_t begin_ns, end_ns;
	uint64_t reads, others;		    /* others: since the last read */
	uint64_t earlier_ns[FAR_OPERATORS]; /* begins of small operators in front, newest first */
	uint32_t earlier;
	uint64_t first_ns; /* begin of the first read */
	/* begin of the operators before that made lists, with none between; 0: the last made none
	 */
	uint64_t list_ns;
	uint64_t list_gaps_ns; /* between these */
	uint64_t gap_ns;       /* behind the lists at the row's begin; 0: near */
	uint64_t last_ns;      /* end of the operator before */
	uint32_t site;
};

struct open_span {
	uint64_t begin_ns, end_ns;
	uint32_t kind;
	struct explain_operators *of;
	uint32_t part;	/* its number among the lane's regions; 0: it is none */
	bool is_update; /* an optimizer's step, in no other */
};

enum { CROSSING_BEHIND, CROSSING_NESTED, CROSSING_BACKWARD, CROSSINGS };

struct pass {
	const struct run *run;
	const struct step_index *index;
	const uint32_t *kinds;
	struct explain_operators *facts; /* [STEP_PHASES] */
	struct explain_operators *to;	 /* of the step that is open, or was the last */
	const struct run_lane *lane;
	struct open_span spans[NESTING];
	uint32_t span_count;
	uint32_t inside; /* kinds of all open spans */
	uint64_t leaf_end_ns;
	/* the node that is open: its begin, or the end of the last recomputation in it; and its end
	 */
	uint64_t node_from_ns, node_end_ns;
	struct read_row reads;
	const struct run_sample *product; /* the last one of activations; NULL: none */
	bool saw_softmax;
	/* of the last region in the forward pass, 0: none; and the operators' time by then */
	uint64_t region_end_ns, region_operators_ns;
	uint32_t parts;	      /* regions of the lane so far */
	uint32_t part;	      /* whose operator came last in the pass; 0: none */
	uint64_t crossing_ns; /* since then, from one operator to the next */
	/* of the optimizer's step that is open: its first operator and its last; 0: none yet */
	uint64_t update_begin_ns, update_end_ns;
	uint64_t update_model_ns; /* of a closure between these */
	int status;
	struct pass_sums {
		uint64_t singles, manies, fused; /* operators of optimizers */
		uint64_t gradients;		 /* tensors that got one, in all backward passes */
		uint64_t optimizer_first_ns;	 /* the first step makes the state, too */
		uint64_t backwards, closures;	 /* closures: backward passes within optimizers */
		struct quick {
			uint64_t count, ns; /* executions, and the quickest one; no ns of regions */
			uint64_t updates, updates_ns; /* by an optimizer, and their time */
		} * quick;			      /* [site_count] */
		ARRAY(uint64_t) gaps; /* between regions of a forward pass, without operators */
		/*
		 * From a region's last operator to the next one's first, in a pass: behind each
		 * other, in each other, and in backward passes.
		 */
		ARRAY(uint64_t) crossings[CROSSINGS];
		uint64_t in_part[CROSSINGS], in_part_ns[CROSSINGS]; /* between two in a region */
		bool is_in_operators;	   /* regions compute nothing but operators */
		ARRAY(uint64_t) functions; /* executions of each compiled one in forward passes */
		ARRAY(uint64_t) sleeps;	   /* between operators */
		uint64_t rests_ns;	   /* of sleep behind such for Python's lock */
		uint64_t between_ns; /* of sleep behind steps that the phase's time still has */
		/* Python in front of operators in forward passes: each `stride`th case */
		ARRAY(uint64_t) calls;
		uint64_t stride, call_count;
	} sums[STEP_PHASES], *sum; /* `sum` is of `to` */
};

static uint64_t on_cpu(const struct run_lane *lane, uint64_t begin_ns, uint64_t end_ns)
{
	struct run_off_times off = run_off_cpu_between(lane, begin_ns, end_ns);

	return number_minus(number_minus(end_ns, begin_ns), off.preempted_ns + off.blocked_ns);
}

/* The time in which no other thread had the CPU; none is looked for where all of it is short. */
static uint64_t operators_had_cpu_ns(
	const struct run_lane *lane, uint64_t begin_ns, uint64_t end_ns)
{
	uint64_t ns = number_minus(end_ns, begin_ns);

	return ns <= NEAR_NS
		       ? ns
		       : number_minus(ns, run_off_cpu_between(lane, begin_ns, end_ns).preempted_ns);
}

static void add_execution(struct explain_executions *sum, uint64_t ns, uint32_t site)
{
	sum->count++;
	sum->ns += ns;
	if (sum->site == RUN_NONE || ns > sum->site_ns) {
		sum->site = site;
		sum->site_ns = ns;
	}
}

static void end_reads(struct pass *p)
{
	struct read_row *row = &p->reads;

	/* the program did something else than to make an object of each number */
	if (row->gap_ns > NEAR_NS + row->reads * SMALL_NS)
		row->begin_ns = row->first_ns;
	if (row->reads >= FEW_READS && p->to) {
		add_execution(
			&p->to->reads, on_cpu(p->lane, row->begin_ns, row->end_ns), row->site);
		p->to->reads.count += row->reads - 1;
	}
	row->reads = 0;
	row->earlier = 0;
	row->gap_ns = 0;
}

static void follow_reads(struct pass *p, const struct run_sample *s, uint32_t kind)
{
	struct read_row *row = &p->reads;
	bool is_near = operators_had_cpu_ns(p->lane, row->last_ns, s->begin_ns) <= NEAR_NS;
	bool is_small = kind & (READ | VIEW) || s->end_ns - s->begin_ns <= SMALL_NS;

	if (!is_near || !is_small)
		end_reads(p);
	if (!is_near && row->list_ns) {
		row->earlier_ns[0] = row->list_ns;
		row->earlier = 1;
		row->list_gaps_ns += on_cpu(p->lane, row->last_ns, s->begin_ns);
		row->gap_ns = row->list_gaps_ns;
	}
	if (!(kind & LIST))
		row->list_ns = row->list_gaps_ns = 0;
	else if (!row->list_ns)
		row->list_ns = s->begin_ns;
	row->last_ns = s->end_ns;
	if (!is_small)
		return;
	if (kind & READ) {
		if (!row->reads) {
			row->begin_ns =
				row->earlier ? row->earlier_ns[row->earlier - 1] : s->begin_ns;
			row->first_ns = s->begin_ns;
			row->site = s->site;
		}
		row->reads++;
		row->others = 0;
		row->end_ns = s->end_ns;
		return;
	}
	if (row->reads && ++row->others > FAR_OPERATORS)
		end_reads(p);
	memmove(row->earlier_ns + 1, row->earlier_ns,
		(FAR_OPERATORS - 1) * sizeof(*row->earlier_ns));
	row->earlier_ns[0] = s->begin_ns;
	row->earlier += row->earlier < FAR_OPERATORS;
}

/* The products of one attention lie in one forward pass. */
static void forget_product(struct pass *p)
{
	p->product = NULL;
	p->saw_softmax = false;
}

static void follow_attention(struct pass *p, const struct run_sample *s, uint32_t kind)
{
	if (kind & WEIGHTS)
		p->product = NULL;
	if (kind & SOFTMAX)
		p->saw_softmax = p->product != NULL;
	if (!(kind & PRODUCT))
		return;
	if (p->product && p->saw_softmax) {
		add_execution(&p->to->attention, on_cpu(p->lane, p->product->end_ns, s->begin_ns),
			s->site);
		p->to->attention_product_ns +=
			on_cpu(p->lane, p->product->begin_ns, p->product->end_ns) +
			on_cpu(p->lane, s->begin_ns, s->end_ns);
		p->product = NULL;
	} else {
		p->product = s;
	}
	p->saw_softmax = false;
}

static void operators_add_rate(struct explain_rate *rate, uint64_t flops, uint64_t ns)
{
	rate->flops += flops;
	rate->ns += ns;
}

/* Of many cases, fewer and fewer are kept, from begin to end. */
static int pass_add_call(struct pass_sums *sum, uint64_t ns)
{
	enum { MOST = 1 << 16 };

	if (sum->calls.count == MOST) {
		for (size_t i = 0; i < MOST / 2; i++)
			sum->calls.items[i] = sum->calls.items[2 * i];
		sum->calls.count = MOST / 2;
		sum->stride *= 2;
	}
	sum->stride = sum->stride ? sum->stride : 1;
	return sum->call_count++ % sum->stride ? 0 : array_push(&sum->calls, ns);
}

static void pass_sum_optimizer(
	struct pass *p, const struct run_sample *s, uint32_t kind, uint64_t ns)
{
	struct pass_sums *sum = p->sum;
	bool is_pass = !(kind & (FUSED | VIEW | READ | COPY));

	sum->quick[s->site].updates += is_pass;
	sum->quick[s->site].updates_ns += is_pass ? ns : 0;
	if (!p->update_begin_ns)
		p->update_begin_ns = s->begin_ns;
	p->update_end_ns = s->end_ns;
	sum->fused += (kind & FUSED) != 0;
	sum->manies += (kind & MANY) != 0;
	sum->singles += is_pass && !(kind & MANY);
}

/*
 * The time from one compiled part's operators to those of the next one. Nodes of a backward pass
 * that only take up a gradient are there without a break, too, but the way out of a part is not.
 */
static void follow_parts(
	struct pass *p, const struct run_sample *s, uint32_t kind, uint64_t before_ns)
{
	uint32_t part = 0, holders = 0;

	if (!p->part && !(p->inside & REGION))
		return;
	for (uint32_t i = 0; i < p->span_count; i++)
		if (p->spans[i].part) {
			part = p->spans[i].part;
			holders++;
		}
	int where = p->inside & BACKWARD ? CROSSING_BACKWARD
		    : holders > 1	 ? CROSSING_NESTED
					 : CROSSING_BEHIND;
	uint64_t ns = on_cpu(p->lane, before_ns, s->begin_ns);
	if (part && part == p->part) {
		p->sum->in_part[where]++;
		p->sum->in_part_ns[where] += ns;
	} else if (p->part && (!(kind & GRADIENT) || !p->crossing_ns)) {
		p->crossing_ns += ns;
	}
	if (!part)
		return;
	if (p->part && part > p->part && array_push(&p->sum->crossings[where], p->crossing_ns))
		p->status = -ENOMEM;
	p->sum->is_in_operators |= (kind & POINTWISE) != 0;
	p->part = part;
	p->crossing_ns = 0;
}

/* before_ns: the end of the operator before, from which on Python or autograd called this one. */
static void add_operator(
	struct pass *p, const struct run_sample *s, uint32_t kind, uint64_t before_ns)
{
	const struct run_site *site = &p->run->sites[s->site];
	struct explain_operators *to = p->to;
	uint64_t ns = on_cpu(p->lane, s->begin_ns, s->end_ns);
	uint64_t called_ns = number_minus(s->begin_ns, before_ns);

	to->count++;
	to->ns += ns;
	if (p->inside & MODEL) {
		to->model_ns += ns;
		follow_parts(p, s, kind, before_ns);
	} else if (p->inside & OPTIMIZER)
		pass_sum_optimizer(p, s, kind, ns);
	/* what may be a view is one if it is quick */
	if (kind & COPY && p->inside & MODEL && !(kind & VIEW && ns <= SMALL_NS))
		add_execution(&to->copies, ns + (called_ns <= SMALL_NS ? called_ns : 0), s->site);
	if (p->inside & FORWARD) {
		if (before_ns >= p->spans[p->span_count - 1].begin_ns &&
			pass_add_call(p->sum, on_cpu(p->lane, before_ns, s->begin_ns)))
			p->status = -ENOMEM;
		to->typed_of_ns += ns;
		if (kind & IS_DOUBLE)
			add_execution(&to->doubles, ns, s->site);
		if (kind & IS_HALF)
			add_execution(&to->halves, ns, s->site);
	}
	bool is_bound = site->flops >= LARGE_FLOPS && site->flops >= INTENSE * site->bytes;
	if (kind & WEIGHTS && p->inside & MODEL && is_bound && !(kind & IS_DOUBLE))
		operators_add_rate(kind & IS_HALF ? &to->half_products : &to->single_products,
			site->flops, ns);
	struct quick *quick = &p->sum->quick[s->site];
	uint64_t took_ns = s->end_ns - s->begin_ns;
	if (!quick->count++ || took_ns < quick->ns)
		quick->ns = took_ns;
	to->taken_ns += took_ns;
}

/* What Python does in front of its operators, and behind them, it does for a fused one as well. */
static void pass_end_optimizer(struct pass *p, struct explain_operators *to)
{
	uint64_t ns = on_cpu(p->lane, p->update_begin_ns, p->update_end_ns);

	ns = number_minus(ns, p->update_model_ns);
	to->optimizer_ns += ns;
	if (to->optimizer_steps == 1)
		p->sums[to - p->facts].optimizer_first_ns = ns;
}

/* A span ends where the next one begins that does not lie in it. */
static void leave_spans(struct pass *p, uint64_t ns)
{
	while (p->span_count && p->spans[p->span_count - 1].end_ns <= ns) {
		struct open_span *span = &p->spans[--p->span_count];
		if (span->is_update)
			pass_end_optimizer(p, span->of);
		if (span->kind & FORWARD) {
			p->region_end_ns = 0;
			forget_product(p);
		}
		if (span->kind & MODEL)
			p->part = 0;
		if (span->kind & REGION)
			p->region_operators_ns = span->of->ns;
	}
	p->inside = 0;
	for (uint32_t i = 0; i < p->span_count; i++)
		p->inside |= p->spans[i].kind;
}

/*
 * A node of a backward pass asks for all that was saved before it computes. So the time in front of
 * a recomputation in it is Python's, on the way there.
 */
static void pass_add_recomputation(struct pass *p, const struct run_sample *s)
{
	bool is_in_node = s->begin_ns < p->node_end_ns;

	add_execution(&p->to->recomputing,
		on_cpu(p->lane, is_in_node ? p->node_from_ns : s->begin_ns, s->end_ns), s->site);
	p->node_from_ns = number_max(p->node_from_ns, s->end_ns);
}

static void enter_span(struct pass *p, const struct run_sample *s, uint32_t kind)
{
	uint64_t ns = on_cpu(p->lane, s->begin_ns, s->end_ns);

	if (kind & LOADING && !(p->inside & LOADING)) {
		struct run_off_times off = run_off_cpu_between(p->lane, s->begin_ns, s->end_ns);
		add_execution(&p->to->loading, ns + off.blocked_ns, s->site);
		p->to->loading_slept_ns += off.blocked_ns;
	}
	if (kind & (COMPILING | RECOMPILING | MODEL))
		p->part = 0;
	if (kind & COMPILING)
		add_execution(&p->to->compiling, ns, s->site);
	if (kind & RECOMPILING) {
		add_execution(&p->to->recompiling, ns, s->site);
		p->to->recompiled += !(p->inside & BACKWARD); /* which is the same function's */
	}
	if (kind & RECOMPUTING)
		pass_add_recomputation(p, s);
	bool is_update = kind & OPTIMIZER && !(p->inside & OPTIMIZER);
	if (is_update) {
		p->to->optimizer_steps++;
		p->update_begin_ns = p->update_end_ns = p->update_model_ns = 0;
	}
	if (kind & BACKWARD)
		p->sum->backwards++;
	/* step(closure) computes the model within the optimizer's step */
	if (kind & MODEL && p->inside & OPTIMIZER && !(p->inside & MODEL)) {
		p->update_model_ns += p->update_begin_ns ? ns : 0;
		p->sum->closures += (kind & BACKWARD) != 0;
	}
	if (kind & REGION && p->inside & FORWARD && !(p->inside & REGION)) {
		p->sum->quick[s->site].count++;
		/* less the operators that ran between */
		uint64_t gap_ns = number_minus(on_cpu(p->lane, p->region_end_ns, s->begin_ns),
			number_minus(p->to->ns, p->region_operators_ns));
		if (p->region_end_ns && array_push(&p->sum->gaps, gap_ns))
			p->status = -ENOMEM;
		p->region_end_ns = s->end_ns;
		p->region_operators_ns = UINT64_MAX; /* when it has ended */
	}
	if (p->span_count < NESTING)
		p->spans[p->span_count++] = (struct open_span){s->begin_ns, s->end_ns, kind, p->to,
			kind & REGION ? ++p->parts : 0, is_update};
	p->inside |= kind;
}

/* The lane's step at `ns`, or its last one by then. Steps are looked for in their order. */
static void find_step(struct pass *p, uint32_t lane, uint32_t *place, uint64_t ns)
{
	const struct step_index *index = p->index;

	forget_product(p);
	while (*place < index->lane_first[lane + 1] &&
		p->run->steps[index->by_lane[*place]].begin_ns <= ns) {
		uint32_t step = index->by_lane[(*place)++];
		bool counts = step_index_is_evaluated(index, p->run, step);
		p->to = counts ? &p->facts[step_phase_of(&p->run->steps[step])] : NULL;
		p->sum = counts ? &p->sums[step_phase_of(&p->run->steps[step])] : NULL;
		if (counts)
			p->to->steps++;
	}
}

static void pass_lane(struct pass *p, uint32_t number)
{
	const struct run_lane *lane = &p->run->lanes[number];
	uint32_t place = p->index->lane_first[number];

	p->lane = lane;
	p->to = NULL;
	p->span_count = 0;
	p->product = NULL;
	p->leaf_end_ns = p->region_end_ns = p->node_end_ns = 0;
	p->part = p->parts = 0;
	p->reads = (struct read_row){0};
	for (size_t i = 0; i < lane->sample_count; i++) {
		const struct run_sample *s = &lane->samples[i];
		uint32_t kind = p->kinds[s->site];
		if (place < p->index->lane_first[number + 1] &&
			p->run->steps[p->index->by_lane[place]].begin_ns <= s->begin_ns) {
			end_reads(p);
			find_step(p, number, &place, s->begin_ns);
		}
		run_lane_passed(lane, i);
		if (!kind || !p->to || s->begin_ns < p->leaf_end_ns)
			continue;
		leave_spans(p, s->begin_ns);
		if (p->inside & (COMPILING | RECOMPILING))
			continue;
		if (kind & BREAK)
			add_execution(&p->to->breaks, 0, s->site);
		if (kind & GRADIENT)
			p->sum->gradients++;
		if (kind & SPANS) {
			enter_span(p, s, kind);
		} else if (kind & OPERATOR) {
			bool holds = i + 1 < lane->sample_count &&
				     lane->samples[i + 1].begin_ns < s->end_ns &&
				     p->kinds[lane->samples[i + 1].site] & (OPERATOR | SPANS);
			if (holds) { /* a function of the program's own */
				p->node_from_ns = s->begin_ns;
				p->node_end_ns = s->end_ns;
				continue;
			}
			uint64_t before_ns = p->leaf_end_ns;
			p->leaf_end_ns = s->end_ns;
			if (p->inside & LOADING) { /* that time is the loader's */
				end_reads(p);
				continue;
			}
			follow_reads(p, s, kind);
			follow_attention(p, s, kind);
			add_operator(p, s, kind, before_ns);
		}
	}
	end_reads(p);
	leave_spans(p, UINT64_MAX);
}

/*
 * ---- sleep between operators ----
 */

static int find_sleeps(struct pass *p, uint32_t number)
{
	enum { NEAR = 64 };	   /* samples that may hold a moment */
	enum { AT_ONCE = 100000 }; /* ns: a thread that only looks for the lock and asks for it */
	const struct run_lane *lane = &p->run->lanes[number];
	uint32_t place = p->index->lane_first[number], step = RUN_NONE; /* the last that began */
	uint64_t asked_ns = 0; /* the end of a sleep behind which the thread asked for the lock */
	size_t i = 0;

	for (size_t k = 0; k < lane->off_cpu_count; k++) {
		const struct run_off_cpu *off = &lane->off_cpu[k];
		uint32_t inside = 0;
		while (place < p->index->lane_first[number + 1] &&
			p->run->steps[p->index->by_lane[place]].begin_ns <= off->begin_ns)
			step = p->index->by_lane[place++];
		if (off->preempted || step == RUN_NONE ||
			!step_index_is_evaluated(p->index, p->run, step))
			continue;
		while (i < lane->sample_count && lane->samples[i].begin_ns <= off->begin_ns)
			i++;
		for (size_t b = i; b-- > 0 && b + NEAR > i;)
			if (lane->samples[b].end_ns > off->begin_ns)
				inside |= p->kinds[lane->samples[b].site];
		int phase = (int)step_phase_of(&p->run->steps[step]);
		struct pass_sums *sum = &p->sums[phase];
		uint64_t ns = off->end_ns - off->begin_ns;
		bool is_behind = off->begin_ns >= p->run->steps[step].end_ns;
		if (inside & OPERATOR && !(inside & LOADING) && !is_behind)
			p->facts[phase].slept_in_operators_ns += ns;
		if (inside & (OPERATOR | LOADING) || (is_behind && ns > sum->between_ns))
			continue;
		*(is_behind ? &sum->between_ns : &p->facts[phase].slept_in_steps_ns) +=
			is_behind ? -ns : ns;
		/* then the holder had no CPU */
		bool is_rest = ns < SWITCH_NS && asked_ns && off->begin_ns < asked_ns + AT_ONCE;
		asked_ns = ns >= SWITCH_NS || is_rest ? off->end_ns : 0;
		if (is_rest)
			sum->rests_ns += ns;
		else if (array_push(&sum->sleeps, ns))
			return -ENOMEM;
	}
	return 0;
}

/*
 * ---- counters ----
 */

/*
 * The time that repeated tokens take: the slope of a line through the steps' times, of medians of
 * slopes between steps that lie two to six eighths of all steps apart, so that no single step
 * decides. The first quarter of the steps touches code and memory for the first time: they are
 * slower, and that has nothing to do with their tokens.
 */
static int find_repeated_ns(
	struct explain_operators *to, const uint64_t *tokens, const uint64_t *times, size_t count)
{
	enum { EIGHTHS = 8, NEAREST = 2, FARTHEST = 6 };
	size_t n = 0;
	SCOPED double *slopes = calloc(EIGHTHS * count + 1, sizeof(*slopes));

	if (!slopes)
		return -ENOMEM;
	for (size_t k = NEAREST; k <= FARTHEST; k++) {
		size_t apart = k * count / EIGHTHS;
		for (size_t i = count / 4; apart && i + apart < count; i++)
			if (tokens[i + apart] > tokens[i])
				slopes[n++] = ((double)times[i + apart] - (double)times[i]) /
					      ((double)tokens[i + apart] - (double)tokens[i]);
	}
	if (!n)
		return 0;
	qsort(slopes, n, sizeof(*slopes), order_doubles);
	double slope = slopes[(n - 1) / 2], sum = 0;
	for (size_t i = 0; i < count; i++) {
		double ns = slope * (double)tokens[i];
		sum += ns > (double)times[i] ? (double)times[i] : ns;
	}
	to->repeated_ns = sum > 0 ? number_of_double(sum) : 0;
	return 0;
}

/* The evaluated step of a counter's point; RUN_NONE: none, or another counter. */
static uint32_t counted_in(const struct pass *p, const struct run_point *point, uint32_t counter)
{
	if (point->kind != RUN_POINT_COUNTER || point->brick != counter)
		return RUN_NONE;
	const struct run_step *step = counters_step_of(p->run, p->index, point);
	uint32_t number = step ? (uint32_t)(step - p->run->steps)
			       : step_index_at(p->index, p->run, point->lane, point->ns);
	return number != RUN_NONE && step_index_is_evaluated(p->index, p->run, number) ? number
										       : RUN_NONE;
}

static int find_repeated(struct pass *p)
{
	uint32_t counter = run_brick_find(p->run, BRICK_REPEATED_NAME);
	SCOPED uint64_t *tokens = calloc(2 * p->run->point_count + 1, sizeof(*tokens));
	int status = 0;

	for (int phase = 0; tokens && counter != RUN_NONE && !status && phase < STEP_PHASES;
		phase++) {
		uint64_t *times = tokens + p->run->point_count;
		struct explain_operators *to = &p->facts[phase];
		size_t n = 0;
		for (size_t i = 0; i < p->run->point_count; i++) {
			uint32_t step = counted_in(p, &p->run->points[i], counter);
			if (step == RUN_NONE || (int)step_phase_of(&p->run->steps[step]) != phase)
				continue;
			const struct run_step *s = &p->run->steps[step];
			tokens[n] = number_of_double(p->run->points[i].value);
			to->repeated += tokens[n];
			times[n++] = on_cpu(&p->run->lanes[s->lane], s->begin_ns, s->end_ns);
		}
		to->repeating_steps = n;
		status = find_repeated_ns(to, tokens, times, n);
	}
	return tokens ? status : -ENOMEM;
}

static void find_sums(struct pass *p)
{
	uint32_t padding = run_brick_find(p->run, BRICK_PADDING_NAME);
	uint32_t others = run_brick_find(p->run, BRICK_OTHERS_TIME_NAME);

	for (size_t i = 0; i < p->run->point_count; i++) {
		const struct run_point *point = &p->run->points[i];
		bool is_padding = point->brick == padding;
		uint32_t step = counted_in(p, point, is_padding ? padding : others);
		if (step == RUN_NONE)
			continue;
		struct explain_operators *to = &p->facts[step_phase_of(&p->run->steps[step])];
		*(is_padding ? &to->padding : &to->others_ns) += number_of_double(point->value);
	}
}

/*
 * ---- all together ----
 */

/* Adds the shortest of these, at most so many, each less the time that is there without a break. */
static uint64_t breaks_add(
	struct explain_operators *to, uint64_t *items, size_t count, size_t most, uint64_t usual_ns)
{
	size_t n = 0;

	if (count)
		percentile_sort(items, count);
	for (; n < count && n < most; n++)
		to->breaks.ns += number_minus(items[n], usual_ns);
	return n;
}

/*
 * What goes on behind a break is a compiled function of its own: it lies in the region that broke,
 * or behind it. Which one of several behind each other is not known: the one that ran least, and
 * the quickest crossings. Where kernels are no operators, nobody knows when a region's first one
 * begins: only the gap between two regions is the break's for certain.
 */
static void add_breaks(struct explain_operators *to, struct pass_sums *sum)
{
	uint64_t most = 0, usual_ns[CROSSINGS];

	if (!to->breaks.count)
		return;
	array_sort(&sum->functions, order_u64);
	for (size_t i = 0; i < to->breaks.count && i + 1 < sum->functions.count; i++)
		most += sum->functions.items[i];
	to->is_entry_unknown = to->has_regions && !sum->is_in_operators;
	if (to->is_entry_unknown) {
		breaks_add(to, sum->gaps.items, sum->gaps.count, most, 0);
		return;
	}
	for (int k = 0; k < CROSSINGS; k++)
		usual_ns[k] = sum->in_part[k] ? sum->in_part_ns[k] / sum->in_part[k] : 0;
	for (int k = 0, crossed = 0; k < CROSSINGS; k++)
		crossed += breaks_add(to, sum->crossings[k].items, sum->crossings[k].count,
			k == CROSSING_BEHIND   ? most
			: k == CROSSING_NESTED ? SIZE_MAX
					       : (size_t)crossed,
			usual_ns[k]);
}

/*
 * The time in all steps of an optimizer's operator that takes longest for all tensors. What only
 * some steps have makes its state.
 */
static uint64_t slowest_pass_ns(
	const struct pass *p, const struct pass_sums *sum, double tensors, double steps)
{
	const struct run *run = p->run;
	double most_ns = 0;

	for (size_t i = 0; i < run->site_count; i++) {
		double passes = 0, ns = 0;
		for (size_t k = 0; k < run->site_count && sum->quick[i].updates; k++) {
			const struct quick *other = &sum->quick[k];
			if (!other->updates ||
				strcmp(run->sites[i].operation, run->sites[k].operation) != 0)
				continue;
			passes += (double)other->updates / (p->kinds[k] & MANY ? 1 : tensors);
			ns += (double)other->updates_ns;
		}
		if (passes >= steps)
			most_ns = fmax(most_ns, ns / passes * steps);
	}
	return number_of_double(most_ns);
}

static int finish_phase(const struct pass *p, struct explain_operators *to, struct pass_sums *sum)
{
	enum { QUICK_PARTS = 50, OTHER_PARTS = 10, MOMENT_NS = 1000000 };
	size_t sites = p->run->site_count;
	double steps = (double)to->optimizer_steps;
	/*
	 * of weights: an optimizer that takes them one by one has so many times as many operators.
	 * A step may have several backward passes, each with a gradient for the same tensors.
	 */
	double tensors = sum->backwards ? (double)sum->gradients / (double)sum->backwards : 0;
	/* one that asks for several backward passes (LBFGS) is of a kind that is never fused */
	bool may_fuse = to->optimizer_steps && sum->closures <= to->optimizer_steps;

	if (!sum->fused && may_fuse && tensors > 0)
		to->optimizer_passes =
			((double)sum->manies + (double)sum->singles / tensors) / steps;
	if (to->optimizer_passes > 0)
		to->optimizer_slowest_ns = slowest_pass_ns(p, sum, tensors, steps);
	if (to->optimizer_steps > 1)
		to->optimizer_ns = number_of_double(
			(double)number_minus(to->optimizer_ns, sum->optimizer_first_ns) * steps /
			(steps - 1));
	for (size_t i = 0; i < sites; i++) {
		to->quickest_ns += sum->quick[i].count * sum->quick[i].ns;
		if (p->kinds[i] & REGION && sum->quick[i].count &&
			array_push(&sum->functions, sum->quick[i].count))
			return -ENOMEM;
	}
	to->has_regions = sum->functions.count > 0;
	add_breaks(to, sum);
	array_sort(&sum->calls, order_u64);
	if (sum->calls.count)
		to->call_ns = percentile_sorted(sum->calls.items, sum->calls.count, 90);
	array_sort(&sum->sleeps, order_u64);
	to->slept_between_ns = to->switches_ns = sum->rests_ns;
	for (size_t i = 0; i < sum->sleeps.count; i++) {
		to->slept_between_ns += sum->sleeps.items[i];
		to->switches += sum->sleeps.items[i] >= SWITCH_NS;
		to->switches_ns += sum->sleeps.items[i] >= SWITCH_NS ? sum->sleeps.items[i] : 0;
	}
	/* a thread that waits for a CPU then wakes late, so that few are as quick as they could be
	 */
	uint64_t moments = 0, longer = sum->sleeps.count - to->switches;
	while (moments < longer && sum->sleeps.items[moments] < MOMENT_NS)
		moments++;
	if (to->switches && OTHER_PARTS * (longer - moments) <= to->switches)
		to->sleep_least_ns = sum->sleeps.items[longer + to->switches / QUICK_PARTS];
	return 0;
}

static bool is_same_host(const struct run_process *a, const struct run_process *b)
{
	return a->host && b->host ? !strcmp(a->host, b->host) : a->host == b->host;
}

/* Children without steps of a process that has some, on its host. */
static uint64_t count_workers(const struct run *run, const struct step_index *index)
{
	uint64_t workers = 0;

	for (size_t i = 0; i < run->process_count; i++)
		for (size_t k = 0; k < run->process_count; k++)
			workers += run->processes[k].pid == run->processes[i].parent &&
				   is_same_host(&run->processes[k], &run->processes[i]) &&
				   index->process_first[i] == index->process_first[i + 1] &&
				   index->process_first[k] < index->process_first[k + 1];
	return workers;
}

int explain_operators_find(struct explain_operators facts[STEP_PHASES], const struct run *run,
	const struct step_index *index, const uint64_t between_ns[STEP_PHASES])
{
	bool is_any;
	SCOPED uint32_t *kinds = kinds_of_sites(run, &is_any);
	int status = 0;

	for (int p = 0; p < STEP_PHASES; p++) {
		struct explain_executions none = {.site = RUN_NONE};
		facts[p] = (struct explain_operators){.loading = none,
			.compiling = none,
			.recompiling = none,
			.breaks = none,
			.recomputing = none,
			.reads = none,
			.attention = none,
			.copies = none,
			.doubles = none,
			.halves = none};
	}
	if (!kinds)
		return -ENOMEM;
	if (!is_any || run->command_count)
		return 0;
	struct pass pass = {.run = run, .index = index, .kinds = kinds, .facts = facts};
	for (int p = 0; p < STEP_PHASES; p++) {
		pass.sums[p].between_ns = between_ns[p];
		pass.sums[p].quick = calloc(run->site_count + 1, sizeof(struct quick));
		if (!pass.sums[p].quick)
			status = -ENOMEM;
	}
	for (uint32_t i = 0; i < run->lane_count && !status; i++)
		if (step_index_drives(index, i)) {
			pass_lane(&pass, i);
			status = status ? status : find_sleeps(&pass, i);
		}
	for (int p = 0; p < STEP_PHASES; p++) {
		facts[p].is_known = true;
		facts[p].workers = count_workers(run, index);
		if (pass.sums[p].quick && !status)
			status = finish_phase(&pass, &facts[p], &pass.sums[p]);
		free(pass.sums[p].quick);
		for (int k = 0; k < CROSSINGS; k++)
			array_fini(&pass.sums[p].crossings[k]);
		array_fini(&pass.sums[p].functions);
		array_fini(&pass.sums[p].gaps);
		array_fini(&pass.sums[p].sleeps);
		array_fini(&pass.sums[p].calls);
	}
	find_sums(&pass);
	status = status ? status : pass.status;
	return status ? status : find_repeated(&pass);
}

uint64_t explain_note_number(const struct run *run, const char *key)
{
	const char *text = run_note_find(run, key);

	return text ? strtoull(text, NULL, 10) : 0;
}
