/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The facts that rules look at: the views of a run, made once. Facts borrow the run, the ceilings
 * and usual times, which must outlive them. One thread at a time: explain_median_ns() uses the
 * scratch.
 */
#pragma once

#include <stdbool.h>
#include "analysis/accounts/breakdown.h"
#include "analysis/accounts/fault_accounts.h"
#include "analysis/accounts/function_accounts.h"
#include "analysis/accounts/placed.h"
#include "analysis/path/path.h"
#include "analysis/accounts/presence.h"
#include "analysis/explain/gpu_facts.h"
#include "analysis/explain/operators.h"
#include "analysis/explain/repeats.h"
#include "analysis/explain/usual_times.h"
#include "analysis/roofline/roofline.h"
#include "analysis/ranks/rank_job.h"
#include "analysis/accounts/summary.h"
#include "trace/run.h"

/*
 * The time on the CPU of a brick in a phase: on threads that run a step (drivers), and on other
 * threads while a step runs (workers).
 */
struct explain_brick {
	uint64_t driver_ns, worker_ns;
	uint64_t cache_ns;	    /* of driver_ns: in graphs that prepare the cache */
	uint64_t count, longest_ns; /* executions of driver_ns, and the longest of them */
};

/* The brick of an adapter's products (LoRA), and the one in which an engine prepares its cache. */
#define EXPLAIN_ADAPTER "LoraProjection"
#define EXPLAIN_CACHE_PREPARE "KvCachePrepare"

/* True if a team shares the brick. */
static inline bool explain_is_shared(const struct explain_brick *brick)
{
	return brick->worker_ns > brick->driver_ns / 100;
}

/* Executions at a site in a phase, on threads that run steps; their time on the CPU. */
struct explain_site {
	uint64_t count, ns;
};

/* The program's time between a step and the next, before it evaluates again. */
struct explain_between {
	uint64_t count;
	uint64_t sleeps_ns; /* blocked */
	uint64_t works_ns;  /* on a CPU; all of the time, if times off the CPU are not known */
	uint64_t calls_ns;  /* Python that calls operators: not in works_ns */
	/*
	 * The part of works_ns that others may have caused: the thread works for longer in times in
	 * which it loses its CPU, and its caches, than in the other ones.
	 */
	uint64_t cold_ns;
	struct explain_works {
		uint64_t count, ns;
	} warm, cold;		   /* times in which it kept its CPU, and the others */
	struct explain_works once; /* between a prompt and its first token: once a request */
	uint64_t preempted_ns;	   /* another thread had the CPU */
	uint64_t longest_ns;	   /* of one such time */
	/*
	 * Threads that each evaluate with a context of their own, and sleep before a step until a
	 * step of another one ends: their sleep while others' steps ran. Users wait for it, and it
	 * is in no other time here.
	 */
	uint64_t turns, turns_ns;
	uint32_t turn_threads; /* of them; 0: there are none */
	uint32_t turn_holder;  /* a lane whose step ended before the last of these sleeps */
};

/* Products of activations with weights, over all evaluations. */
struct explain_products {
	uint64_t ns, bytes;
	uint64_t weights, weight_bytes; /* that one evaluation reads */
	/* time of products with weights of less than 16 bits, of 16, and of 32 */
	uint64_t narrow_ns, half_ns, single_ns;
	/* of products with weights of 16 and 32 bits: */
	double saved_ns;  /* time that weights in q8_0 would save */
	uint64_t roof_ns; /* the part of their time for which saved_ns follows from a measured roof
			   */
	double wide_bits; /* bits of a weight, on average over their time */
};

struct explain_phase {
	uint64_t steps, tokens, wall_ns;
	bool trains; /* a step has a backward pass or an optimizer's step */
	/* with the program's time between the steps, and threads' waits for each other's steps */
	uint64_t elapsed_ns;
	/* elapsed_ns, less the time for which threads on the critical path had no CPU */
	uint64_t held_ns;
	uint64_t evaluations;		 /* of graphs: an engine may cut a step into several */
	double batch;			 /* tokens of an evaluation, on average */
	struct summary *summary;	 /* by brick, of this phase; NULL: no such step */
	const struct path_section *path; /* NULL: none */
	uint32_t *list;			 /* its finished steps, by begin */
	const struct queue_time *queue;	 /* the device's busiest one; NULL: none was busy */
	struct explain_brick *bricks;	 /* [brick_count] */
	struct explain_site *sites;	 /* [site_count] */
	uint64_t *work_ns;		 /* [lane_count] on the CPU, in bricks other than waits */
	uint64_t *beside_ns;		 /* [lane_count] of work_ns: beside another thread's step */
	uint64_t *wait_ns;		 /* [lane_count] */
	uint64_t longest_wait_ns;	 /* of threads that run steps, at one place */
	uint64_t longest_gap_ns;	 /* in no brick, between two in a step */
	uint64_t unseen_gaps_ns; /* in no brick, of steps for which nobody saw who had the CPU */
	struct explain_between between;
	/* graphs that evaluate no token but prepare the cache, and their time on the CPU */
	uint64_t cache_graphs, cache_ns;
	struct explain_products products;
	size_t team;	    /* threads that shared its work, the engine's own among them */
	uint64_t team_ns;   /* on the CPU, of bricks that they shared */
	uint64_t serial_ns; /* on the CPU, of all other bricks, and the steps' time in no brick */
};

