/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hands the kernel's records of threads off their CPUs to the threads' sessions. With
 * OFF_CPU_IF_CHEAP, recording may cost the program 0.2 % of the CPUs that it uses, and up to 2 ms
 * of each CPU in advance. A budget books the costs above that share as a debt, which time pays off;
 * too large a debt stops recording for a while. The budget begins when a thread begins to record,
 * so that switches during the loading of a model do not use it up before the first step. One
 * thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "lib/drain/off_cpu.h"
#include "format/machine_use.h"
#include "record/encoder.h"

struct watched;

/* When intervals off the CPU are recorded. */
enum off_cpu_when {
	OFF_CPU_NEVER,
	OFF_CPU_ALWAYS,	  /* whatever it costs the program */
	OFF_CPU_IF_CHEAP, /* while the budget allows it */
};

/* The budget. Pure. */

/* All 0 at first but for at_ns, the time at which recording began. Times are CLOCK_MONOTONIC's. */
struct switch_budget {
	uint64_t at_ns;	  /* switches until then are booked */
	uint64_t each_ns; /* cost of recording one interval; 0: not measured, 4 us is assumed */
	uint64_t per_s;	  /* intervals per second, over 1 ms or longer, when the debt last grew */
	uint64_t unrated; /* intervals that are not in per_s yet */
	uint64_t unrated_ns; /* the time in which these occurred */
	uint64_t resumed_ns; /* when recording last went on after a stop; 0: it never stopped */
	double debt_ns;	     /* CPU time above the share; never negative */
	unsigned stops;	     /* so far, in quick succession: each pause is longer */
};

/*
 * Book `times` intervals since at_ns, on `cpus` CPUs. Returns the ms until the debt will be too
 * large if the rate stays the same (1 to 1000); 0: the debt is too large now.
 */
uint32_t switch_budget_spend(
	struct switch_budget *b, uint64_t times, unsigned cpus, uint64_t now_ns);

/* Set the measured cost, and convert the debt to it. True: the debt is too large. */
bool switch_budget_measured(struct switch_budget *b, uint64_t each_ns, unsigned cpus);

/*
 * Recording stops. Returns the time at which it may go on: 1 s later at first. Each stop soon after
 * the last one doubles the pause, up to 64 s.
 */
uint64_t switch_budget_stop(struct switch_budget *b, uint64_t now_ns);

/* Recording goes on. */
void switch_budget_resume(struct switch_budget *b, uint64_t now_ns);

/* The cost of a recorded interval (lib/sys/switches.h) to the thread that leaves its CPU. */

enum { SWITCH_COST_ROUNDS = 64 }; /* intervals of one timed part of a block */

/*
 * Measure the cost in `blocks` blocks of about a millisecond each. In a block, two threads on one
 * CPU hand a byte to and fro, first without and then with recording. The CPU time of both threads
 * counts, since the kernel books the work of a switch to either. more_ns [blocks] gets, in
 * ascending order, the additional ns per interval. 0; errors as those of brick__switches_join(), or
 * -EAGAIN.
 */
int switch_cost_measure(double *more_ns, int blocks);

/* Blocks of a measurement, at most SWITCH_COST_BLOCKS. */
enum {
	SWITCH_COST_QUICK = 5,	 /* while a program is being recorded */
	SWITCH_COST_BLOCKS = 12, /* at the end, for the recording */
};

/*
 * Measure the cost, and write its quartiles to the account's cost_*_ns. After an error, and unless
 * the source is OFF_CPU_SWITCHES, they stay as they are.
 */
void switch_cost_account(struct off_cpu_account *account, int blocks);

/* Reading and handing over the intervals. */

/* All 0 is legal: there is nothing to read. */
struct switches {
	enum off_cpu_when when;
	struct off_cpu_recorder *recorder; /* NULL: intervals are not known */
	int error;			   /* why: -errno or OFF_CPU_ELSEWHERE; 0: not asked for */
	int epoll_fd;			   /* the caller's; see switches_wait_with() */
	uint64_t read_ns; /* when the intervals were read last, by CLOCK_MONOTONIC */
	uint64_t lost;	  /* intervals lost for lack of memory, and `untold` */
	uint64_t untold;  /* intervals of threads in other PID namespaces that ended unnamed */
	uint64_t told;	  /* intervals of other threads in these namespaces */
	uint64_t seen;	  /* the part of off_cpu_seen() that the budget has booked */
	bool has_begun;	  /* a thread has begun to record, and with it the budget */
	struct switch_budget budget;
	uint64_t resume_ns; /* when to try again, while the last gap is open; UINT64_MAX: never */
	bool is_held;	    /* recording is switched off, and so are the kernel's events */
	bool is_to_follow;  /* it is on again, and no process was found to be followed yet */
	bool was_held;	    /* at some time: a new process's parent may not be followed */
	uint32_t gap_count;
	struct off_cpu_gap gaps[OFF_CPU_GAPS]; /* the last is open if its end_ns is UINT64_MAX */
};

/* Call it once on all 0, between the program's fork and its exec. An error goes into s->error. */
void switches_follow(struct switches *s, pid_t program, enum off_cpu_when when);

/* The same before a running process is entered: switches_enter() follows it. */
void switches_follow_running(struct switches *s, enum off_cpu_when when);

/* A process whose threads are all stopped is about to be recorded. */
void switches_enter(struct switches *s, pid_t pid);

/*
 * Make the caller's epoll_fd readable when many switches are due. It stays open to the last turn.
 */
void switches_wait_with(struct switches *s, int epoll_fd);

/*
 * Recording is switched off (`held`), or on: then the kernel's events are opened for the processes
 * that have a session at the next turns. What threads do between the two counts as nothing.
 */
void switches_hold(struct switches *s, bool held);

/*
 * If it is due, or with `all`: read the intervals that have ended, and hand them to the encoder,
 * session by session. Intervals of processes without a session are dropped. Stops and resumes
 * recording by the budget. Returns the ms until the next turn.
 */
uint32_t switches_turn(struct switches *s, struct watched *sessions, struct encoder *e,
	uint32_t interval_ms, uint64_t now_ns, int all);

/* True if intervals are, or were for a time, unknown: the scheduler's own counts are used then. */
bool switches_fall_back(const struct switches *s);

/* Sets all members but watched_ns, ran_ns and queued_ns. */
void switches_account(const struct switches *s, struct off_cpu_account *account);

/* `s` is all 0 afterwards. */
void switches_fini(struct switches *s);
