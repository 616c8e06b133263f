/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where code of the followed processes lies: in which file, at which of the file's own addresses.
 * Made of the kernel's records alone; files are opened for their headers only. One thread.
 */
#pragma once

#include <stdint.h>
#include "base/array.h"
#include "base/hash_index.h"
#include "base/hashmap.h"
#include "record/stacks/stack_events.h"

#define SPACES_NONE UINT32_MAX

/* A segment of code of a file; or code that a process made itself, whose addresses are its own. */
struct code_object {
	char *path;    /* of code without a file: where its process may tell its functions */
	uint64_t bias; /* the file's address less its offset */
	uint64_t offset, inode;
	uint8_t build_id[20];
	size_t build_id_bytes; /* 0: not known */
	uint32_t pid;	       /* of code without a file; else 0 */
	struct hashmap frames; /* ids by address, of what was seen in it */
};

struct address_spaces {
	struct hashmap of_pid; /* struct address_space */
	ARRAY(struct code_object) objects;
	struct hash_index index; /* of objects */
};

/* What an event other than a stack says. 0 or -ENOMEM: a mapping is missing. */
int spaces_event(struct address_spaces *s, const struct stack_event *event);

/* Number of the object at an address, and the address as its file has it; or SPACES_NONE. */
uint32_t spaces_find(
	const struct address_spaces *s, uint32_t pid, uint64_t address, uint64_t *own_address);

void spaces_fini(struct address_spaces *s);
