/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times off the CPU: from the kernel to the sessions that they belong to, as long as it costs the
 * program next to nothing. One thread.
 */
#pragma once

#include "record/encoder.h"
#include "record/recorder_options.h"
#include "record/switch_budget.h"
#include "record/watched.h"
#include "lib/drain/off_cpu_intervals.h"

struct switches {
	enum off_cpu_when when;
	struct off_cpu_recorder *recorder; /* NULL: not known */
	int error;			   /* why: -errno; 0: not asked for */
	int epoll_fd;			   /* that is to tell when there are many */
	uint64_t read_ns;		   /* when they were read last */
	uint64_t lost;	       /* that could not be handed over, for lack of memory or ... */
	uint64_t untold, told; /* ... as the thread had ended: in other PID namespaces */
	uint64_t seen;	       /* of off_cpu_seen(), spent from the budget */
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
