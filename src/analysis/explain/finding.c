/* SPDX-License-Identifier: Apache-2.0 */
/* Asks every rule about every phase, and ranks the findings. */
#include "analysis/explain/finding.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/statistics/unknown.h"
#include "base/number.h"
#include "base/order.h"
#include "brick/brick.h"

enum {
	CHOICE_RANKS = 4, /* as if it cost a quarter */
};

/* Parts of a phase's time. Savings of the same part cannot be added. */
enum part {
	NONE,
	PREEMPTED = 1 << 0,
	BLOCKED = 1 << 1,
	BARRIERS = 1 << 2,
	THREADS = 1 << 3, /* beginning threads and waiting for their end */
	WEIGHTS = 1 << 4,
	ATTENTION = 1 << 5,
	LOGITS = 1 << 6,
	REST = 1 << 7, /* computing that is none of the three above */
	GRAPHS = 1 << 8,
	COPIES = 1 << 9,
	SAMPLING = 1 << 10,
	LAUNCHES = 1 << 11,
	DEVICE = 1 << 12,
	NO_BRICK = 1 << 13,
	FIRST = 1 << 14,   /* the time that a phase's first step takes longer than others ... */
	SLOWEST = 1 << 15, /* ... and that some others do */
	PAUSES = 1 << 16,  /* between steps */
	WORK = 1 << 17,	   /* of the program, between steps */
	HELD_UP = 1 << 18, /* executions and waits that took longer than their neighbours */
	ADAPTER = 1 << 19,
	CACHE = 1 << 20, /* rewriting it as a whole */
	FAULTS = 1 << 21,
	EXCHANGE = 1 << 22, /* of data with other devices, or between queues */
	NEXT = 1 << 23,	    /* of a brick that has a finding of its own */
	ALL = (1 << 24) - 1,
	STEPS = ALL & ~(PAUSES | WORK),
	COMPUTE = WEIGHTS | ATTENTION | LOGITS | REST,
};

/* A set of rules. */
typedef unsigned __int128 finding_set;

#define R(name) ((finding_set)1 << FINDING_##name)