struct explain_facts {
	const struct run *run;
	const struct ceilings *ceilings; /* NULL: none are known */
	/* set by the caller before it looks for findings; NULL: no earlier recording is known */
	const struct usual_times *usual;
	struct step_index index;
	struct breakdown *breakdown;
	struct roofline *roofline;
	struct repeats *repeats;
	struct path *path; /* NULL: there is none */
	struct presence presence;
	struct functions functions; /* in stacks; without rows if none were taken */
	struct explain_phase phases[STEP_PHASES];
	struct explain_gpu gpus[STEP_PHASES];
	struct explain_operators operators[STEP_PHASES];
	struct rank_job ranks;
	struct fault_rows faults;
	struct placed placed;
	bool is_placed;
	uint64_t *scratch; /* [step_count] */
	/* median wait of threads for CPUs that other programs had; 0: these had none */
	uint64_t usual_wait_ns;
	uint32_t frame_lane;  /* while the walk runs */
	uint64_t gap_from_ns; /* while the walk runs: the end of what it saw last in a step */
	uint32_t cache_brick; /* EXPLAIN_CACHE_PREPARE; RUN_NONE: the run has none */
	uint64_t model_bytes; /* of the weights that a step reads; 0: not known */
	uint64_t context;     /* tokens: an upper bound of the longest context */
};

/* 0, or an error, -ENOMEM above all; *facts is then empty. */
int explain_facts_init(
	struct explain_facts *facts, const struct run *run, const struct ceilings *ceilings);
void explain_facts_fini(struct explain_facts *facts);

/* The row of a brick in a phase, by name; NULL: none. */
const struct summary_row *explain_row(const struct explain_phase *phase, const char *name);
/*
 * The wall time of that row. Where it is known, the time that the brick's thread was off its CPU is
 * not in it: that has a finding of its own. Right only for bricks that one thread executes. 0:
 * none.
 */
uint64_t explain_on_cpu_ns(const struct explain_phase *phase, const char *name);

/*
 * The time on the CPU of a well-known brick on threads that run steps, also where a team shares the
 * brick: then it is the part of these threads.
 */
uint64_t explain_brick_ns(
	const struct explain_facts *facts, const struct explain_phase *phase, int well_known);

/* The weights of a product with activations, of K x N numbers. */
struct explain_weights {
	double rows, width; /* N and K */
	double bytes, bits; /* of all weights, and of a weight */
};

/* True for a product with weights; false for products of attention, both sides of which are
 * activations. */
bool explain_is_weight_product(const struct run *run, const struct run_site *site);
/*
 * Computes them from the counts of such a product with `batch` columns. False: the counts are those
 * of another batch, which cannot be told.
 */
bool explain_weights_of(struct explain_weights *out, const struct run_site *site, double batch);

/* The time of `owner`, an enum schedule_owner, on the critical path of a phase; 0: none. */
uint64_t explain_owner_ns(
	const struct explain_facts *facts, const struct explain_phase *phase, uint32_t owner);

/* The time that the phase would take on `cpus` CPUs if its threads never waited; 0 counts as 1. */
uint64_t explain_ideal_ns(const struct explain_phase *phase, uint32_t cpus);

/*
 * A linear model of an evaluation's time: fixed_ns (reading the weights) + token_ns * tokens. It
 * comes from evaluations of two sizes in this run, else from the phase alone and the share that a
 * token of a large batch takes as a rule.
 */
struct explain_batching {
	double fixed_ns, token_ns;
	double evaluation_ns; /* of the phase that was asked for, as measured, on average */
	bool is_measured;     /* from two sizes */
};
/* False: the phase has no evaluations, or no such line fits; *out is then of no use. */
bool explain_batching(
	struct explain_batching *out, const struct explain_facts *facts, enum step_phase phase);

/* True for bricks that make a graph and make it ready. */
bool explain_is_of_graph(const struct explain_facts *facts, uint32_t brick);
/* The time on the CPU in a step, on the thread that runs it, of bricks that count. */
uint64_t explain_in_step_ns(const struct explain_facts *facts, uint32_t step,
	bool (*counts)(const struct explain_facts *facts, uint32_t brick));

/*
 * PyTorch's own threads, with which an operator shares its work, record nothing. True where other
 * programs have CPUs, so that an operator may wait for such a thread that has none.
 */
bool explain_waits_unseen(const struct explain_facts *facts, enum step_phase phase);

/* True if times off the CPU were asked for, and are not known for all of that time. */
bool explain_is_unseen(const struct explain_facts *facts, uint64_t begin_ns, uint64_t end_ns);

/* The time of a step, with the time up to the next. */
uint64_t explain_step_ns(const struct explain_phase *phase, uint32_t step);
/*
 * The median (the lower one of two) of explain_step_ns() of phase->list[first] to
 * phase->list[end - 1]; 0: there are none.
 */
uint64_t explain_median_ns(const struct explain_facts *facts, const struct explain_phase *phase,
	uint64_t first, uint64_t end);

/* The function in which most of a brick's stacks were, of the `all` that were taken there. */
struct explain_function {
	const struct run_function *function;
	uint64_t stacks, all;
};

#define EXPLAIN_ANY_BRICK (RUN_NONE - 1)
/*
 * brick: RUN_NONE for time in no brick. is_foreign: of functions of other files than the one with
 * most stacks, as a handler's are. False: there are fewer than 8 stacks, or no such function.
 */
bool explain_function_of(struct explain_function *out, const struct explain_facts *facts,
	uint32_t brick, bool is_foreign);

/* Part of a whole; 0 of nothing. */
static inline double explain_share(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / (double)whole : 0;
}
