/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CPU time of one of Brick's own threads inside of the program, as notes "helper.cpu": each has
 * the thread's whole time so far in the session. The thread reads its own CPU clock after its work.
 * A note is written when the time has grown by half: if the program is killed before the next note,
 * at most a third of the time is missing. Header only; the thread itself, but for helper_cpu_end().
 */
#pragma once

#include <stdint.h>
#include "base/clock_ns.h"
#include "brick/brick.h"

struct helper_cpu {
	const char *name;
	uint64_t from_ns; /* the thread's clock when the session began */
	uint64_t now_ns;  /* ... when it was read last */
	uint64_t told_ns; /* time in the last note; 0: no note yet */
	uint32_t session; /* of these; 0: none */
};

enum { HELPER_CPU_MIN_NS = 200000 }; /* less time is only noted at the end */

static inline void helper_cpu_write(struct helper_cpu *c)
{
	c->told_ns = c->now_ns - c->from_ns;
	brick_note("helper.cpu", "%s %llu ns", c->name, (unsigned long long)c->told_ns);
}

/* The thread's CPU clock reads now_ns: note it if it has grown enough. */
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

/* Note the rest at the end; the thread must not run in helper_cpu_at() meanwhile. */
static inline void helper_cpu_end(struct helper_cpu *c)
{
	if (c->session && c->now_ns - c->from_ns > c->told_ns)
		helper_cpu_write(c);
}