static const struct {
	const char *id;
	bool (*find)(const struct explain_facts *facts, enum step_phase phase, struct finding *out);
	enum finding_kind kind;
	unsigned parts;
	finding_set replaces; /* R(rule) of each rule that says the same less well */
} finding_rules[FINDING_RULES] = {
#define EXPLAIN_ENTRY(name, id, kind, parts, replaces) \
	{id, rule_##name, FINDING_##kind, parts, replaces},
	EXPLAIN_RULES(EXPLAIN_ENTRY)
#undef EXPLAIN_ENTRY
};

_Static_assert(FINDING_RULES <= 128, "a rule is a bit of a set");

static bool finding_is_of(finding_set set, enum finding_rule rule)
{
	return set >> rule & 1;
}

static uint64_t finding_whole_ns(const struct explain_phase *phase, enum finding_rule rule)
{
	return finding_is_of(EXPLAIN_OF_CPUS, rule) ? phase->elapsed_ns : phase->held_ns;
}

static bool finding_is_excess(const struct finding *finding)
{
	return finding->rule >= FINDING_excess_repeats;
}

/* A rule that finds something at no cost says what limits the phase: that always matters. */
static bool finding_matters(const struct finding *finding)
{
	return !finding->cost_ns || finding_costs(finding, FINDING_LEAST_PART);
}

static uint64_t rank_ns(const struct finding *f)
{
	return finding_rules[f->rule].kind == FINDING_CHOICE ? f->cost_ns / CHOICE_RANKS
							     : f->cost_ns;
}

COMPARATOR(by_rank, struct finding,
	ORDER(rank_ns(y), rank_ns(x)) ?: ORDER(x->phase, y->phase)
					      ?: ORDER(x->rule, y->rule))

/*
 * Takes the costs of findings [first, count) that are names for an excess out of it. *left_ns: what
 * they cost beyond the excess over history, for that of its next brick, which comes behind it.
 */
static void finding_name_excess(
	struct findings *findings, size_t first, struct finding *excess, uint64_t *left_ns)
{
	static const finding_set names_of[FINDING_RULES] = {
		[FINDING_excess_repeats] = EXPLAIN_NAMES_OF_REPEATS,
		[FINDING_excess_work] = EXPLAIN_NAMES_OF_WORK,
		[FINDING_excess_passes] = EXPLAIN_NAMES_OF_PASSES,
		[FINDING_excess_machine] = EXPLAIN_NAMES_OF_MACHINE,
		[FINDING_excess_history] = EXPLAIN_NAMES_OF_HISTORY,
	};
	uint64_t named_ns = excess->rule == FINDING_excess_next ? *left_ns : 0;

	for (size_t i = first; i < findings->count; i++)
		if (finding_is_of(names_of[excess->rule], findings->list[i].rule))
			named_ns += findings->list[i].cost_ns;
	if (excess->rule == FINDING_excess_history)
		*left_ns = number_minus(named_ns, excess->cost_ns);
	excess->cost_ns = number_minus(excess->cost_ns, named_ns);
}

/* Asks all rules about a phase, and drops findings that another one states better. */
static void find_in(struct findings *findings, const struct explain_facts *facts, int phase)
{
	size_t first = findings->count, kept = first;
	finding_set replaced = 0;
	uint64_t left_ns = 0;

	for (int rule = 0; rule < FINDING_RULES; rule++) {
		struct finding *f = &findings->list[findings->count];
		*f = (struct finding){.rule = (enum finding_rule)rule,
			.phase = (enum step_phase)phase,
			.whole_ns = finding_whole_ns(&facts->phases[phase], rule)};
		if (!finding_rules[rule].find(facts, f->phase, f))
			continue;
		if (f->cost_ns && finding_is_excess(f)) {
			finding_name_excess(findings, first, f, &left_ns);
			if (f->cost_ns <= f->of.excess.noise_ns ||
				!finding_excess_costs(f, facts->phases[phase].wall_ns))
				continue;
		}
		if (!finding_matters(f))
			continue;
		findings->count++;
		replaced |= finding_rules[rule].replaces;
	}
	for (size_t i = first; i < findings->count; i++)
		if (!finding_is_of(replaced, findings->list[i].rule))
			findings->list[kept++] = findings->list[i];
	findings->count = kept;
}

int findings_init(struct findings *findings, const struct explain_facts *facts)
{
	*findings = (struct findings){0};
	findings->list = calloc(FINDING_RULES * STEP_PHASES, sizeof(*findings->list));
	if (!findings->list)
		return -ENOMEM;
	for (int phase = 0; phase < STEP_PHASES; phase++)
		if (facts->phases[phase].summary && facts->phases[phase].wall_ns)
			find_in(findings, facts, phase);
	if (findings->count)
		qsort(findings->list, findings->count, sizeof(*findings->list), by_rank);
	uint64_t claimed_ns[STEP_PHASES] = {0};
	size_t kept = 0;
	for (size_t i = 0; i < findings->count; i++) {
		struct finding *f = &findings->list[i];
		uint64_t room_ns = facts->phases[f->phase].elapsed_ns - claimed_ns[f->phase];
		if (f->cost_ns && !room_ns)
			continue;
		f->cost_ns = number_min(f->cost_ns, room_ns);
		claimed_ns[f->phase] += f->cost_ns;
		findings->list[kept++] = *f;
	}
	findings->count = kept;
	for (size_t i = 0; i < findings->count; i++) {
		/* only the first of the findings that save time of the same parts is added up */
		struct finding *f = &findings->list[i];
		uint64_t *explained_ns = &findings->explained_ns[f->phase];
		uint64_t elapsed_ns = facts->phases[f->phase].elapsed_ns;
		for (size_t k = 0; k < i && !f->overlaps; k++)
			if (findings->list[k].phase == f->phase &&
				finding_rules[findings->list[k].rule].parts &
					finding_rules[f->rule].parts)
				f->overlaps = k + 1;
		if (!f->overlaps)
			*explained_ns += f->cost_ns;
		if (*explained_ns > elapsed_ns)
			*explained_ns = elapsed_ns;
		f->left_ns = elapsed_ns - *explained_ns;
	}
	return 0;
}

void findings_fini(struct findings *findings)
{
	free(findings->list);
	*findings = (struct findings){0};
}

const char *finding_rule_id(enum finding_rule rule)
{
	return finding_rules[rule].id;
}

enum finding_kind finding_rule_kind(enum finding_rule rule)
{
	return finding_rules[rule].kind;
}

const char *finding_certainty_name(enum finding_certainty certainty)
{
	return certainty == FINDING_MEASURED ? "measured" : "likely";
}

uint64_t explain_tokens(const struct explain_facts *facts, enum step_phase phase)
{
	const struct explain_phase *p = &facts->phases[phase];

	return phase == STEP_MIXED ? p->summary->steps.phases[phase].output_tokens : p->tokens;
}

double finding_cost_per_token_ns(const struct explain_facts *facts, const struct finding *finding)
{
	uint64_t tokens = explain_tokens(facts, finding->phase);

	return known_ratio(finding->cost_ns, tokens);
}

const char *finding_row(const struct explain_facts *facts, const struct finding *finding)
{
	const union finding_evidence *of = &finding->of;

	switch (finding->rule) {
	case FINDING_cpu_quota:
	case FINDING_preempted_by_others:
	case FINDING_preempted:
		return "preempted";
	case FINDING_cold_pages:
	case FINDING_memory_limit:
		return "blocked";
	case FINDING_blocked:
		return of->blocked.is_everywhere ? "blocked" : of->blocked.most->name;
	case FINDING_slow_thread:
	case FINDING_barrier_waits:
		return "wait";
	case FINDING_host_pauses:
	case FINDING_host_works:
	case FINDING_turns:
		return "gap";
	case FINDING_unattributed:
		return "unattributed";
	case FINDING_page_faults:
		return of->page_faults.brick == RUN_NONE
			       ? NULL
			       : facts->run->bricks[of->page_faults.brick].name;
	case FINDING_first_touch:
		return of->first_touch.brick == RUN_NONE
			       ? NULL
			       : facts->run->bricks[of->first_touch.brick].name;
	case FINDING_data_loader:
		return facts->operators[finding->phase].is_known ? "DataLoading" : NULL;
	case FINDING_compilation:
		return facts->operators[finding->phase].is_known ? "Recompilation" : NULL;
	case FINDING_optimizer_apart:
		return facts->operators[finding->phase].is_known ? "OptimizerStep" : NULL;
	case FINDING_recomputation:
		return "Recomputation";
	case FINDING_sampling:
		return brick_name(BRICK_SAMPLING);
	case FINDING_vocabulary:
	case FINDING_all_logits:
		return brick_name(BRICK_LM_HEAD);
	case FINDING_adapter:
		return EXPLAIN_ADAPTER;
	case FINDING_cache_moved:
		return of->cache_moved.most->name;
	case FINDING_ran_on_cpu:
		return of->ran_on_cpu.most->name;
	case FINDING_excess_repeats:
	case FINDING_excess_work:
	case FINDING_excess_passes:
	case FINDING_excess_machine:
	case FINDING_excess_history:
	case FINDING_excess_next:
		if (of->excess.awaited != RUN_NONE)
			return facts->run->bricks[of->excess.awaited].name;
		if (of->excess.brick == RUN_NONE ||
			facts->run->bricks[of->excess.brick].well_known == BRICK_BARRIER_WAIT)
			return "wait";
		return facts->run->bricks[of->excess.brick].name;
	default:
		return NULL;
	}
}
