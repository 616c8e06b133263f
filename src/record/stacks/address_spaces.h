/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resolves addresses of the followed processes to files and the files' own addresses. Knows
 * mappings from the kernel's records alone; opens files only to read their program headers. One
 * thread.
 */
#pragma once

#include <stdint.h>
#include "base/array.h"
#include "base/hash_index.h"
#include "base/hashmap.h"
#include "record/stacks/stack_events.h"

#define SPACES_NONE UINT32_MAX

/* A mapped segment of a file's code; or all code that one process generated itself (JIT). */
struct code_object {
	char *path;	       /* the file; of generated code: /tmp/perf-PID.map, which may exist */
	uint64_t bias;	       /* the file's own address minus the offset in the file */
	uint64_t offset;       /* of the mapping in the file */
	uint64_t inode;	       /* 0: not known */
	uint8_t build_id[20];  /* of the file */
	size_t build_id_bytes; /* 0: not known */
	uint32_t pid;	       /* the process that generated the code; 0: the code is a file's */
	struct hashmap frames; /* address -> id of its frame (stack_packets.h), of all seen ones */
};

/* All 0 at first. */
struct address_spaces {
	struct hashmap of_pid;		   /* pid -> struct address_space */
	ARRAY(struct code_object) objects; /* never removed: their numbers are in the recording */
	struct hash_index index;	   /* of objects */
};

/* Update the mappings by an event; a stack changes nothing. 0, or -ENOMEM: a mapping is missing. */
int spaces_event(struct address_spaces *s, const struct stack_event *event);

/*
 * Returns the number of the object at a process's address, and sets *own_address to the file's own
 * address. SPACES_NONE: no code is known there.
 */
uint32_t spaces_find(
	const struct address_spaces *s, uint32_t pid, uint64_t address, uint64_t *own_address);

void spaces_fini(struct address_spaces *s);
