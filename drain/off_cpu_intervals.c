/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps for each thread since when it is off its CPU; a thread that is on one has no entry. A
 * thread that never comes back (it has ended) leaves its entry until its number is used again.
 * After a loss all entries go: what follows is known again as soon as each thread leaves its CPU.
 */
#include "drain/off_cpu_intervals.h"

#include <errno.h>
#include <stdlib.h>
#include "base/hashmap.h"
#include "lib/sys/switches.h"

/* A record may become visible a little after the time that it carries. */
enum { VISIBLE_NS = 100000 };

struct off_cpu_recorder {
	struct brick__switches *switches;
	struct hashmap since; /* tid -> time << 1 | preempted */
	uint64_t lost;	      /* of the switches, when they were last read */
	/* during off_cpu_read() */
	off_cpu_fn take;
	void *context;
	int error;
};

static int create(struct off_cpu_recorder **out, pid_t pid)
{
	struct off_cpu_recorder *r = calloc(1, sizeof *r);
	int error = !r	  ? -ENOMEM
		    : pid ? brick__switches_follow(&r->switches, pid)
			  : brick__switches_create(&r->switches);

	if (error)
		free(r);
	else
		*out = r;
	return error;
}

int off_cpu_create(struct off_cpu_recorder **out, pid_t pid)
{
	return create(out, pid);
}

int off_cpu_create_own(struct off_cpu_recorder **out)
{
	return create(out, 0);
}

int off_cpu_join(struct off_cpu_recorder *r)
{
	return brick__switches_join(r->switches);
}

void off_cpu_leave(struct off_cpu_recorder *r)
{
	brick__switches_leave(r->switches);
}

int off_cpu_available(void)
{
	struct off_cpu_recorder *r;
	int error = off_cpu_create_own(&r);

	if (error)
		return error;
	error = off_cpu_join(r);
	off_cpu_destroy(r);
	return error;
}

static void take_switch(void *context, const struct brick__switch *s)
{
	struct off_cpu_recorder *r = context;

	if (s->out) {
		int error = hashmap_set(&r->since, s->tid, s->time_ns << 1 | s->preempted);
		r->error = error ? error : r->error;
		return;
	}
	uint64_t since = hashmap_take(&r->since, s->tid);
	if (since == HASHMAP_NONE || since >> 1 >= s->time_ns)
		return;
	const struct off_cpu interval = {
		.begin_ns = since >> 1,
		.end_ns = s->time_ns,
		.pid = s->pid,
		.tid = s->tid,
		.why = since & 1 ? OFF_CPU_PREEMPTED : OFF_CPU_BLOCKED,
	};
	r->take(r->context, &interval);
}

int off_cpu_read(struct off_cpu_recorder *r, uint64_t now_ns, off_cpu_fn take, void *context)
{
	r->take = take;
	r->context = context;
	r->error = 0;
	int error = brick__switches_read(r->switches, now_ns - VISIBLE_NS, take_switch, r);
	if (brick__switches_lost(r->switches) != r->lost) {
		r->lost = brick__switches_lost(r->switches);
		hashmap_clear(&r->since);
	}
	return error ? error : r->error;
}

uint64_t off_cpu_lost(const struct off_cpu_recorder *r)
{
	return brick__switches_lost(r->switches);
}

unsigned off_cpu_fill(const struct off_cpu_recorder *r)
{
	return brick__switches_fill(r->switches);
}

void off_cpu_destroy(struct off_cpu_recorder *r)
{
	if (!r)
		return;
	brick__switches_close(r->switches);
	hashmap_fini(&r->since);
	free(r);
}
