/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel tells of all followed processes at once: here each session gets its own. */
#include "record/switches.h"

struct taking {
	struct watched *sessions, *last; /* last: whose the last one was */
	uint64_t lost;
};

static struct watched *session_of(const struct taking *t, uint32_t pid)
{
	for (struct watched *s = t->sessions; s; s = s->next)
		if (!s->ending && (uint32_t)s->process.pid == pid)
			return s;
	return NULL;
}

static void take(void *context, const struct off_cpu *interval)
{
	struct taking *t = context;
	struct watched *s = t->last;
	const struct sink_off_cpu one = {
		.begin_ns = interval->begin_ns,
		.end_ns = interval->end_ns,
		.tid = interval->tid,
		.preempted = interval->why == OFF_CPU_PREEMPTED,
	};

	if (!s || (uint32_t)s->process.pid != interval->pid)
		s = session_of(t, interval->pid);
	t->last = s;
	if (s && array_push(&s->off_cpu, one))
		t->lost++;
}

uint64_t switches_take(
	struct watched *sessions, struct off_cpu_recorder *r, struct encoder *e, uint64_t now_ns)
{
	struct taking t = {.sessions = sessions};

	off_cpu_read(r, now_ns, take, &t); /* what it had no memory for, it counts itself */
	for (struct watched *s = sessions; s; s = s->next) {
		size_t count = s->off_cpu.count;
		if (!count)
			continue;
		if (encoder_off_cpu(e, s->drain, s->off_cpu.items, count))
			t.lost += count;
		s->off_cpu.items = NULL;
		s->off_cpu.count = s->off_cpu.capacity = 0;
	}
	return t.lost;
}
