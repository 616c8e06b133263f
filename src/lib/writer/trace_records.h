/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The writer's own copies of a process's tables, whose memory is another process's; and the meaning
 * of records. One thread at a time.
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

/* Copies the entries that are new. A table that has become shorter changes nothing. 0 or -ENOMEM.
 */
int tables_add(struct tables *tables, const struct sink_tables *now);
void tables_fini(struct tables *tables);

/*
 * Text of a fixed field, which may lack its NUL and be no valid UTF-8: up to the first NUL, '?'
 * for what is not UTF-8. Ends with NUL; returns the length.
 */
size_t tables_text(char *to, size_t capacity, const char *from, size_t from_bytes);

enum { RECORD_LINKS = 16 }; /* as BRICK__WAIT_LINKS (lib/probe/waits.h) */

/* What the records right behind a SAMPLE or CLOSE say of it. */
struct record_args {
	struct brick_record work, launch, times, tile; /* kind 0: there was none of that kind */
	uint32_t records;			       /* how many there were in all */
	uint32_t flow_count, dependency_count;
	uint64_t flows[RECORD_LINKS];	     /* numbers of commands that it launched */
	uint64_t dependencies[RECORD_LINKS]; /* numbers of commands that it waited for */
	uint32_t further[RECORD_LINKS];	     /* flows[i] and as many numbers behind it */
};

/* Records that say more of the SAMPLE or CLOSE before them. */
static inline bool record_is_arg(const struct brick_record *r)
{
	const uint32_t kinds = 1u << BRICK_RECORD_WORK | 1u << BRICK_RECORD_LAUNCH |
			       1u << BRICK_RECORD_TIMES | 1u << BRICK_RECORD_AFTER |
			       1u << BRICK_RECORD_FLOW | 1u << BRICK_RECORD_TILE;

	return r->kind < 32 && kinds >> r->kind & 1;
}

/* Reads an EXPERT into *expert. False: its numbers make no sense. */
bool record_expert(const struct brick_record *r, struct brick_expert_record *expert);

/* Reads a MEMORY into *memory. False: its kind is unknown. */
bool record_memory(const struct brick_record *r, struct brick_memory_record *memory);

/* Reads a MESSAGE into *message. False: its event or its peer makes no sense. */
bool record_message(const struct brick_record *r, struct brick_message_record *message);

/* Returns a SEQUENCE with the members that its event does not use set to 0 or -1. */
struct brick_sequence_record record_sequence(const struct brick_record *r);

static inline bool record_is_step(const struct brick_record *r)
{
	return brick_is_step(r->brick);
}

/* Returns all tokens of a step's OPEN. */
static inline uint64_t record_tokens(const struct brick_record *r)
{
	return r->brick == BRICK_MIXED ? (r->elements >> 32) + (uint32_t)r->elements : r->elements;
}

/* Returns the tokens that make new ones, of a mixed step's OPEN; 0 of another step's. */
static inline uint64_t record_output_tokens(const struct brick_record *r)
{
	return r->brick == BRICK_MIXED ? r->elements >> 32 : 0;
}

/* Returns the index of the kernel that the args name; 0: not known. */
static inline uint32_t record_kernel(const struct tables *tables, const struct record_args *args)
{
	return args->launch.kind && args->launch.brick < tables->kernel_count ? args->launch.brick
									      : 0;
}
