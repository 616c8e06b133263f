/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of the functions at the addresses that were seen in stacks. They come from a file's symbol
 * table or debug file; names of generated code come from /tmp/perf-PID.map, which the program may
 * write. One thread.
 */
#pragma once

#include "record/stacks/stack_packets.h"
#include "trace/load_stacks.h"

/* Called after each packet, to hand p->out on; an error (negative) ends stack_names_tell(). */
typedef int (*stack_names_fn)(void *context);

/*
 * Make packets of the names of all frames. 0, -ENOMEM, or the error of `made`. Files that cannot be
 * read, or have changed, give no names.
 */
int stack_names_tell(struct stack_packets *p, const struct address_spaces *spaces, uint64_t time_ns,
	stack_names_fn made, void *context);

/* Find the names of one file's addresses for a recording without names: a run_namer_fn. */
int stack_names_find(const char *path, const uint8_t *build_id, size_t bytes,
	const struct hashmap *addresses, run_name_fn tell, void *context);
