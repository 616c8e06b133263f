/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cost of recording in the steps of a run: how often each thing was done, times the measured
 * cost of one. Each cost is an estimate and an interval. Pure; any thread.
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
	double ns, low_ns, high_ns; /* of all of them */
	/*
	 * Where recordings say it: the mean time between two pairs, the time of 2 MB, and the cost
	 * of a pair with nothing in any cache; a pair's cost behind 2 MB by their time; the extra
	 * cost of all pairs behind 2 MB, and at most.
	 */
	double between_ns, stream_ns, cold_ns, slope, streamed_ns, most_ns;
	bool unknown; /* a process with pairs does not tell their cost */
};

void pair_costs_add(struct pair_costs *costs, const struct run_process *process, double pairs);

/* Call it when all are added: they lie in `time_ns` of threads. */
void pair_costs_place(struct pair_costs *costs, double time_ns);

/* Pairs, and attached hooks. */
struct hook_costs {
	struct pair_costs pairs;
	double calls, timed, timed_ns, unseen_ns;
	double own_ns, beside_ns; /* looking up graphs on the step's thread, and on others */
	double nodes, splits, split_ns, split_min_ns; /* by the evaluation callback */
	double ns, low_ns, high_ns;		      /* of all of these */
	bool has_team;	    /* graphs were split that several threads compute */
	bool has_digests;   /* were taken of split graphs */
	bool has_observers; /* PyTorch's, for which it takes a slower path */
	bool known;	    /* all that was counted has a cost */
};

/* Costs of hooks in the steps of one phase, or SUMMARY_ALL_PHASES, which took wall_ns. */
void hook_costs_of(
	struct hook_costs *costs, const struct summary *summary, int phase, double wall_ns);

/*
 * Threads that hooks were called on and that worked during one step, in the step that has most of
 * them. A program may hand each step to another thread of a pool, and none waits for a CPU then.
 * Not looked into further if there are no more than `enough` in all.
 */
uint32_t hook_costs_threads(const struct summary *summary, int phase, uint32_t enough);

/*
 * The cost of the kernel's records of threads that left their CPUs. Engines whose threads sleep at
 * barriers leave them thousands of times a step.
 */
struct switch_cost {
	double count; /* times off the CPU within the steps, of all threads that work for them */
	double low_ns, ns, high_ns; /* of the steps' wall time */
	uint64_t each_ns;	    /* 0: not measured */
	bool is_many;		    /* one a step, or more */
};

struct switch_cost switch_cost_of(const struct summary *summary, int phase);

/* CPU time of Brick's own threads inside of the programs: those that fetch a device's times. */
struct helper_cost {
	double ns;
	double most_ns; /* by which they can have held up the program */
};

struct helper_cost helper_cost_of(const struct run *run);
