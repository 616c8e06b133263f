/* SPDX-License-Identifier: Apache-2.0 */
/* When what is served is read again: seldom enough to leave the program alone, oftener while
 * somebody looks. Main thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct serve_pace {
	uint64_t read_ns,
		cost_ns;	  /* the end of the last reading, and the CPUs' time that it took */
	uint64_t asked, asked_ns; /* requests until now, and when there was one more */
};

/* Whether to read now, requests having been answered so far. */
bool serve_pace_is_due(struct serve_pace *pace, uint64_t now_ns, uint64_t asked);

/* Something new was read until now, by so much time of the CPUs. */
void serve_pace_read(struct serve_pace *pace, uint64_t now_ns, uint64_t cost_ns);
