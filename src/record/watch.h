/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sessions of a run: finds them as they appear, takes what waits in their rings in few large
 * batches, notices when their processes are gone. One thread, which sleeps most of the time: poll()
 * on watch_fd() for at most as long as the last turn said.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "lib/drain/clock_line.h"
#include "lib/drain/drain.h"
#include "record/encoder.h"
#include "record/session_dir.h"

struct switches;

struct watch;

struct watch_options {
	const struct session_dir *dir;
	struct drain_clock *clock; /* started */
	uint32_t interval_ms;	   /* between batches of rings that do not fill up sooner */
};

/* -errno. The directory is watched from here on. */
int watch_create(struct watch **out, const struct watch_options *options);

/* Readable when something happened. */
int watch_fd(const struct watch *w);

/* Where to hand what is consumed; set it before the first turn. Also the callback it calls. */
void watch_encoder_set(struct watch *w, struct encoder *e);
void watch_session_done(void *watch, struct drain *drain);

/* Where times off a CPU come from, if from anywhere. They must live for as long as the sessions. */
void watch_switches_set(struct watch *w, struct switches *s);

/*
 * Look at everything once; returns the milliseconds until it must be done again. all: take whatever
 * waits, however little it is.
 */
uint32_t watch_turn(struct watch *w, uint64_t now_ns, int all);

/* Sessions that have not ended. */
uint32_t watch_live(const struct watch *w);

/* A process that has a session now, the one that had its first; 0: none. */
pid_t watch_process(const struct watch *w);

/* Empty and end all sessions that are left, whose processes go on. */
void watch_end_all(struct watch *w);

/* Records were consumed since the last call of this. */
bool watch_has_consumed(struct watch *w);

/* What came of it, complete once the encoder has finished. */
struct watch_totals {
	uint32_t processes;	 /* whose sessions were read */
	uint32_t lost;		 /* whose sessions could not, or only in part */
	uint32_t dead, outlived; /* of `processes`: how they ended, if not cleanly */
	uint64_t records, samples, steps, threads, dropped, refused;
	struct off_cpu_account off_cpu; /* what is known of the sessions that have ended */
	const char *fault;		/* of the first that was lost; static text */
	const char *notes;		/* of all sessions, line by line */
};
struct watch_totals watch_totals(const struct watch *w);

/* NULL is legal; the encoder must be gone. */
void watch_destroy(struct watch *w);
