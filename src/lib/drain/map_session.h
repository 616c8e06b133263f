/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session's mapped file, and private copies of everything in it that decisions depend on. Fields
 * belong to the consuming or the emitting side as marked (drain.h).
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>
#include "base/array.h"
#include "brick/abi/session.h"
#include "lib/drain/expand.h"

/*
 * Whoever maps files that others can shrink must survive SIGBUS. A guard hears of every mapping:
 * its handler of SIGBUS replaces a lost page and sets the mapping's *page_lost to 1. `add` returns
 * 0 if it cannot watch one more mapping, which is then not used. Call `remove` before unmapping.
 */
struct drain_guard {
	int (*add)(const void *address, size_t bytes, uint32_t *page_lost);
	void (*remove)(const void *address, size_t bytes);
};

/* An open brick, as the histograms need it. */
struct drain_frame {
	uint64_t begin; /* ticks; 0: not known */
	uint16_t brick;
};

/* A lane of the writer that holds records of one of the session's lanes. */
struct drain_sink_lane {
	int number;   /* in the writer */
	uint64_t end; /* ticks: the end of its last command; UINT64_MAX: a command is open */
};

/*
 * The writer's lanes for one lane of the session: one, or several where commands of an out-of-order
 * queue overlap.
 */
struct drain_lane_sinks {
	struct drain_sink_lane *items; /* with count and capacity an ARRAY */
	size_t count, capacity;
	size_t to;	/* index of the item that got the last record: args of it go there, too */
	uint32_t depth; /* OPENs without a CLOSE in that item */
	bool overlaps;	/* commands of this lane may overlap */
	uint64_t left_out; /* commands for which there was no item: counted as dropped */
};

struct drain_lane {
	/* set once by the consuming side, when the lane joins: checked copies */
	struct brick_lane *shared; /* NULL: unusable */
	uint64_t offset, bytes;	   /* of its mapping in the file */
	uint64_t capacity;	   /* records of the ring; 0: none, or it made no sense later on */
	uint64_t ring_offset, histogram_offset; /* from `shared` on */
	/* consuming */
	uint64_t tail;			/* records ever consumed; shared->tail is not trusted */
	uint64_t seen;			/* of a view: records before this were copied */
	uint32_t open_depth;		/* private copy of brick_drained.depth */
	uint16_t open[BRICK_MAX_DEPTH]; /* private copy of brick_drained.open */
	/* emitting */
	struct drain_lane_sinks in_sink; /* count 0: not emitted yet */
	struct drain_ahead ahead;
	uint64_t last_ticks; /* the latest time in the records emitted so far */
	uint32_t depth;	     /* OPENs without a CLOSE in the records emitted so far */
	struct drain_frame frames[BRICK_MAX_DEPTH]; /* [depth] of them */
	bool is_plain; /* the step is recorded as one piece, as far as it was emitted */
	/* of a file that goes on where another ended (drain_part()) */
	uint32_t goes_on;    /* frames that were open then, and are not in this file yet */
	uint32_t left_step;  /* in_left_step: records are left out until so many are open */
	uint64_t left_ticks; /* the latest time in what was left out of a step; 0: none yet */
	bool in_left_step;
	bool is_past_cut;		 /* this file leaves out nothing more: drain.cut_ticks */
	bool is_past_end;		 /* later than drain.end_ticks */
	ARRAY(struct brick_record) held; /* it is not known yet if they are left out */
	/* of a replay */
	bool has_start;			     /* drain_start_set() was called */
	bool is_past_begin;		     /* drain_start_pass() met a record of the file */
	uint64_t skipped;		     /* records before that */
	uint16_t open_then[BRICK_MAX_DEPTH]; /* [goes_on]: their bricks */
	struct brick_ledger in_parts; /* the part of shared->ledger that earlier files have */
};

struct drain_map {
	int fd;	      /* the caller's; use drain_map_fd() */
	dev_t device; /* of the file that fd was opened for */
	ino_t inode;
	bool view;			 /* mapped read-only, and nothing is consumed */
	bool view_has_code;		 /* of a view: sources of kernels are emitted, too */
	const struct drain_guard *guard; /* NULL: nobody can shrink the file */
	uint32_t page_lost;		 /* 1: the guard had to replace a page */
	const char *fault;		 /* static text, set once by either side; NULL: none */

	struct brick_session_header *shared;
	uint64_t shared_bytes;
	struct brick_session_header header; /* private and clean */

	/* consuming */
	uint32_t lane_count;
	struct drain_lane *lanes[BRICK_MAX_LANES]; /* entries are complete before lane_count */
	bool lane_is_missing; /* the last look had no memory for a lane; the next tries again */

	/* emitting */
	uint64_t bad_entries; /* entries of tables and areas that were corrected or left out */
	struct brick_ledger in_parts; /* the part of the process's ledger that earlier files have */
};

/*
 * The session's descriptor, or -1 if it is no longer the session's: a program that embeds the
 * consumer may have closed it and opened its own file under that number. Ask before each use.
 */
int drain_map_fd(const struct drain_map *map);

/* As drain_open() and drain_open_view() say. On error nothing is left open. */
int drain_map_open(struct drain_map *map, int fd, bool view, const struct drain_guard *guard,
	const char **why);
void drain_map_close(struct drain_map *map);

/* True if more than half of the session's file system is full. */
bool drain_map_is_scarce(const struct drain_map *map);

/* Maps lanes that have joined; returns how many lanes there are. */
uint32_t drain_map_lanes(struct drain_map *map);

/*
 * Maps a block of histograms at an offset behind the tables; NULL: the offset makes no sense, or
 * the block cannot be mapped. Close it with drain_map_block_close(), which accepts NULL.
 */
void *drain_map_block(struct drain_map *map, uint64_t offset);
void drain_map_block_close(struct drain_map *map, void *block);

/* Sets what is wrong with the session, a static text, unless it is set already. Either side. */
void drain_map_fault_set(struct drain_map *map, const char *text);
const char *drain_map_fault(const struct drain_map *map);
bool drain_map_page_lost(const struct drain_map *map);

/*
 * Reads a count in shared memory that may only grow, up to `max`. If it is below `have` or above
 * `max`, that is a fault of the session, and the result is `have`.
 */
uint32_t drain_map_count(
	struct drain_map *map, const uint32_t *shared, uint32_t have, uint32_t max);

/* Returns the address of an offset below shared_bytes, which the caller has from `header`. */
static inline const void *drain_map_at(const struct drain_map *map, uint64_t offset)
{
	return (const char *)map->shared + offset;
}

/*
 * Ends a text, copied out of the session, in its field of `bytes` bytes, and replaces control
 * characters and what is no UTF-8 by '?'.
 */
void drain_clean_text(char *text, size_t bytes);

/* As drain_clean_text(), for lines that end with NUL: newlines stay. */
void drain_clean_lines(char *text);
