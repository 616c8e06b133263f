/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frozen layout of a session: the shared-memory file through which a profiled process hands its
 * records and statistics to whoever consumes them (the recorder, the live view, its own writer
 * thread). One lane per thread or device queue.
 *
 *   offset 0          struct brick_session_header     (one page)
 *   notes_offset      text, "key=value\n" lines       (provenance: what was attached, how, why not)
 *   category_offset   struct brick_session_category[BRICK_MAX_CATEGORIES]
 *   brick_offset      struct brick_session_brick[BRICK_MAX_BRICKS]
 *   site_offset       struct brick_session_site[BRICK_MAX_SITES]   (index 0 is unused)
 *   drained_offset    uint32_t [BRICK_FIRST_ROWS][BRICK_HISTOGRAM_BUCKETS], by the consumer
 *   kernel_offset     struct brick_session_kernel[BRICK_MAX_KERNELS]   (index 0 is unused)
 *   code_offset       struct brick_session_code, text, padding to 8; again; ...  (code_bytes long)
 *   digest_offset     struct brick_session_digest[digest_capacity], a ring
 *   lanes[i].offset   struct brick_lane (lane.h), then its histograms and its ring
 *   drained_more[i]   as drained_offset, of bricks from (i + 1) * BRICK_FIRST_ROWS on
 *
 * Lanes and further blocks of histograms stand in the order in which they were needed.
 *
 * Rules. Tables are append-only: an entry is complete before the count that covers it is stored
 * with release order. A lane is written by its owner only, except `tail` and what is called
 * drained, which belong to the one consumer. The file is sparse: what no count covers may be a
 * hole. A reader trusts nothing in here: every index, offset and count is checked against the size
 * of the file before it is used.
 */
#ifndef BRICK_ABI_SESSION_H
#define BRICK_ABI_SESSION_H

#include <stdint.h>
#include "brick/abi/lane.h"
#include "brick/clock.h"
#include "brick/digest.h"
#include "brick/registry.h"

#define BRICK_SESSION_MAGIC 0x31535345534b4342ull /* "BCKSESS1" */
#define BRICK_SESSION_VERSION 7u

#define BRICK_SESSION_REFUSALS_NAME "refusals"
#define BRICK_REFUSALS_TOLD 64u
#define BRICK_REFUSALS_NAME_BYTES 32u

/*
 * The file of that name in the recorder's directory: what processes without a session would have
 * recorded. The recorder makes it; all processes map it when they are attached, and only add.
 */
struct brick_session_refusals {
	uint64_t magic; /* BRICK_SESSION_MAGIC */
	uint32_t version;
	uint32_t pid;  /* of the process that was refused last */
	int32_t error; /* why: -errno */
	uint32_t reserved;
	uint64_t processes, records;
	uint32_t told[BRICK_REFUSALS_TOLD];   /* pids, in turn: those that were counted last */
	char name[BRICK_REFUSALS_NAME_BYTES]; /* of the program that was refused last */
	char static_name[BRICK_REFUSALS_NAME_BYTES]; /* the last that is linked statically */

	/* what the recorder measured beforehand, so that no process need do so; by CLOCK_MONOTONIC
	 * outside of time namespaces; mult 0, pair_stream 0: it did not */
	struct brick_clock clock;
	uint64_t pair_overlapped, pair_streamed, pair_stream, pair_cold; /* in ticks */
};

/*
 * A process that cannot reach the directory, since it is another user's or has other mounts, sends
 * the same (with itself as the one process) to the recorder's datagram socket: abstract, and named
 * as the directory is, without what is before it.
 */

enum {
	BRICK_MAX_CATEGORIES = 64,
	BRICK_MAX_SITES = 65536,
	BRICK_MAX_KERNELS = 16384,
	BRICK_MAX_LANES = 1024,
	BRICK_CODE_BYTES = 16 << 20,
	BRICK_DIGEST_RING = 4096,
	BRICK_NOTES_BYTES = 16384,
	BRICK_COMMAND_BYTES = 1024,
};

/* A registered brick. */
struct brick_session_brick {
	char name[48];
	uint16_t category;
	uint16_t reserved[7];
};

/* A registered category. */
struct brick_session_category {
	char name[48];
	uint64_t reserved[2];
};

/* A registered site. */
struct brick_session_site {
	uint16_t brick;
	int16_t layer;
	uint32_t flags;
	uint64_t elements, bytes, flops;
	char operation[32];
	char label[64];
};

/* A kernel with one shape, or a kind of transfer. 256 bytes. */
struct brick_session_kernel {
	uint64_t code; /* FNV-1a 64 of its source or module (in the code area), 0: not known */
	uint64_t shared_bytes; /* lower half: all; upper half: 1 + those that the launch asked for,
				  0: not known which they are */
	uint32_t grid[3], block[3]; /* work groups or blocks; work items in each; 0: not known */
	uint32_t kind;		    /* enum brick_kernel_kind */
	uint32_t registers;	    /* per work item, 0: not known */
	char backend[16];
	char name[192]; /* cut at a whole UTF-8 character */
};

