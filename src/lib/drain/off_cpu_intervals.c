/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps for each thread since when it is off its CPU; a thread that is on one has no entry. A
 * thread that never comes back (it has ended) leaves its entry until its number is used again.
 * After a loss all entries go: what follows is known again as soon as each thread leaves its CPU.
 */
#include "lib/drain/off_cpu_intervals.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/hashmap.h"
#include "lib/sys/switches.h"

struct off_cpu_recorder {
	struct brick__switches *switches; /* NULL: stopped */
	struct hashmap since;		  /* tid -> time << 1 | preempted */
	uint64_t lost;			  /* of the switches, when they were last read */
	uint64_t lost_before, taken;	  /* before they were stopped last; that were handed out */
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

	r->taken++;
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
	if (!r->switches)
		return 0;
	int error = brick__switches_read(r->switches, now_ns - OFF_CPU_VISIBLE_NS, take_switch, r);
	if (brick__switches_lost(r->switches) != r->lost) {
		r->lost = brick__switches_lost(r->switches);
		hashmap_clear(&r->since);
	}
	return error ? error : r->error;
}

uint64_t off_cpu_lost(const struct off_cpu_recorder *r)
{
	return r->lost_before + (r->switches ? brick__switches_lost(r->switches) : 0);
}

unsigned off_cpu_fill(const struct off_cpu_recorder *r)
{
	return r->switches ? brick__switches_fill(r->switches) : 0;
}

uint64_t off_cpu_seen(const struct off_cpu_recorder *r)
{
	uint64_t waiting = r->switches ? brick__switches_waiting(r->switches) : 0;

	return r->taken + off_cpu_lost(r) + waiting;
}

void off_cpu_stop(struct off_cpu_recorder *r)
{
	r->lost_before = off_cpu_lost(r);
	brick__switches_close(r->switches);
	r->switches = NULL;
	r->lost = 0;
	hashmap_clear(&r->since);
}

int off_cpu_wait_fd(const struct off_cpu_recorder *r)
{
	return r->switches ? brick__switches_wait_fd(r->switches) : -1;
}

/* Those that are not followed yet; each is then `followed`. */
static int follow_listed(struct brick__switches *s, DIR *threads, struct hashmap *followed)
{
	const struct dirent *entry;
	int error = 0;

	while (!error && (entry = readdir(threads))) {
		pid_t tid = atoi(entry->d_name); /* 0 of "." and ".." */
		if (tid <= 0 || hashmap_get(followed, (uint64_t)tid) != HASHMAP_NONE)
			continue;
		error = brick__switches_add(s, tid);
		if (!error)
			error = hashmap_set(followed, (uint64_t)tid, 1);
	}
	return error;
}

/* Again and again, as a thread that is not followed yet may start others meanwhile. */
static int follow_threads(struct brick__switches *s, pid_t pid, struct hashmap *followed)
{
	char path[32];
	size_t before;
	int error = 0;

	snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
	do {
		DIR *threads = opendir(path);
		before = followed->count;
		if (!threads)
			return 0; /* it has ended */
		error = follow_listed(s, threads, followed);
		closedir(threads);
	} while (!error && followed->count > before);
	return error;
}

int off_cpu_resume(struct off_cpu_recorder *r, const pid_t *pids, size_t count)
{
	struct hashmap followed = {0};
	struct brick__switches *s = NULL;
	int error = r->switches ? -EALREADY : brick__switches_create(&s);

	for (size_t i = 0; i < count && !error; i++)
		error = follow_threads(s, pids[i], &followed);
	if (!error && !followed.count)
		error = -ESRCH;
	hashmap_fini(&followed);
	if (error)
		brick__switches_close(s);
	else
		r->switches = s;
	return error;
}

void off_cpu_destroy(struct off_cpu_recorder *r)
{
	if (!r)
		return;
	brick__switches_close(r->switches);
	hashmap_fini(&r->since);
	free(r);
}
