/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The critical path of a run: the work that decided how long its steps took, how much later all
 * other work could have been (slack), and what a faster brick would gain. A section's path is that
 * of its steps, one after the other; gains come from scheduling every step again with the shorter
 * times. A run without steps has the path of the process that recorded most.
 *
 * The path owns what it points at, and borrows the run. Read-only once made: any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "analysis/path/schedule.h"
#include "analysis/steps/step_times.h"
#include "trace/run.h"

/* One brick in a section; all times are sums over its steps. */
struct path_row {
	const char *name;
	const char *category; /* NULL: none */
	uint32_t owner;	      /* brick, or enum schedule_owner above them */
	/*
	 * The first key in the order of rows: bricks; time that is no brick's work, such as
	 * unexplained waits; left-out bricks.
	 */
	enum path_rank { PATH_WORK, PATH_WAIT, PATH_LEFT_OUT } rank;
	uint64_t count;	 /* executions, on all threads */
	uint64_t own_ns; /* of all threads, without nested bricks; of waits: the unexplained part */
	uint64_t on_path_ns;	/* time of the row on the critical path */
	uint64_t on_path_count; /* executions whose last part is on the path */
	uint64_t estimated;	/* part of count: commands whose times are estimates */
	/* Time by which an execution could have been longer; ANALYSIS_UNKNOWN: not known. */
	uint64_t slack_mean_ns, slack_min_ns, slack_max_ns;
	uint64_t less_ns;    /* the section's time if the row took 10 % less */
	uint64_t nothing_ns; /* the section's time if the row took no time */
};

struct path_lane {
	uint32_t lane;
	uint64_t work_ns;    /* in bricks */
	uint64_t on_path_ns; /* time of the lane on the path, waits and time in no brick included */
	uint64_t waited_ns;  /* known waiting for other lanes */
};

/* A part of the path of a single step or process, in the order of time. */
struct path_hop {
	uint64_t begin_ns; /* from the begin of the schedule */
	uint64_t time_ns;
	uint32_t owner; /* brick, or enum schedule_owner above them */
	uint32_t lane;
	uint32_t sample; /* of the lane; RUN_NONE: none */
};

/* True if the sample's times are estimates. sample: RUN_NONE: there is none. */
static inline bool path_is_estimated(const struct run *run, uint32_t lane, uint32_t sample)
{
	return sample != RUN_NONE && run_sample_is_estimated(&run->lanes[lane].samples[sample]);
}

struct path_section {
	int phase;     /* enum step_phase; STEP_PHASES: no steps */
	uint32_t step; /* RUN_NONE: of all steps of the phase */
	uint64_t steps, tokens;
	uint64_t measured_ns;  /* sum of the steps' times */
	uint64_t union_ns;     /* time with at least one step running: less if steps overlap */
	uint64_t length_ns;    /* of the path; differs from measured_ns only by an error of ours */
	uint64_t switches;     /* from one lane to another, along the path */
	struct path_row *rows; /* best opportunity first */
	size_t row_count;
	struct path_lane *lanes;
	size_t lane_count;
	struct schedule_counts counts;
	struct path_hop *hops; /* of a single step or process; else NULL */
	size_t hop_count;
};

struct path {
	const struct run *run;
	struct path_section *sections;
	size_t section_count;
	size_t other_processes; /* in a run without steps: processes that recorded and have no path
				 */
};

/*
 * step: RUN_NONE for all steps, a section for each phase; else an outermost, finished step. 0,
 * -ENOMEM, or BRICK_ENOTRECORDED: no step has ended, or nothing was recorded.
 */
int path_create(
	struct path **out, const struct run *run, const struct step_index *index, uint32_t step);
/* As path_create(), with a source that the caller has made, for callers that need several paths. */
int path_create_from(struct path **out, const struct schedule_source *source, const struct run *run,
	const struct step_index *index, uint32_t step);
void path_destroy(struct path *path);

/*
 * Tokens per second if the section took `ns` (as less_ns), scaled to the time in which at least one
 * step ran, as in the report; negative: it has no tokens.
 */
double path_tokens_per_s(const struct path_section *section, uint64_t ns);

/* Name of an owner: of a brick, BarrierWait, "unattributed", "thread start". */
const char *path_owner_name(const struct run *run, uint32_t owner);
