/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the sequence of stacks (docs/FORMAT.md). Frames stay addresses until all packets are read,
 * because names come last; load_stacks_finish() then makes the run's functions, calls and stacks.
 * One thread at a time.
 */
#pragma once

#include "base/hash_index.h"
#include "trace/load_ids.h"

/*
 * A namer calls `tell` with the function at each of the addresses (the keys of a map) in the file
 * at `path` on this machine, if the file has that build ID. It returns 0, -ENOMEM, or what `tell`
 * returned if that is not 0.
 */
typedef int (*run_name_fn)(void *context, uint64_t address, const char *name);
typedef int (*run_namer_fn)(const char *path, const uint8_t *build_id, size_t bytes,
	const struct hashmap *addresses, run_name_fn tell, void *context);

/*
 * Sets the namer for recordings whose recorder was killed before it wrote names. Without a namer
 * such functions have no names. Call it before anything is loaded: threads read it without a lock.
 */
void run_namer_set(run_namer_fn namer);

/* A file that held code. Several mapping ids may stand for one file: one for each segment. */
struct load_object {
	char *path;
	uint8_t build_id[32];
	size_t build_id_bytes;
	struct hashmap names;	 /* indices of the run's functions, by address */
	struct hashmap nameless; /* the keys are addresses without a name in the recording */
};

struct load_frame {
	uint32_t object;  /* index in load_stacks.objects */
	uint64_t address; /* in that file */
};

struct load_node {
	uint32_t caller; /* index in load_stacks.nodes; RUN_NONE: it is outermost */
	uint32_t frame;	 /* index in load_stacks.all_frames */
};

/* All zero is an empty one. "By id": by the ids of the sequence's interned data. */
struct load_stacks {
	struct hashmap paths, build_ids; /* indices in `texts`, by id */
	struct hashmap mappings;	 /* indices in `objects`, by id */
	struct hashmap frames;		 /* indices in `all_frames`, by id */
	struct hashmap stacks;		 /* indices in `nodes` of innermost nodes, by id */
	ARRAY(struct pb_reader) texts;	 /* copies, owned */
	ARRAY(struct load_object) objects;
	struct hash_index object_index;
	ARRAY(struct load_frame) all_frames;
	ARRAY(struct load_node) nodes;
	struct hashmap node_index;	  /* by caller and frame */
	struct hash_index function_index; /* of the run's functions */
	struct hashmap thread_index;	  /* of the run's stack threads, by pid and tid */
};

/* The parts of a packet; those that are not there are empty. */
struct load_stack_packet {
	uint64_t ns;
	bool is_new; /* the sequence's ids begin anew: earlier ones mean nothing any more */
	struct pb_reader interned, sample, symbols, tree;
};

/* False: the packet could not be used. */
bool load_stack_packet(
	struct load_stacks *l, struct build *b, const struct load_stack_packet *packet);

/* Makes the run's stacks, when all packets are read and after build_finish(). */
void load_stacks_finish(struct load_stacks *l, struct build *b);

void load_stacks_fini(struct load_stacks *l);
