/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times off the CPU: from the kernel to the sessions that they belong to, for as long as it costs
 * the program next to nothing: 0.2 % of the CPUs that it uses, and 2 ms of each at once. What
 * exceeds the share is a debt, which time pays off. It is reckoned from when a thread begins to
 * record: however much a program switches while it loads its model, its first step is known. One
 * thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "lib/drain/off_cpu.h"
#include "format/machine_use.h"
#include "record/encoder.h"

struct watched;

/* Whether it is recorded when threads are off their CPUs. */
enum off_cpu_when {
	OFF_CPU_NEVER,
	OFF_CPU_ALWAYS,	  /* whatever it costs the program */
	OFF_CPU_IF_CHEAP, /* while it costs the program next to nothing */
};

/* What it may cost: pure. */

/* Zero but for at_ns, when recording began. */
struct switch_budget {
	uint64_t at_ns;	  /* reckoned up to here */
	uint64_t each_ns; /* what one takes; 0: not measured, then more than it is anywhere */
	uint64_t per_s;	  /* so many were there when the debt last grew, for 1 ms or longer */
	uint64_t unrated, unrated_ns; /* ... times and time that are not in it yet */
	uint64_t resumed_ns;	      /* 0: never stopped */
	double debt_ns;
	unsigned stops; /* one soon after another */
};

/*
 * So many times off the CPU since it was reckoned last, on `cpus` CPUs. Returns in how many ms the
 * debt will be too large if all goes on like this; 0: it is.
 */
uint32_t switch_budget_spend(
	struct switch_budget *b, uint64_t times, unsigned cpus, uint64_t now_ns);

/* The cost was measured, and the debt is reckoned by it. 1: it is too large. */
int switch_budget_measured(struct switch_budget *b, uint64_t each_ns, unsigned cpus);

/* Recording stops: until when? For 1 s, or twice as long as last time if that was just before. */
uint64_t switch_budget_stop(struct switch_budget *b, uint64_t now_ns);

/* Recording goes on. */
void switch_budget_resume(struct switch_budget *b, uint64_t now_ns);

/* ---- what it costs a thread that the kernel records when it leaves its CPU (lib/sys/switches.h)
 * ---- */

enum { SWITCH_COST_ROUNDS = 64 };

/*
 * Two threads on one CPU hand a byte to and fro, in turns recorded and not: CPU time of both, since
 * the kernel books a switch's work to either. more_ns [blocks] gets, sorted, by what a time off the
 * CPU took longer when it was recorded; a block takes a millisecond. Errors as those of
 * brick__switches_join(), -EAGAIN.
 */
int switch_cost_measure(double *more_ns, int blocks);

/* Blocks of a measurement: while a program is recorded, and of the one that is kept. */
enum { SWITCH_COST_QUICK = 5, SWITCH_COST_BLOCKS = 12 };

/* The quartiles into the account, where switches are known; as they were after an error. */
void switch_cost_account(struct off_cpu_account *account, int blocks);

/* The times themselves. */

struct switches {
	enum off_cpu_when when;
	struct off_cpu_recorder *recorder; /* NULL: not known */
	int error;			   /* why: -errno; 0: not asked for */
	int epoll_fd;			   /* that is to tell when there are many */
	uint64_t read_ns;		   /* when they were read last */
	uint64_t lost;	       /* that could not be handed over, for lack of memory or ... */
	uint64_t untold, told; /* ... as the thread had ended: in other PID namespaces */
	uint64_t seen;	       /* of off_cpu_seen(), spent from the budget */
	bool has_begun;	       /* a thread records: what comes before costs no step anything */
	struct switch_budget budget;
	uint64_t resume_ns; /* when it is tried again, while the last gap is open */
	uint32_t gap_count;
	struct off_cpu_gap gaps[OFF_CPU_GAPS];
};

/* Of a program that has not done its exec yet. */
void switches_follow(struct switches *s, pid_t program, enum off_cpu_when when);

/* An epoll descriptor of the caller's, for the end: becomes readable when it is time for a turn. */
void switches_wait_with(struct switches *s, int epoll_fd);

/*
 * Read what has ended by now, if it is time, and hand it to the encoder, session by session; what
 * processes without a session did goes. all: it is time. Returns milliseconds until the next turn.
 */
uint32_t switches_turn(struct switches *s, struct watched *sessions, struct encoder *e,
	uint32_t interval_ms, uint64_t now_ns, int all);

/* Are, or were, the scheduler's own counts all that is known? */
int switches_fall_back(const struct switches *s);

void switches_account(const struct switches *s, struct off_cpu_account *account);

void switches_fini(struct switches *s);
