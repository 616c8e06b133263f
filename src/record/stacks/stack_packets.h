/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks as a recording has them (docs/FORMAT.md): Perfetto's PerfSample, whose call stacks,
 * frames and mappings are interned. Makes whole packets of one sequence of their own. What is
 * interned is forgotten when it gets much: then the sequence begins anew. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "format/perfetto.h"
#include "base/array.h"
#include "base/hashmap.h"
#include "base/pb_write.h"
#include "record/stacks/address_spaces.h"

struct stack_node {
	uint32_t caller; /* node; 0: none */
	uint32_t frame;	 /* interned id */
	bool is_told;	 /* as a call stack */
};

/* All zero but for `hz` at first. */
struct stack_packets {
	struct pb_buffer out;	   /* what was made: the caller takes it and sets its size to 0 */
	struct pb_buffer interned; /* what the next packet has to tell */
	unsigned hz;
	bool has_begun;
	ARRAY(struct stack_node) nodes;	       /* [0] is none */
	struct hashmap node_index;	       /* by caller and frame */
	ARRAY(uint64_t) cpu_samples;	       /* by CPU */
	ARRAY(uint8_t) is_object_told;	       /* by number */
	size_t addresses;		       /* in all objects' frames */
	uint32_t last_frame, forgotten_frames; /* ids: none is used twice */
	uint64_t forgotten_nodes;	       /* id of a stack: its node's number and this */
	uint64_t samples;
	uint64_t unknown;  /* of these: there was no code where the thread was */
	uint64_t nameless; /* frames whose address there was no room for */
};

/* A stack, whose addresses are resolved by the spaces. */
void packets_stack(
	struct stack_packets *p, struct address_spaces *spaces, const struct stack_event *event);

/* A thread's name. */
void packets_thread(struct stack_packets *p, const struct stack_event *event);

/* The function at an address of an object. */
struct stack_symbol {
	uint64_t address;
	const char *name;
};
/* A packet of the first of these, at least one; returns how many it tells. */
size_t packets_symbols(struct stack_packets *p, const struct code_object *object, uint64_t time_ns,
	const struct stack_symbol *symbols, size_t count);

/*
 * Packets that were made are lost, or what was interned is too much: from here on the sequence
 * begins anew, and tells everything again.
 */
void packets_forget(struct stack_packets *p);

void packets_stacks_fini(struct stack_packets *p);
