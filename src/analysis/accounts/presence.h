/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures who else used the machine: how busy its CPUs were and with whom, and which part of the
 * steps their threads were off their CPUs. Pure; any thread.
 */
#pragma once

#include "analysis/walk/step_index.h"
#include "trace/run.h"

/* Shares, 0 to 1; negative: not known. */
struct presence {
	/* of the time of all CPUs while it was recorded */
	double busy;   /* with anything */
	double others; /* with other processes than the program, its children and the recorder */
	double interrupts;	 /* of `busy`: the kernel served devices */
	double interrupted_cpu;	 /* the number of the CPU that they took most of */
	double interrupts_there; /* share of its time */
	double steal;		 /* taken by the host of this virtual machine */
	double neighbour;	 /* with the one other process that used most */
	/* of the time of all steps, a device's work for them included, on the threads that run them
	 */
	double known; /* switches were recorded in the whole step; the next three are of these steps
		       */
	double preempted, blocked;
	double off; /* both; also by the CPU time of each step, where switches are not known */
	/* where switches are not known: of the time of threads that record, by the scheduler */
	double queued, idle; /* could have run and had no CPU; neither ran nor could have */
};

void presence_of_run(
	struct presence *presence, const struct run *run, const struct step_index *index);
