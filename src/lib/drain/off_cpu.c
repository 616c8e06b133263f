/* SPDX-License-Identifier: Apache-2.0 */
/* Times off a CPU: from the kernel's switches to intervals, and from threads to lanes. */
#include "lib/drain/off_cpu.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/hashmap.h"
#include "lib/sys/switches.h"

/*
 * Keeps since when each thread is off its CPU; a thread on a CPU has no entry. A thread that has
 * ended leaves its entry until its number is used again. After a loss all entries go: a thread is
 * known again as soon as it leaves its CPU.
 */

struct off_cpu_recorder {
	struct brick__switches *switches; /* NULL: stopped */
	struct hashmap since;		  /* tid -> time << 1 | preempted */
	uint64_t lost;			  /* of the switches, at the last reading */
	uint64_t lost_before, taken;	  /* before they were stopped last; that were handed out */
	/* during off_cpu_read() */
	off_cpu_fn take;
	void *context;
	int error;
};

static int off_cpu_create_recorder(struct off_cpu_recorder **out, pid_t pid)
{
	struct off_cpu_recorder *r = calloc(1, sizeof(*r));
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
	return off_cpu_create_recorder(out, pid);
}

int off_cpu_create_empty(struct off_cpu_recorder **out)
{
	return off_cpu_create_recorder(out, 0);
}

int off_cpu_create_own(struct off_cpu_recorder **out)
{
	return off_cpu_create_recorder(out, 0);
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

void off_cpu_begin(struct off_cpu_recorder *r)
{
	if (r->switches)
		brick__switches_begin(r->switches);
}

uint64_t off_cpu_seen(const struct off_cpu_recorder *r)
{
	uint64_t waiting = r->switches ? brick__switches_waiting(r->switches) : 0;
	uint64_t before = r->switches ? brick__switches_lost_before(r->switches) : 0;

	return r->taken + off_cpu_lost(r) + waiting - before;
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

/* Repeated, because a thread that is not followed yet may start others meanwhile. */
static int follow_threads(struct brick__switches *s, pid_t pid, struct hashmap *followed)
{
	char path[32];
	size_t before;
	int error = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	do {
		DIR *threads = opendir(path);
		before = followed->count;
		if (!threads)
			return 0; /* it has ended */
		/* follow listed threads that are not followed yet */
		const struct dirent *entry;
		while (!error && (entry = readdir(threads))) {
			pid_t tid = atoi(entry->d_name); /* 0 of "." and ".." */
			if (tid <= 0 || hashmap_get(followed, (uint64_t)tid) != HASHMAP_NONE)
				continue;
			error = brick__switches_add(s, tid);
			if (!error)
				error = hashmap_set(followed, (uint64_t)tid, 1);
		}
		closedir(threads);
	} while (!error && followed->count > before);
	return error;
}

int off_cpu_add(struct off_cpu_recorder *r, pid_t pid)
{
	struct hashmap followed = {0};
	int error = r->switches ? follow_threads(r->switches, pid, &followed) : 0;

	hashmap_fini(&followed);
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

/*
 * The kernel names a thread by its number, and a session's records say when the thread took its
 * lane over. Either may come first, so intervals wait for the records. What a thread did before it
 * had its lane, or after, is another thread's time there, and is cut off.
 */

enum { MAX_WAITING = 1 << 16, MAX_TID = 1 << 22 };

static int off_cpu_hand_over(struct drain_off_cpu *o, uint32_t lane, uint64_t tid, uint64_t ns)
{
	uint64_t before = hashmap_get(&o->owner_of, lane);
	int error = before == HASHMAP_NONE ? 0 : hashmap_set(&o->until_of, before, ns);

	hashmap_take(&o->until_of, tid);
	if (!error)
		error = hashmap_set(&o->owner_of, lane, tid);
	if (!error)
		error = hashmap_set(&o->lane_of, tid, lane);
	return error ? error : hashmap_set(&o->since_of, tid, ns);
}

int drain_off_cpu_learn(struct drain_off_cpu *o, const struct brick_clock *clock, uint32_t lane,
	const struct brick_record *records, size_t count)
{
	int error = 0;

	for (size_t i = 0; i < count && !error; i++) {
		if (records[i].kind != BRICK_RECORD_THREAD || !records[i].elements ||
			records[i].elements > MAX_TID)
			continue;
		uint64_t tid = records[i].elements;
		error = off_cpu_hand_over(o, lane, tid, brick_clock_ns(clock, records[i].begin));
		uint64_t forgotten = hashmap_take(&o->forgotten, tid);
		o->lost += forgotten == HASHMAP_NONE ? 0 : forgotten;
	}
	return error;
}

/*
 * The older half of the waiting intervals goes: their threads had time enough to record something.
 */
static int forget_half(struct drain_off_cpu *o)
{
	size_t half = o->waiting.count / 2;
	int error = 0;

	for (size_t i = 0; i < half && !error; i++) {
		uint64_t n = hashmap_get(&o->forgotten, o->waiting.items[i].tid);
		error = hashmap_set(
			&o->forgotten, o->waiting.items[i].tid, n == HASHMAP_NONE ? 1 : n + 1);
	}
	o->waiting.count -= half;
	memmove(o->waiting.items, o->waiting.items + half,
		o->waiting.count * sizeof(*o->waiting.items));
	return error;
}

int drain_off_cpu_add(struct drain_off_cpu *o, const struct sink_off_cpu *intervals, size_t count)
{
	int error = o->waiting.count + count > MAX_WAITING ? forget_half(o) : 0;

	return error ? error : array_append(&o->waiting, intervals, count);
}

int drain_off_cpu_emit(struct drain_off_cpu *o, const struct drain_off_cpu *owners,
	struct trace_writer *writer, int (*number)(void *context, uint32_t lane), void *context)
{
	size_t kept = 0;
	int error = 0;

	for (size_t i = 0; i < o->waiting.count; i++) {
		struct sink_off_cpu one = o->waiting.items[i];
		uint64_t lane = hashmap_get(&owners->lane_of, one.tid);
		if (error || lane == HASHMAP_NONE) {
			o->waiting.items[kept++] = one;
			continue;
		}
		uint64_t since_ns = hashmap_get(&owners->since_of, one.tid);
		uint64_t until_ns = hashmap_get(&owners->until_of, one.tid);
		one.begin_ns = one.begin_ns > since_ns ? one.begin_ns : since_ns;
		if (until_ns != HASHMAP_NONE && one.end_ns > until_ns)
			one.end_ns = until_ns;
		if (one.begin_ns < one.end_ns)
			error = sink_off_cpu(writer, number(context, (uint32_t)lane), &one, 1);
	}
	o->waiting.count = kept;
	return error;
}

void drain_off_cpu_fini(struct drain_off_cpu *o)
{
	hashmap_fini(&o->lane_of);
	hashmap_fini(&o->since_of);
	hashmap_fini(&o->until_of);
	hashmap_fini(&o->owner_of);
	hashmap_fini(&o->forgotten);
	array_fini(&o->waiting);
}
