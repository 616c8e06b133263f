/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watches the sessions of a run: finds new sessions, consumes their rings in few large batches, and
 * ends the sessions of processes that are gone. One thread, which sleeps most of the time: it polls
 * watch_fd() for at most as long as watch_turn() has returned.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "lib/drain/clock_line.h"
#include "lib/drain/drain.h"
#include "record/encoder.h"
#include "record/session_dir.h"

struct fault_records;
struct switches;

struct watch;

struct watch_options {
	const struct session_dir *dir; /* outlives the watch */
	struct drain_clock *clock;     /* started; outlives the watch */
	uint32_t interval_ms;	       /* the longest time that records wait in a ring */
};

/*
 * 0 or -errno. Sessions that appear from here on wake up a poll() of watch_fd(), unless the system
 * has no inotify instance left: then each turn reads the directory.
 */
int watch_create(struct watch **out, const struct watch_options *options);

/* An epoll descriptor, readable when a turn is due. The watch closes it. */
int watch_fd(const struct watch *w);

/* Where consumed records go. Set it before the first turn. */
void watch_encoder_set(struct watch *w, struct encoder *e);

/* The encoder's encoder_done_fn; its context is the watch. */
void watch_session_done(void *watch, struct drain *drain);

/* Where intervals off the CPU come from; optional. `s` must outlive the watch. */
void watch_switches_set(struct watch *w, struct switches *s);

/* Before watch_turn(): page faults are to be handed to the encoder, too. */
void watch_faults_set(struct watch *w, struct fault_records *f);

/* Hand the kernel's records of switches to the encoder now, those that wait, too. */
void watch_switches_read(struct watch *w);

/*
 * Look at all sessions once. all: consume even a little. Returns the ms until the next turn is due.
 */
uint32_t watch_turn(struct watch *w, uint64_t now_ns, int all);

/* The number of sessions that have not ended. */
uint32_t watch_live(const struct watch *w);

/* The process whose live session is the oldest; 0: there is none, or its number is unknown. */
pid_t watch_process(const struct watch *w);

/* Consume and end all live sessions, although their processes may go on. After the last turn. */
void watch_end_all(struct watch *w);

/*
 * Consume of all live sessions what there is, and leave them to the next recorder. After the last
 * turn; watch_left() counts them once the encoder has finished.
 */
void watch_leave_all(struct watch *w);
void watch_left(struct watch *w);

/* True if records were consumed since the last call. */
bool watch_has_consumed(struct watch *w);

/* Sums over sessions that have been emitted; complete after encoder_finish(). */
struct watch_totals {
	uint32_t processes; /* sessions that were read to their end */
	uint32_t lost;	    /* sessions that could not be read, or only in part */
	uint32_t dead;	    /* the part of `processes` that died without closing the session */
	uint32_t outlived;  /* the part of `processes` that still ran when recording ended */
	/* sums of struct drain_counts */
	uint64_t records, samples, steps, threads, dropped, refused;
	struct off_cpu_account off_cpu; /* of ended sessions: lost, and the scheduler's counts */
	const char *fault;		/* of the first lost session; static text; NULL: none */
	const char *notes; /* "key=value" lines of all sessions; valid until watch_session_done() */
};
struct watch_totals watch_totals(const struct watch *w);

/* NULL is legal. The encoder must be gone, because its messages refer to sessions. */
void watch_destroy(struct watch *w);
