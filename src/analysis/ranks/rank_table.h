/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All that is known of a job's ranks: a row for each, their clocks, the collectives and messages
 * that they have in common, steps, and the critical path. rank_job.h fills it in. Pure; one thread
 * at a time.
 */
#pragma once

#include <math.h>
#include "analysis/ranks/rank_calls.h"
#include "base/array.h"
#include "base/hash_index.h"

/* Part of the critical path on one rank, by its clock. */
struct rank_stretch {
	uint64_t from_ns, to_ns;
};

/* A part of the critical path's time, on one rank. */
struct rank_column {
	uint64_t ns;	/* the rank worked on the path */
	uint32_t brick; /* in which most of that was; RUN_NONE: in none */
};

/* Time in which a rank waited in a receive until another one began to send, by its own clock. */
struct rank_debt {
	uint64_t from_ns, to_ns;
	uint32_t source; /* row of the other one */
};

struct rank_row {
	int32_t rank, world;
	uint32_t pid;
	uint32_t clock;	  /* index in job->clocks */
	uint32_t source;  /* number of its recording, from 0 */
	char *host;	  /* NULL: not known */
	uint64_t steps;	  /* that ended; without warm-ups and drafts */
	uint64_t tokens;  /* of the phase that took the recording most time; ANALYSIS_UNKNOWN */
	uint64_t wall_ns; /* of that phase; ANALYSIS_UNKNOWN: several ranks share the recording */
	uint64_t collectives, bytes; /* which it began, and the bytes that it gave to them */
	/* waiting for collectives, and for ranks to send, on the thread that began them */
	uint64_t exposed_ns;
	uint64_t work_ns;   /* from collective to collective, without exposed_ns */
	uint64_t last;	    /* collectives to which it came last */
	uint64_t waited_ns; /* part of exposed_ns: for a rank that had not come, or sent */
	uint64_t caused_ns; /* waited_ns of other ranks because of it, added up */
	const char *brick;  /* took it longer than the others before it came last; NULL: time in no
			       brick */
	bool was_preempted; /* in place of a brick: it did not run */
	uint64_t longer_ns; /* ... by so much in all; 0: nothing did */
	uint64_t preempted_ns; /* it did not run for so much longer than the others */
	bool is_late;	   /* it had more work than the others before collectives, beyond chance */
	bool is_late_busy; /* ... also without time that ranks were preempted */
	double behind_ns;  /* ... by so much before each; NAN: not known, or they are too few */
	uint64_t path_ns;  /* of the critical path: it worked */

	/* used while the job is made */
	struct rank_calls calls;
	int64_t *over_ns; /* [calls.count], of the job: all had come to it and those before */
	double *longer;	  /* [bricks + 2]: by brick; in no brick; preempted */
	double *on_path;  /* [bricks + 1]: path_ns by brick; in no brick */
	struct rank_column *strip;	 /* [job->strip.columns]; NULL: never on the path */
	ARRAY(struct rank_stretch) path; /* where it worked, by time */
	ARRAY(struct rank_debt) debts;	 /* by time, one after the other */
};

/* The time of the job is that of the first clock. */
struct rank_clock {
	uint64_t origin_ns; /* time of the clock that the line begins at */
	double offset_ns, drift;
	bool is_aligned;    /* its line is known */
	double bound_ns;    /* no further from the truth; INFINITY: not known */
	double residual_ns; /* median distance of common ends from the line; NAN: there are none */
};

/* One end of a message between ranks. */
struct rank_message {
	uint64_t key;	       /* message_key() */
	uint64_t begin_ns, ns; /* by the rank's clock: sent from begin_ns on, received by ns */
	int32_t rank;
	bool is_received;
	bool is_beside; /* not on the thread of the rank's calls */
};

/* A message whose two ends are known. Times are by the clocks of the two. */
struct rank_passage {
	uint32_t from, to; /* rows */
	uint64_t sent_ns;
	uint64_t begin_ns, received_ns; /* of the call that received it */
	bool is_beside;			/* the receiver's other threads did not wait for it */
};

/* A collective of several ranks. */
struct rank_meeting {
	uint64_t kind;
	uint32_t communicator; /* 0: not known; it is the next one of all ranks */
	uint32_t ranks;	       /* that came to it */
	uint32_t aligned;      /* ... whose clocks are aligned */
	/* row of the last of these, or of the one that gives the others something; RUN_NONE */
	uint32_t last;
	int64_t latest_ns;	      /* it came, by the time of the job */
	bool joins, is_whole;	      /* is_whole: all came, to the same */
	bool differs;		      /* it is not the same for all */
	uint32_t step;		      /* number, as its first rank counts them; 0: none */
	double early_ns;	      /* by so much ranks came before the last one, added up */
	double work_ns, work_most_ns; /* before it: of all its ranks, and the most of one */
	double busy_ns;	 /* of all its ranks, without time that they were preempted ... */
	bool lacks_busy; /* ... which is not known of all */
};

