/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks: the packets of their sequence (docs/FORMAT.md), and what becomes of them in the run when
 * all names are known. A bool says whether a packet could be used. One thread at a time.
 */
#pragma once

#include "base/hash_index.h"
#include "trace/load_ids.h"

/*
 * Tells the functions at addresses (the keys of a map) of a file on this machine, if it has that
 * build ID. 0, -ENOMEM, or what `tell` returned.
 */
typedef int (*run_name_fn)(void *context, uint64_t address, const char *name);
typedef int (*run_namer_fn)(const char *path, const uint8_t *build_id, size_t bytes,
	const struct hashmap *addresses, run_name_fn tell, void *context);

/*
 * Sets the source of functions' names for recordings of recorders that were killed: these lack
 * names. Until then such functions have none. To be called before anything is loaded.
 */
void run_namer_set(run_namer_fn namer);

/* A file that code was in; the same one has several ids if it has several segments. */
struct load_object {
	char *path;
	uint8_t build_id[32];
	size_t build_id_bytes;
	struct hashmap names;	 /* functions of the run, by address */
	struct hashmap nameless; /* addresses that nobody told names of, as keys */
};

struct load_frame {
	uint32_t object;
	uint64_t address;
};

struct load_node {
	uint32_t caller, frame; /* RUN_NONE: it has none */
};

struct load_stacks {
	struct hashmap paths, build_ids; /* texts of the sequence, by id */
	struct hashmap mappings, frames; /* objects and frames, by id */
	struct hashmap stacks;		 /* innermost nodes, by id */
	ARRAY(struct pb_reader) texts;	 /* copies */
	ARRAY(struct load_object) objects;
	struct hash_index object_index;
	ARRAY(struct load_frame) all_frames;
	ARRAY(struct load_node) nodes;
	struct hashmap node_index;	  /* by caller and frame */
	struct hash_index function_index; /* of the run's functions */
	struct hashmap thread_index;	  /* of the run's stack threads, by both numbers */
};

/* The parts of a packet; those that are not there are empty. */
struct load_stack_packet {
	uint64_t ns;
	bool is_new; /* ids of packets before mean nothing any more */
	struct pb_reader interned, sample, symbols, tree;
};

bool load_stack_packet(
	struct load_stacks *l, struct build *b, const struct load_stack_packet *packet);

/* Ends the reading of stacks, when all packets are read and lanes are the run's. */
void load_stacks_finish(struct load_stacks *l, struct build *b);

void load_stacks_fini(struct load_stacks *l);
