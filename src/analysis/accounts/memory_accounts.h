/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that allocators gave: by kind, and for each operator of a module with each kind, in each
 * process and on each GPU. Pure; any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include "base/array.h"
#include "brick/recorded.h"
#include "trace/run.h"

/* "all", "weights", ..., "system": names for people and for JSON. */
const char *memory_kind_name(uint32_t kind);

struct memory_row {
	uint32_t process;
	uint32_t gpu;	     /* 1 + its number; 0: the host */
	uint32_t kind;	     /* enum brick_memory_kind */
	uint32_t site;	     /* RUN_NONE: the process */
	uint64_t live_bytes; /* at the end of the last step that told it */
	uint64_t peak_bytes;
	uint64_t peak_ns; /* the end of the step that had the peak */
};

struct memory_rows {
	/* processes in their order; the process's kinds before its sites, larger peaks first */
	ARRAY(struct memory_row) list;
};

/* Returns 0 or -ENOMEM. An empty list: no memory was recorded. */
int memory_rows_measure(struct memory_rows *rows, const struct run *run);
void memory_rows_fini(struct memory_rows *rows);

/* The process's row of a kind on a GPU or the host. NULL: there is none. */
const struct memory_row *memory_rows_of(const struct memory_rows *rows, uint32_t process,
	uint32_t gpu, enum brick_memory_kind kind);

/*
 * Memory that is alive when steps end grows from step to step: what allocators gave without caches
 * of earlier tokens, or the process's anonymous memory.
 */
struct memory_growth {
	uint32_t process, gpu;
	uint64_t first_bytes, last_bytes; /* alive early, and at the end */
	uint64_t steps;			  /* of the process, from one to the other */
	bool is_of_system;		  /* the system's count of the process; no allocator's */
	/*
	 * The owner that grew most. site RUN_NONE: no operator is known; kind BRICK_MEMORY_ALL:
	 * nor is a kind.
	 */
	uint32_t kind, site;
	uint64_t owner_bytes; /* by so much */
};

/*
 * Looks at steps for which `counts` is not 0 (array of step_count). Growth must hold over all
 * eighths of the steps but the first: the least value of each is larger than in the one before. Of
 * the system's count, which is read in few steps, it may be the same in two of them.
 * Returns 1 if memory grows, 0 if not, or -ENOMEM.
 */
int memory_growth_find(struct memory_growth *growth, const struct run *run, const uint8_t *counts);