/* What ranks did before the collectives of a step. */
struct rank_step {
	uint32_t number; /* as the first rank's recording counts */
	uint32_t late;	 /* row of the last one to come where ranks came furthest apart; RUN_NONE */
	double late_ns, early_ns; /* rank_meeting.early_ns, the most of one and all */
	uint64_t waited_ns;	  /* by all of its ranks, for some that had not come */
	double mean_ns, most_ns;  /* work, of the mean and of the rank with the most */
	double *longer;		  /* rank_row.longer of `late`; NULL: of another than the worst */
	const char *brick;	  /* the same, for this step alone, as in rank_row */
	bool was_preempted;
	uint64_t longer_ns;
};

/* The most work of a rank above the mean; negative: not known. */
static inline double rank_step_imbalance(const struct rank_step *step)
{
	return step->mean_ns > 0 ? step->most_ns / step->mean_ns - 1 : -1;
}

enum { RANK_WORST_STEPS = 8, RANK_PATH_PARTS = 8, RANK_STRIP_COLUMNS = 240 };

/* Work on the critical path. */
struct rank_part {
	uint32_t row;
	const char *brick; /* NULL: in none */
	uint64_t ns;
};

/* The critical path over time: columns of equal length, of which the last one may be shorter. */
struct rank_strip {
	int64_t from_ns; /* by the time of the job */
	uint64_t column_ns;
	uint32_t columns;		  /* 0: there is no path */
	double *exchange_ns, *message_ns; /* [columns]: as those of the job */
};

struct rank_brick {
	char *name, *category;
};

struct rank_job {
	struct rank_row *rows; /* by rank */
	uint32_t count;
	struct rank_clock *clocks;
	uint32_t clock_count;
	uint64_t collectives; /* to which all came; 0: ranks have none in common */
	uint64_t compared;    /* ... several of which have aligned clocks */
	double imbalance;     /* the most work of a rank above the mean; negative: not known */
	uint64_t paired;      /* messages between clocks of which both ends are known */
	uint64_t disordered;  /* collectives and messages that the aligned times contradict */
	double disordered_ns; /* ... by so much at most */
	bool is_twice;	      /* a rank has two processes that have collectives */
	bool is_judged;	      /* there are enough collectives to say which ranks are late */
	bool has_preempted;   /* a rank was preempted between collectives */

	/* The critical path, from the first collective or message of ranks to the last; 0: none. */
	uint64_t path_ns;
	double exchange_ns; /* part of it: in collectives after all had come */
	double message_ns;  /* ... in messages after they were sent */
	struct rank_part parts[RANK_PATH_PARTS];
	uint32_t part_count; /* those with the most work, the most first */
	struct rank_strip strip;

	/* Steps that have collectives. */
	struct rank_step *steps;
	size_t step_count;
	struct rank_step *worst[RANK_WORST_STEPS]; /* the most waited_ns first */
	uint32_t worst_count;
	double step_imbalance, step_imbalance_most; /* median, and of the worst; negative: none */
	char *launcher;				    /* NULL: not known */

	uint32_t sources;
	ARRAY(struct rank_message) messages;
	ARRAY(struct rank_passage) passages;
	struct rank_meeting *meetings;
	size_t meeting_count;
	ARRAY(struct rank_brick) bricks; /* of all recordings */
	struct hash_index names;
	uint32_t ordered_bricks; /* of them, when ranks were put in order */
	size_t row_capacity;
};

/* Time of the job, of a clock's own. */
static inline int64_t rank_clock_time(const struct rank_clock *clock, uint64_t ns)
{
	int64_t since = (int64_t)(ns - clock->origin_ns), time;

	if (clock->offset_ns == 0 && clock->drift == 0) /* exact also beyond a double's precision */
		return since;
	double ahead = clock->offset_ns + clock->drift * (double)since;
	ahead = fmin(fmax(ahead, -0x1p62), 0x1p62); /* hostile recordings have any times */
	if (__builtin_add_overflow(since, llround(ahead), &time))
		return since < 0 ? INT64_MIN : INT64_MAX;
	return time;
}

/* The time of a clock, of the job's. */
static inline uint64_t rank_clock_own(const struct rank_clock *clock, int64_t time)
{
	double since = ((double)time - clock->offset_ns) / (1 + clock->drift);
	double ahead = fmin(fmax(clock->offset_ns + clock->drift * since, -0x1p62), 0x1p62);

	return (uint64_t)time - (uint64_t)llround(ahead) + clock->origin_ns;
}

/* Whole ns within what a number holds; 0: less than 0, or NAN. */
static inline uint64_t rank_job_ns(double ns)
{
	return ns >= 0x1p64 ? UINT64_MAX : ns > 0 ? (uint64_t)ns : 0;
}
