/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of the functions at the addresses that were seen in stacks: of files from their symbol
 * tables or debug files, of code that a program made itself from what it says in
 * /tmp/perf-PID.map. One thread.
 */
#pragma once

#include "record/stacks/stack_packets.h"
#include "trace/load_stacks.h"

/* Called now and then, when some packets have been made; 0, or it ends with that error. */
typedef int (*stack_names_fn)(void *context);

/* Tell all names. 0, -ENOMEM, or what `made` returned. Files that cannot be read have none. */
int stack_names_tell(struct stack_packets *p, const struct address_spaces *spaces, uint64_t time_ns,
	stack_names_fn made, void *context);

/* The same for who reads a recording without names: a run_namer_fn. */
int stack_names_find(const char *path, const uint8_t *build_id, size_t bytes,
	const struct hashmap *addresses, run_name_fn tell, void *context);
