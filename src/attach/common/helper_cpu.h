/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CPU time of our own thread inside of the program: notes "helper.cpu", each with all of it so
 * far in the session. It reads its own clock, behind its work; a note comes when it has grown by
 * half, so that one that is missing where the program is killed hides a third at most. Header only;
 * one thread, but for helper_cpu_end().
 */
#pragma once

#include <stdint.h>
#include "base/clock_ns.h"
#include "brick/brick.h"

struct helper_cpu {
	const char *name;
	uint64_t from_ns, now_ns, told_ns;
	uint32_t session;
};

enum { HELPER_CPU_MIN_NS = 200000 }; /* less is not told before the end */

static inline void helper_cpu_write(struct helper_cpu *c)
{
	c->told_ns = c->now_ns - c->from_ns;
	brick_note("helper.cpu", "%s %llu ns", c->name, (unsigned long long)c->told_ns);
}

/* Notes the thread's CPU time so far, in all. */
static inline void helper_cpu_at(struct helper_cpu *c, uint64_t now_ns)
{
	uint32_t session = __atomic_load_n(&brick__on, __ATOMIC_RELAXED);
	uint64_t before_ns = c->now_ns;

	c->now_ns = now_ns;
	if (session && session != c->session) {
		c->session = session;
		c->from_ns = before_ns;
		c->told_ns = 0;
	}
	uint64_t ns = c->now_ns - c->from_ns;
	if (session && ns >= HELPER_CPU_MIN_NS && ns >= c->told_ns + c->told_ns / 2)
		helper_cpu_write(c);
}

/* At the end, with the thread at rest. */
static inline void helper_cpu_end(struct helper_cpu *c)
{
	if (c->session && c->now_ns - c->from_ns > c->told_ns)
		helper_cpu_write(c);
}
