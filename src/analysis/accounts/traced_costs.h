/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a driver's tracing (CUPTI) took from the steps of a run. It cannot be timed in place, so it
 * is modelled: the attacher has measured on the run's device what a call, a record and a node of a
 * graph cost there (the note "cuda.calibration"). The recorded schedule is gone through once more
 * without these costs: a command begins as soon as its call and its queue allow, a wait ends with
 * its command. A cost that the device's work hides is thereby taken back. Pure; any thread.
 */
#pragma once

#include <stdbool.h>
#include "analysis/steps/step_times.h"
#include "analysis/walk/step_index.h"
#include "trace/run.h"

/* ns of one: the estimate and its interval. */
struct traced_each {
	double ns, low_ns, high_ns;
};

/* Measured at the start of a process. */
struct traced_calibration {
	struct traced_each callbacks; /* of a call that launches or waits */
	struct traced_each record;    /* of a command that a call launches by itself */
	struct traced_each node;      /* of a command that a replay of a graph launches */
	struct traced_each device;    /* pause of the device before a command */
	/* light recording of graphs; 0 where it was not calibrated */
	struct traced_each replay, replay_device; /* of a replay that is one record */
	struct traced_each sample; /* of another one, beside its nodes: two switches */
	bool is_light;
};

struct traced_cost {
	double commands;
	double spent_ns;	    /* by the threads that launch and wait, hidden or not */
	double ns, low_ns, high_ns; /* by which the steps are longer */
};

struct traced_costs {
	struct traced_cost phases[STEP_PHASES + 1]; /* of the launching step; last: no step */
	struct traced_calibration calibration;	    /* of the process with most commands */
	double flush_ns; /* in which launches may have had to wait, in the whole run */
	bool known;	 /* each process with traced commands has been calibrated */
	const char *why; /* not known: the note that says so; NULL: no note does. Borrowed */
};

/* Reads the text of the note; false: it has no numbers. is_light is left to the caller. */
bool traced_calibration_read(struct traced_calibration *calibration, const char *text);

void traced_costs_of(
	struct traced_costs *costs, const struct run *run, const struct step_index *index);
