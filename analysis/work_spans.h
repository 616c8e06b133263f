/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces of time, 8 bytes each, and the union of two lists of them. One thread at a time. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* In order, none touching another: how long after the one before, and how long. */
struct work_spans {
	struct work_span {
		uint32_t gap_ns, length_ns; /* of more than that, several */
	} * spans;
	size_t count, capacity;
	uint64_t kept_end_ns;	   /* where the last of spans ends */
	uint64_t begin_ns, end_ns; /* the last of all, not in spans yet; end 0: there is none */
};

/* Pieces come in the order of their begins. -ENOMEM. */
int work_spans_add(struct work_spans *s, uint64_t begin_ns, uint64_t end_ns);
/* to becomes the union of both; -ENOMEM: a part of it. */
int work_spans_unite(struct work_spans *to, const struct work_spans *from);
uint64_t work_spans_length_ns(const struct work_spans *s);
/* Empty, with its memory kept. */
void work_spans_clear(struct work_spans *s);
