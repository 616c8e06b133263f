/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes a recording's packets of stacks (docs/FORMAT.md): Perfetto's PerfSample, with interned call
 * stacks, frames and mappings. The packets form a sequence of their own. When too much is interned,
 * packets_forget() begins the sequence anew. One thread.
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
	uint32_t caller; /* number of the caller's node; 0: there is none */
	uint32_t frame;	 /* interned id */
	bool is_told;	 /* the sequence has it as a call stack */
};

/* All zero but for `hz` at first. */
struct stack_packets {
	struct pb_buffer out;		/* whole packets; the caller sets its size to 0 */
	struct pb_buffer interned;	/* interned data for the next sample's packet */
	unsigned hz;			/* stacks per second of CPU time; not 0 */
	bool has_begun;			/* the sequence has its first packet, with the defaults */
	ARRAY(struct stack_node) nodes; /* [0] stands for "no node" */
	struct hashmap node_index;	/* caller's number << 32 | frame -> number of the node */
	ARRAY(uint64_t) cpu_samples;	/* samples by CPU */
	ARRAY(uint8_t) is_object_told;	/* by number of the object: it is interned */
	size_t addresses;		/* in the `frames` of all objects */
	uint32_t last_frame;		/* the largest id of a frame so far: no id is used twice */
	uint32_t forgotten_frames;	/* frames up to this id must be interned again */
	uint64_t forgotten_nodes;	/* a stack's id is its node's number plus this */
	uint64_t samples;		/* stacks so far */
	uint64_t unknown;		/* the part of `samples` without known code */
	uint64_t nameless;		/* frames that got no name, for lack of room */
};

/* Make a packet of a stack (STACK_TAKEN). No memory: out.failed is set, or the stack is unknown. */
void packets_stack(
	struct stack_packets *p, struct address_spaces *spaces, const struct stack_event *event);

/* Make a packet of a thread's name (STACK_NAMED). */
void packets_thread(struct stack_packets *p, const struct stack_event *event);

/* The function at an address of an object. */
struct stack_symbol {
	uint64_t address;
	const char *name;
};
/*
 * Make one packet of the first symbols; count is not 0. Returns how many symbols are in the packet:
 * at least one, and fewer than `count` if it gets large.
 */
size_t packets_symbols(struct stack_packets *p, const struct code_object *object, uint64_t time_ns,
	const struct stack_symbol *symbols, size_t count);

/*
 * Begin the sequence anew, and intern everything again. Necessary when packets were lost, or when
 * too much is interned.
 */
void packets_forget(struct stack_packets *p);

void packets_stacks_fini(struct stack_packets *p);
