/* SPDX-License-Identifier: Apache-2.0 */
/* Called by `brick serve`. */
#include "ui/serve/serve_pace.h"

/* From one reading to the next: so many times what one cost the CPUs, and at least this. */
#define PACE 10
#define PACE_WATCHED 2
#define MIN_PACE_NS 1000000000ull
/* A page asks each second; Prometheus more seldom than this. */
#define WATCHED_NS 10000000000ull

bool serve_pace_is_due(struct serve_pace *pace, uint64_t now_ns, uint64_t asked)
{
	if (asked != pace->asked)
		pace->asked_ns = now_ns;
	pace->asked = asked;
	bool is_watched = pace->asked_ns && now_ns - pace->asked_ns < WATCHED_NS;
	uint64_t wait_ns = (is_watched ? PACE_WATCHED : PACE) * pace->cost_ns;
	return !pace->read_ns ||
	       now_ns - pace->read_ns >= (wait_ns > MIN_PACE_NS ? wait_ns : MIN_PACE_NS);
}

void serve_pace_read(struct serve_pace *pace, uint64_t now_ns, uint64_t cost_ns)
{
	pace->read_ns = now_ns;
	pace->cost_ns = cost_ns;
}
