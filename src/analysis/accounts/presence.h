/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures what disturbed a run: how busy the machine's CPUs were and with which processes, and for
 * which part of the steps their threads were off their CPUs. Pure; any thread.
 */
#pragma once

#include "analysis/walk/step_index.h"
#include "trace/run.h"

/* Shares are 0 to 1. Negative: not known. All members are doubles (see presence_of_run()). */
struct presence {
	/* shares of the time of all CPUs while the run was recorded */
	double busy;		/* doing anything */
	double others;		/* in processes beside the program, its children and the recorder */
	double interrupts;	/* serving interrupts of devices; a part of `busy` */
	double interrupted_cpu; /* number of the CPU that served most of them; no share */
	double interrupts_there; /* share of this CPU's time that interrupts took */
	double steal;		 /* taken by the host of this virtual machine */
	double neighbour;	 /* in the busiest of the other processes */

	/* shares of the steps' time, devices' tails included, on the threads that run them */
	double known;	  /* steps in which all switches of threads were recorded */
	double preempted; /* these two are shares of `known` steps only */
	double blocked;
	double off; /* their sum; without switches: of whole steps, by counters of CPU time */

	/* shares of the time of recording threads, by the scheduler's sums */
	double queued; /* ready to run, without a CPU */
	double idle;   /* neither running nor ready */
};

/* True if others disturbed the recording (base/disturbed.h); false where that is not known. */
bool presence_is_disturbed(const struct run *run);

void presence_of_run(
	struct presence *presence, const struct run *run, const struct step_index *index);