/* Its shared_bytes, of both halves; more than its half can hold are not known. */
static inline uint64_t brick_kernel_shared(uint64_t all, uint32_t dynamic)
{
	return all > UINT32_MAX ? 0 : all | (uint64_t)dynamic << 32;
}

/* Text of a program: its name, path and source follow, without NULs. */
struct brick_session_code {
	uint64_t hash; /* FNV-1a 64 of the source */
	uint32_t name_bytes, path_bytes, source_bytes;
	uint32_t flags; /* 1: the source was cut to what there was room for */
};

/* Flags of a recorded digest, or'ed. */
enum brick_session_digest_flags {
	BRICK_SESSION_DIGEST_DECODE = 1, /* its step decodes */
};

/* The digest of one result. 2320 bytes. */
struct brick_session_digest {
	uint64_t ticks;	 /* when it was made */
	uint64_t step;	 /* in its process, from 1; 0: in none */
	uint64_t tokens; /* of the step */
	uint16_t brick;
	int16_t layer;
	uint32_t site;	/* 0: `label` is all that is known */
	uint32_t flags; /* enum brick_session_digest_flags */
	uint32_t reserved;
	uint64_t output, inputs[BRICK_DIGEST_INPUTS]; /* see struct brick_tensor */
	uint64_t reserved1[2];
	char label[64];
	struct brick_digest digest;
};

/* Flags of the ring of digests, or'ed. */
enum brick_digests_flags {
	BRICK_DIGESTS_READY = 1, /* its ring has memory behind it */
};

/* The place of a lane. */
struct brick_session_lane {
	uint64_t offset; /* of its struct brick_lane in the file, page-aligned */
	uint64_t bytes;	 /* lane, histograms and ring */
};

/* States of a session. */
enum brick_session_state {
	BRICK_SESSION_OPEN = 1,
	BRICK_SESSION_CLOSED = 2, /* the process ended the session in good order */
};

/* The first page of the file. */
struct brick_session_header {
	uint64_t magic;
	uint32_t version;
	uint32_t header_bytes; /* sizeof(struct brick_session_header) of the writer */
	uint32_t lane_bytes;   /* sizeof(struct brick_lane) */
	uint32_t state;	       /* enum brick_session_state */

	uint32_t pid, parent;
	uint32_t mode;	     /* enum brick_mode */
	uint32_t paused;     /* 1 while switched off */
	int32_t rank, world; /* -1 when the launcher names none */
	uint64_t start_ticks, end_ticks;
	uint64_t start_ns;	  /* CLOCK_MONOTONIC outside of time namespaces */
	uint64_t start_unix_ns;	  /* CLOCK_REALTIME */
	struct brick_clock clock; /* as the process calibrated it, to that CLOCK_MONOTONIC */

	/* cost of one begin/end pair, measured in this process at start: median and lower quartile
	 * warm, upper quartile behind 2 MB that went through the caches (beside which the CPU may
	 * do a part of it); ticks x 256 */
	uint64_t pair_cost, pair_cost_low, pair_cost_high;

	uint32_t brick_count, category_count, site_count, lane_count;
	uint32_t notes_bytes;
	uint32_t pair_cost_cold; /* at most, with no line of it in a cache; 0: not known */
	uint64_t notes_offset, category_offset, brick_offset, site_offset, drained_offset;
	struct brick_ledger ledger; /* of the process; lanes have their own */
	uint64_t kernel_offset, code_offset;
	uint32_t kernel_count; /* with the unused first; stored after the entry, as all counts */
	uint32_t code_bytes;

	/* digests: head by the process, tail by the consumer, both count for ever */
	uint64_t digest_offset, digest_capacity;
	uint64_t digest_head, digest_tail;
	uint64_t digest_dropped, digest_unsupported; /* in the ledger, too */
	uint32_t digest_flags;
	uint32_t pair_cost_streamed; /* behind those 2 MB, nothing beside it; 0: not known */

	char host[64];
	char executable[256];
	char command[BRICK_COMMAND_BYTES]; /* argv, each argument ended by NUL */
	uint32_t command_bytes;
	uint32_t pair_stream_ticks; /* the least time in which those 2 MB went through; not x 256 */

	uint64_t drained_more[BRICK_HISTOGRAM_BLOCKS - 1]; /* 0: none yet; stored once */
};

/* The lane table follows the header at this fixed offset. */
enum { BRICK_SESSION_LANES_OFFSET = 4096 };

BRICK_ABI_ASSERT(sizeof(struct brick_session_site) == 128, "frozen");
BRICK_ABI_ASSERT(sizeof(struct brick_session_brick) == 64, "frozen");
BRICK_ABI_ASSERT(sizeof(struct brick_session_kernel) == 256, "frozen");
BRICK_ABI_ASSERT(sizeof(struct brick_digest) == 2160, "frozen");
BRICK_ABI_ASSERT(sizeof(struct brick_session_digest) == 2320, "frozen");
BRICK_ABI_ASSERT(sizeof(struct brick_session_header) <= BRICK_SESSION_LANES_OFFSET, "frozen");

#endif
