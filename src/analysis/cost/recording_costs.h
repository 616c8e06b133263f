/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cost of recording in the steps of a run: how often pairs, hooks and so on were executed,
 * times the measured cost of one. Each cost is an estimate (ns) with an interval (low_ns, high_ns)
 * for all of them together. `phase` is an enum step_phase or SUMMARY_ALL_PHASES. Pure; any thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "analysis/accounts/summary.h"
#include "trace/run.h"

/*
 * Begin/end pairs, by what each process timed at its start. In t ns a program cannot have pushed
 * more out of the caches than t ns of data. So a pair costs at most twice a warm one (alone, with
 * work, or with others inside), and of a pair behind 2 MB as much as t is of the time that these
 * 2 MB took; but never more than with nothing in any cache (high). This bound bends downwards only,
 * so it holds for the mean of all t as well, and that is known. The estimate takes a pair to be
 * warm, or behind 2 MB where the mean time between two is as long as these took.
 */
struct pair_costs {
	double count;
	double ns, low_ns, high_ns;
	/* 0 where recordings do not tell: */
	double between_ns;  /* mean time between two pairs; set by pair_costs_place() */
	double stream_ns;   /* time of 2 MB */
	double cold_ns;	    /* cost of a pair with nothing in any cache */
	double slope;	    /* cost of a pair behind 2 MB, divided by stream_ns */
	double streamed_ns; /* extra cost of all pairs, if all came behind 2 MB */
	double most_ns;	    /* bound of the extra cost of all pairs beyond twice a warm pair */
	bool unknown;	    /* a process with pairs does not tell their cost */
};

/* Adds `pairs` pairs of a process. */
void pair_costs_add(struct pair_costs *costs, const struct run_process *process, double pairs);

/* Call it once, when all pairs are added. time_ns: the threads' time in which they lie. */
void pair_costs_place(struct pair_costs *costs, double time_ns);

/* Pairs, and attached hooks. */
struct hook_costs {
	struct pair_costs pairs;
	double calls;		  /* of hooks in the phase */
	double timed, timed_ns;	  /* timed calls of the whole run, and their time */
	double unseen_ns;	  /* part of high_ns for costs that no clock sees */
	double own_ns, beside_ns; /* looking up graphs: on the step's thread, on other threads */
	double nodes;		  /* computed as graphs of their own for the evaluation callback */
	double splits, split_ns;  /* graphs without work that were timed, and their time */
	double split_min_ns;	  /* the shortest of them */
	double ns, low_ns, high_ns; /* of pairs and all of these */
	bool has_team; /* split graphs are computed by several threads: their cost is not known */
	bool has_digests;   /* digests were taken within split graphs */
	bool has_observers; /* PyTorch's, for which it takes a slower path */
	bool known;	    /* the cost of each of these is known */
};

/* The costs in the steps of a phase, which took wall_ns. */
void hook_costs_of(
	struct hook_costs *costs, const struct summary *summary, int phase, double wall_ns);

/*
 * Counts the threads with hooks that worked during one step, in the step that has most of them. (A
 * program may hand each step to another thread of a pool, and none of these waits for a CPU.) If
 * there are at most `enough` such threads in all steps together, it returns that number.
 */
uint32_t hook_costs_threads(const struct summary *summary, int phase, uint32_t enough);

/*
 * The cost of the kernel's records of threads that left their CPUs. Engines whose threads sleep at
 * barriers leave them thousands of times a step.
 */
struct switch_cost {
	double count; /* times off the CPU within the steps, of all threads that work for these */
	double low_ns, ns, high_ns; /* part of the steps' wall time */
	uint64_t each_ns;	    /* 0: not measured */
	bool is_many;		    /* one a step, or more */
};

struct switch_cost switch_cost_of(const struct summary *summary, int phase);

/* Brick's own threads inside of the programs, which fetch a device's times. */
struct helper_cost {
	double ns;	/* their CPU time */
	double most_ns; /* bound of the time by which they held up the program */
};

struct helper_cost helper_cost_of(const struct run *run);
