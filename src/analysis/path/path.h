/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The critical path of a run: the work that decided how long its steps took, how much later all
 * other work could have been, and the gain of a faster brick. Steps follow one another, so that the
 * path of a phase is that of its steps put together; what-if runs the schedule of every step again.
 * A run without steps has the path of the process that recorded most.
 *
 * Owned by the path, which borrows the run. Read-only once made: any thread.
 */
#pragma once

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
	 * Rows are ordered by this first: bricks; time that is nobody's work, such as unexplained
	 * waits; left-out bricks.
	 */
	enum path_rank { PATH_WORK, PATH_WAIT, PATH_LEFT_OUT } rank;
	uint64_t count;	 /* executions, on all threads */
	uint64_t own_ns; /* of all threads: less nested bricks; of waits: the part that nothing
			    explains */
	uint64_t on_path_ns;
	uint64_t on_path_count; /* executions whose last part is on the path */
	/* by how much one execution could have been longer; ANALYSIS_UNKNOWN: nothing says */
	uint64_t slack_mean_ns, slack_min_ns, slack_max_ns;
	uint64_t less_ns;    /* the section's time if this took 10 % less */
	uint64_t nothing_ns; /* ... if it took no time at all */
};

struct path_lane {
	uint32_t lane;
	uint64_t work_ns;    /* in bricks */
	uint64_t on_path_ns; /* of all it did, waits and rests included */
	uint64_t waited_ns;  /* for others, as far as that is known */
};

/* A part of the path of a single step or process, in the order of time. */
struct path_hop {
	uint64_t begin_ns; /* from the begin of the schedule */
	uint64_t time_ns;
	uint32_t owner, lane;
	uint32_t sample; /* RUN_NONE: none */
};

struct path_section {
	int phase;     /* enum step_phase; STEP_PHASES: no steps */
	uint32_t step; /* RUN_NONE: of all steps of the phase */
	uint64_t steps, tokens;
	uint64_t measured_ns;
	uint64_t union_ns; /* with at least one of the steps running; the same where none overlap */
	uint64_t length_ns;    /* of the path: the measured time, or something is wrong */
	uint64_t switches;     /* from one thread or queue to another, along the path */
	struct path_row *rows; /* best opportunity first */
	size_t row_count;
	struct path_lane *lanes;
	size_t lane_count;
	struct schedule_counts counts;
	struct path_hop *hops; /* of a single step or process */
	size_t hop_count;
};

struct path {
	const struct run *run;
	struct path_section *sections;
	size_t section_count;
	size_t other_processes; /* that recorded, too, in a run without steps */
};

/*
 * step: RUN_NONE for all steps, by phase; else an outermost, finished one. -ENOMEM.
 * BRICK_ENOTRECORDED: no step has ended, or nothing was recorded.
 */
int path_create(
	struct path **out, const struct run *run, const struct step_index *index, uint32_t step);
/* As path_create(), from data that were found already, for callers that ask for several. */
int path_create_from(struct path **out, const struct schedule_source *source, const struct run *run,
	const struct step_index *index, uint32_t step);
void path_destroy(struct path *path);

/*
 * Tokens per second when the section takes so long, by the time in which at least one step ran, as
 * in the report; negative when it has no tokens.
 */
double path_tokens_per_s(const struct path_section *section, uint64_t ns);

/* Name of an owner: of a brick, BarrierWait, "unattributed", "thread start". */
const char *path_owner_name(const struct run *run, uint32_t owner);
