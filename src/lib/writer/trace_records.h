/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a writer is handed: tables, of which it has its own copy, because their memory is another
 * process's; and what records mean. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include "lib/writer/sink.h"

struct tables {
	struct brick_session_brick *bricks;
	struct brick_session_category *categories;
	struct brick_session_site *sites;
	struct brick_session_kernel *kernels;
	uint32_t brick_count, category_count, site_count, kernel_count;
	uint32_t brick_capacity, category_capacity, site_capacity, kernel_capacity;
};

/* Copy what is new. 0 or -ENOMEM. */
int tables_add(struct tables *tables, const struct sink_tables *now);
void tables_fini(struct tables *tables);

/*
 * Text of a fixed field, which may lack its NUL and be no valid UTF-8: up to the first NUL, '?'
 * for what is not UTF-8. Ends with NUL; returns the length.
 */
size_t tables_text(char *to, size_t capacity, const char *from, size_t from_bytes);

/* What the records right behind a SAMPLE or CLOSE say of it. kind 0: nothing of that kind. */
enum { RECORD_LINKS = 16 };
struct record_args {
	struct brick_record work, launch, times, tile;
	uint32_t records; /* how many there were */
	uint32_t flow_count, dependency_count;
	uint64_t flows[RECORD_LINKS], dependencies[RECORD_LINKS];
	uint32_t further[RECORD_LINKS]; /* flows: so many numbers follow */
};

/* Records that say more of the SAMPLE or CLOSE before them. */
static inline bool record_is_arg(const struct brick_record *r)
{
	const uint32_t kinds = 1u << BRICK_RECORD_WORK | 1u << BRICK_RECORD_LAUNCH |
			       1u << BRICK_RECORD_TIMES | 1u << BRICK_RECORD_AFTER |
			       1u << BRICK_RECORD_FLOW | 1u << BRICK_RECORD_TILE;

	return r->kind < 32 && kinds >> r->kind & 1;
}

/* Whether an EXPERT is possible. */
bool record_expert(const struct brick_record *r, struct brick_expert_record *expert);

/* A SEQUENCE, without what its event has no use for. */
struct brick_sequence_record record_sequence(const struct brick_record *r);

static inline bool record_is_step(const struct brick_record *r)
{
	return brick_is_step(r->brick);
}

static inline uint64_t record_tokens(const struct brick_record *r)
{
	return r->brick == BRICK_MIXED ? (r->elements >> 32) + (uint32_t)r->elements : r->elements;
}

static inline uint64_t record_output_tokens(const struct brick_record *r)
{
	return r->brick == BRICK_MIXED ? r->elements >> 32 : 0;
}

/* Index of what was launched; 0: not known. */
static inline uint32_t record_kernel(const struct tables *tables, const struct record_args *args)
{
	return args->launch.kind && args->launch.brick < tables->kernel_count ? args->launch.brick
									      : 0;
}
