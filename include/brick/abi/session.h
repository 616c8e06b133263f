/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frozen layout of a session: the shared-memory file through which a profiled process hands its
 * records and statistics to whoever consumes them (the recorder, the live view, its own writer
 * thread). One lane per thread or device queue.
 *
 *   offset 0          struct brick_session_header     (fits into 4096 bytes)
 *   offset 4096       struct brick_session_lane[BRICK_MAX_LANES]   (BRICK_SESSION_LANES_OFFSET)
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
 * with release order. lane.h says who writes which member of a lane; `drained_offset` and
 * `drained_more` are the one consumer's histograms. The file is sparse: what no count covers may be
 * a hole, and a write there may end in SIGBUS. A reader trusts nothing in the file: it checks every
 * index, offset and count against the size of the file before it uses one. A change of this layout
 * raises BRICK_SESSION_VERSION.
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
 * The file BRICK_SESSION_REFUSALS_NAME in the recorder's directory counts what could not be
 * recorded because a process had no session. The recorder makes the file; each process maps it when
 * a library is attached, and adds to it without a lock.
 *
 * A process that cannot reach the directory (it is another user's, or the mounts are others) sends
 * this struct as a datagram, with itself as the one process. The recorder's socket is abstract; its
 * name is the last part of the directory's path.
 */
struct brick_session_refusals {
	uint64_t magic;	  /* BRICK_SESSION_MAGIC */
	uint32_t version; /* BRICK_SESSION_VERSION */
	uint32_t pid;	  /* of the process that was refused last */
	int32_t error;	  /* why that process was refused: -errno */
	uint32_t reserved;
	uint64_t processes;		    /* that were refused */
	uint64_t records;		    /* that threads without a session would have written */
	uint32_t told[BRICK_REFUSALS_TOLD]; /* their pids; the n-th is at n % BRICK_REFUSALS_TOLD */
	char name[BRICK_REFUSALS_NAME_BYTES];	     /* of the program that was refused last */
	char static_name[BRICK_REFUSALS_NAME_BYTES]; /* of the last statically linked program */

	/*
	 * What the recorder measured, so that no process need do so: its clock (base_ns is
	 * CLOCK_MONOTONIC outside of time namespaces; mult 0: not measured), and the costs of a
	 * begin/end pair in ticks (pair_stream 0: not measured), as in the header below.
	 */
	struct brick_clock clock;
	uint64_t pair_overlapped, pair_streamed, pair_stream, pair_cold;

	/*
	 * What the recorder asks of all processes: 1: record nothing for now. Each process looks
	 * at it when a step begins. Libraries that do not know this part always record.
	 */
	uint32_t off;
	uint32_t heeded; /* processes that have followed since the last change */

	/*
	 * How many steps in a row are recorded with their bricks (upper 16 bits), and how many
	 * after them as one piece each (lower 16 bits), on average; 0: the library chooses.
	 */
	uint32_t step_blocks;
	uint32_t reserved2;
};

/* Sizes of a session's tables: entries, or bytes where the name says so. */
enum {
	BRICK_MAX_CATEGORIES = 64,
	BRICK_MAX_SITES = 65536, /* a site's index fits into 16 bits: struct brick_samples */
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

/* A registered site; the members mean what those of struct brick_site do. 128 bytes. */
struct brick_session_site {
	uint16_t brick;
	int16_t layer;			 /* -1: outside of blocks */
	uint32_t flags;			 /* enum brick_site_flags */
	uint64_t elements, bytes, flops; /* of one execution; 0 with the flag clear: not known */
	char operation[32];		 /* "": not known */
	char label[64];			 /* "": not known */
};

/* A kernel with one shape, or a kind of transfer. 256 bytes. */
struct brick_session_kernel {
	uint64_t code; /* FNV-1a 64 of its source or module (in the code area), 0: not known */
	uint64_t shared_bytes; /* lower 32 bits: shared memory in all; upper 32 bits: 1 + the bytes
				  that the launch asked for, 0: not known how many */
	uint32_t grid[3];      /* work groups or blocks; without `block`: work items */
	uint32_t block[3];     /* work items in each group; 0: not known */
	uint32_t kind;	       /* enum brick_kernel_kind */
	uint32_t registers;    /* per work item, 0: not known */
	char backend[16];      /* "cuda", ... */
	char name[192];	       /* cut at a whole UTF-8 character */
};

/*
 * Returns brick_session_kernel.shared_bytes of both numbers; `dynamic` is 1 + the bytes that the
 * launch asked for, or 0. 0 (not known) if `all` does not fit into 32 bits.
 */
static inline uint64_t brick_kernel_shared(uint64_t all, uint32_t dynamic)
{
	return all > UINT32_MAX ? 0 : all | (uint64_t)dynamic << 32;
}

/*
 * A program's text. Name, path and source follow it in this order, without NULs; the next entry
 * begins at a multiple of 8 bytes.
 */
struct brick_session_code {
	uint64_t hash;				       /* FNV-1a 64 of the whole source */
	uint32_t name_bytes, path_bytes, source_bytes; /* lengths of the texts; 0: there is none */
	uint32_t flags;				       /* 1: the source was cut for lack of room */
};

/* Flags of a recorded digest, or'ed. */
enum brick_session_digest_flags {
	BRICK_SESSION_DIGEST_DECODE = 1, /* its step decodes */
};

/* The digest of one result. 2320 bytes. */
struct brick_session_digest {
	uint64_t ticks;	 /* when it was made */
	uint64_t step;	 /* its number in the process, from 1; 0: outside of steps */
	uint64_t tokens; /* of the step */
	uint16_t brick;
	int16_t layer;
	uint32_t site;	/* 0: not known; then `label` names the result */
	uint32_t flags; /* enum brick_session_digest_flags */
	uint32_t reserved;
	uint64_t output, inputs[BRICK_DIGEST_INPUTS]; /* see struct brick_tensor */
	uint64_t reserved1[2];
	char label[64];
	struct brick_digest digest;
};

/* Flags of the ring of digests, or'ed. */
enum brick_digests_flags {
	BRICK_DIGESTS_READY = 1, /* the whole ring has memory behind it */
};

/* The place of a lane. */
struct brick_session_lane {
	uint64_t offset; /* of its struct brick_lane in the file, page-aligned */
	uint64_t bytes;	 /* of lane, first block of histograms and ring, as they are mapped */
};

/* States of a session. */
enum brick_session_state {
	BRICK_SESSION_OPEN = 1,
	BRICK_SESSION_CLOSED = 2, /* the process ended the session in good order */
};

/*
 * The begin of the file. The order of members is the layout: a new one goes to the end. The process
 * writes all but digest_tail, which is the consumer's.
 */
struct brick_session_header {
	uint64_t magic;	       /* BRICK_SESSION_MAGIC; stored last, when all else is valid */
	uint32_t version;      /* BRICK_SESSION_VERSION */
	uint32_t header_bytes; /* sizeof(struct brick_session_header) of the writer */
	uint32_t lane_bytes;   /* sizeof(struct brick_lane) */
	uint32_t state;	       /* enum brick_session_state */

	uint32_t pid, parent;	  /* process id, and its parent's */
	uint32_t mode;		  /* enum brick_mode */
	uint32_t paused;	  /* 1 after brick_pause(), until brick_resume() */
	int32_t rank, world;	  /* of an MPI-like launcher; -1 when it names none */
	uint64_t start_ticks;	  /* when the session began */
	uint64_t end_ticks;	  /* when it ended; 0 while state is BRICK_SESSION_OPEN */
	uint64_t start_ns;	  /* start_ticks as CLOCK_MONOTONIC outside of time namespaces */
	uint64_t start_unix_ns;	  /* start_ticks as CLOCK_REALTIME */
	struct brick_clock clock; /* from ticks to that CLOCK_MONOTONIC, as the process has it */

	/*
	 * Cost of one begin/end pair, measured when the session starts; ticks x 256. Median and
	 * lower quartile are of pairs whose data is in the caches. The high cost is the upper
	 * quartile of pairs right behind a memset() of 2 MiB, with which the CPU may overlap a part
	 * of the pair.
	 */
	uint64_t pair_cost, pair_cost_low, pair_cost_high;

	uint32_t brick_count, category_count, site_count, lane_count; /* entries of the tables */
	uint32_t notes_bytes;	 /* of complete lines at notes_offset */
	uint32_t pair_cost_cold; /* the most, with no line of a pair in a cache; ticks x 256; 0: not
				    known */
	uint64_t notes_offset, category_offset, brick_offset, site_offset, drained_offset;
	struct brick_ledger ledger;	     /* of the process; lanes have their own */
	uint64_t kernel_offset, code_offset; /* 0: this session has no such area */
	uint32_t kernel_count;		     /* with the unused first */
	uint32_t code_bytes;		     /* of complete entries at code_offset */

	/* The ring of digests. The counts of head and tail never wrap: take them % capacity. */
	uint64_t digest_offset, digest_capacity;
	uint64_t digest_head;			     /* digests ever written, by the process */
	uint64_t digest_tail;			     /* digests ever consumed, by the consumer */
	uint64_t digest_dropped, digest_unsupported; /* the ledger counts these, too */
	uint32_t digest_flags;			     /* enum brick_digests_flags */
	uint32_t pair_cost_streamed; /* as pair_cost_high, with nothing overlapped; 0: not known */

	char host[64];			   /* gethostname() */
	char executable[256];		   /* path; "": not known */
	char command[BRICK_COMMAND_BYTES]; /* argv, each argument ended by NUL */
	uint32_t command_bytes;		   /* of `command`, with the NULs; 0: not known */
	uint32_t pair_stream_ticks;	   /* the least time of that memset(); ticks, not x 256 */

	/* [i]: the consumer's histograms of bricks from (i + 1) * BRICK_FIRST_ROWS on; 0: none yet.
	 * Each is stored once. */
	uint64_t drained_more[BRICK_HISTOGRAM_BLOCKS - 1];
};

/* The lane table, struct brick_session_lane[BRICK_MAX_LANES], stands at this fixed offset. */
enum { BRICK_SESSION_LANES_OFFSET = 4096 };

BRICK_ABI_ASSERT(sizeof(struct brick_session_site) == 128, "frozen");
BRICK_ABI_ASSERT(sizeof(struct brick_session_brick) == 64, "frozen");
BRICK_ABI_ASSERT(sizeof(struct brick_session_kernel) == 256, "frozen");
BRICK_ABI_ASSERT(sizeof(struct brick_digest) == 2160, "frozen");
BRICK_ABI_ASSERT(sizeof(struct brick_session_digest) == 2320, "frozen");
BRICK_ABI_ASSERT(sizeof(struct brick_session_header) <= BRICK_SESSION_LANES_OFFSET, "frozen");

#endif
