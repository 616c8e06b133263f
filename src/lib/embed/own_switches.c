/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each thread has its own ring, and one thread reads all of them. Joining, leaving and reading take
 * one lock, which no thread holds for longer than it takes to copy a few rings.
 */
#include "lib/embed/own_switches.h"

#include <errno.h>
#include <stdlib.h>
#include "base/array.h"
#include "base/lock.h"
#include "base/scope.h"
#include "lib/drain/off_cpu.h"

struct own_switches {
	pthread_mutex_t lock;
	struct off_cpu_recorder *intervals;
	int refused;   /* to all threads: -errno */
	uint64_t lost; /* threads that could not join beside others, and what had no memory */
	ARRAY(struct sink_off_cpu) ended;
};

int own_switches_create(struct own_switches **out)
{
	struct own_switches *s = calloc(1, sizeof(*s));
	int error = s ? off_cpu_create_own(&s->intervals) : -ENOMEM;

	if (error) {
		free(s);
		return error;
	}
	pthread_mutex_init(&s->lock, NULL);
	s->refused = off_cpu_available();
	*out = s;
	return 0;
}

void own_switches_join(struct own_switches *s)
{
	if (!s || s->refused)
		return;
	HOLD_UNCANCELLED(&s->lock);
	s->lost += off_cpu_join(s->intervals) != 0;
}

bool own_switches_refused(const struct own_switches *s)
{
	return s && s->refused != 0;
}

void own_switches_leave(struct own_switches *s)
{
	if (!s)
		return;
	HOLD_UNCANCELLED(&s->lock);
	off_cpu_leave(s->intervals);
}

unsigned own_switches_fill(struct own_switches *s)
{
	if (!s)
		return 0;
	HOLD_UNCANCELLED(&s->lock);
	return off_cpu_fill(s->intervals);
}

static void keep(void *context, const struct off_cpu *interval)
{
	struct own_switches *s = context;
	const struct sink_off_cpu one = {
		.begin_ns = interval->begin_ns,
		.end_ns = interval->end_ns,
		.tid = interval->tid,
		.preempted = interval->why == OFF_CPU_PREEMPTED,
	};

	if (array_push(&s->ended, one))
		s->lost++;
}

int own_switches_emit(
	struct own_switches *s, struct drain *drain, struct sink *sink, uint64_t now_ns)
{
	if (!s)
		return 0;
	lock_take(&s->lock);
	int error = off_cpu_read(s->intervals, now_ns, keep, s);
	s->lost += error != 0;
	lock_give(&s->lock);
	error = drain_emit_off_cpu(drain, sink, s->ended.items, s->ended.count);
	s->ended.count = 0;
	return error;
}

void own_switches_account(struct own_switches *s, struct off_cpu_account *account)
{
	if (!s)
		return;
	HOLD_UNCANCELLED(&s->lock);
	account->source = s->refused ? OFF_CPU_UNKNOWN : OFF_CPU_SWITCHES;
	account->error = s->refused;
	account->lost = s->lost + off_cpu_lost(s->intervals);
}

void own_switches_destroy(struct own_switches *s)
{
	if (!s)
		return;
	off_cpu_destroy(s->intervals);
	pthread_mutex_destroy(&s->lock);
	array_fini(&s->ended);
	free(s);
}
