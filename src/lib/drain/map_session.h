/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session's mapped file, and private copies of everything in it that decisions depend on. Fields
 * belong to the consuming or the emitting side as marked (drain.h).
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>
#include "brick/abi/session.h"
#include "lib/drain/expand.h"

/*
 * Who maps files that others can shrink must survive SIGBUS. `add` is told of every mapping, and
 * sets *page_lost when it had to replace a page. It returns 0 when it cannot watch one more
 * mapping, which is then not used.
 */
struct drain_guard {
	int (*add)(const void *address, size_t bytes, uint32_t *page_lost);
	void (*remove)(const void *address, size_t bytes);
};

/* An open brick, as the histograms need it. */
struct drain_frame {
	uint64_t begin;
	uint16_t brick;
};

/* A lane of the writer that holds records of a lane. */
struct drain_sink_lane {
	int number;
	uint64_t end; /* ticks: taken up to there; UINT64_MAX: its command is open */
};

/* The sink's lanes for the records of one lane. */
struct drain_lane_sinks {
	struct drain_sink_lane *items; /* an ARRAY */
	size_t count, capacity;
	size_t to;	   /* where records go that say more of the one before them */
	uint32_t depth;	   /* of the command that is open there */
	bool overlaps;	   /* its commands may */
	uint64_t left_out; /* commands without a lane: counted as dropped */
};

struct drain_lane {
	/* set once by the consuming side, when the lane joins */
	struct brick_lane *shared; /* NULL: unusable */
	uint64_t offset, bytes;	   /* in the file */
	uint64_t capacity, ring_offset, histogram_offset;
	/* consuming */
	uint64_t tail;
	uint64_t seen;	     /* of a view: records before this were copied */
	uint32_t open_depth; /* as in struct brick_drained */
	uint16_t open[BRICK_MAX_DEPTH];
	/* emitting */
	struct drain_lane_sinks in_sink; /* none: not emitted yet */
	struct drain_ahead ahead;
	uint64_t last_ticks; /* up to there it has told of bricks */
	uint32_t depth;
	struct drain_frame frames[BRICK_MAX_DEPTH];
};

struct drain_map {
	int fd;
	dev_t device; /* of the file that fd was opened for */
	ino_t inode;
	bool view;	    /* only looked at: mapped read-only, and nothing is consumed */
	bool view_has_code; /* its sources are emitted, too */
	const struct drain_guard *guard;
	uint32_t page_lost; /* by the guard: a page was gone and has been replaced */
	const char *fault;  /* set once, by either side */

	struct brick_session_header *shared;
	uint64_t shared_bytes;
	struct brick_session_header header; /* private and clean */

	/* consuming */
	uint32_t lane_count;
	struct drain_lane *lanes[BRICK_MAX_LANES]; /* entries are complete before lane_count */
	bool lane_is_missing; /* for lack of memory; the next look tries again */

	/* emitting */
	uint64_t bad_entries; /* of tables: had to be corrected */
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

/* More than half of the session's file system is full. */
bool drain_map_is_scarce(const struct drain_map *map);

/* Look for lanes that joined; returns how many there are. */
uint32_t drain_map_lanes(struct drain_map *map);

/* A block of histograms behind the tables, mapped; NULL: it is not to be had. NULL is legal. */
void *drain_map_block(struct drain_map *map, uint64_t offset);
void drain_map_block_close(struct drain_map *map, void *block);

/* The first fault counts; static text. */
void drain_map_fault_set(struct drain_map *map, const char *text);
const char *drain_map_fault(const struct drain_map *map);
bool drain_map_page_lost(const struct drain_map *map);

/* A count in shared memory that only grows, up to `max`; where it does not, `have`. */
uint32_t drain_map_count(
	struct drain_map *map, const uint32_t *shared, uint32_t have, uint32_t max);

/* The address of an offset that was checked when the session was opened. */
static inline const void *drain_map_at(const struct drain_map *map, uint64_t offset)
{
	return (const char *)map->shared + offset;
}

/*
 * A text copied out of the session: ends it in its field of `bytes`, and replaces what is no
 * printable UTF-8 by '?'.
 */
void drain_clean_text(char *text, size_t bytes);

/* The same for lines, whose newlines stay. */
void drain_clean_lines(char *text);
