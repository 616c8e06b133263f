/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frozen layout of a lane, where one thread or device queue records in a session (session.h): its
 * open bricks, a statistics entry per brick, histograms, and a ring of records. Only the owner
 * writes to a lane, with these exceptions: `tail`, `turn` and `drained` are the one consumer's;
 * owner and consumer both raise `backed`; brick_reset() sets `counted_from` and clears statistics
 * under the session lock. Statistics rows of bricks that the lane has not used may be holes of the
 * file: ask brick_lane_has_rows() before a row is touched. Times are ticks of the session's clock.
 */
#ifndef BRICK_ABI_LANE_H
#define BRICK_ABI_LANE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "brick/recorded.h"

/*
 * Sizes of a lane's tables. A lane has rows for the first BRICK_FIRST_ROWS bricks from its begin
 * on. It gets the other rows in groups, when a brick of the group is first used on it.
 */
enum {
	BRICK_MAX_BRICKS = 16384, /* ids of bricks that a process may have */
	BRICK_FIRST_ROWS = 1024,
	BRICK_ROW_GROUP = 64,  /* rows that a lane gets at a time; a bit of row_groups */
	BRICK_MAX_DEPTH = 128, /* bricks that may be open on a lane at a time */
};

/* A block of histograms is uint32_t[BRICK_FIRST_ROWS][BRICK_HISTOGRAM_BUCKETS]. */
enum {
	BRICK_HISTOGRAM_BLOCKS = BRICK_MAX_BRICKS / BRICK_FIRST_ROWS,
	BRICK_HISTOGRAM_ROW_BYTES = BRICK_HISTOGRAM_BUCKETS * 4,
	BRICK_HISTOGRAM_BLOCK_BYTES = BRICK_FIRST_ROWS * BRICK_HISTOGRAM_ROW_BYTES,
};

/*
 * One record of a ring, 32 bytes. Records stand in the order of their begin times within a lane,
 * and nest: a brick that ended without any other brick inside is one SAMPLE; one that holds others
 * is an OPEN before them and a CLOSE after them. A long leaf (>= 2^32 ticks) is OPEN + CLOSE too.
 * Commands of a queue with BRICK_QUEUE_OUT_OF_ORDER may overlap and stand in no order; each stands
 * together with the commands inside of it and with the records about it. The session's version
 * covers these numbers: a new kind also goes into src/lib/writer/lane_rules.c.
 */
enum brick_record_kind {
	BRICK_RECORD_NONE = 0,
	BRICK_RECORD_SAMPLE = 1, /* begin, ticks, wait; elements, or site + inner with FLAG_SITE */
	BRICK_RECORD_OPEN = 2,	/* begin; for a step: elements = tokens, see brick_mixed_tokens() */
	BRICK_RECORD_CLOSE = 3, /* begin = the END time; wait, elements/site as in SAMPLE */
	BRICK_RECORD_WORK = 4,	/* of the record before: begin = bytes moved, elements = FLOPs */
	BRICK_RECORD_WAIT = 5,	/* a wait of its own: begin; elements = its ticks (64 bits) */
	BRICK_RECORD_THREAD = 6,    /* the lane has a new owner: begin = when, elements = tid; 0:
				       none, its thread ended inside of the bricks that are open */
	BRICK_RECORD_INSTANT = 7,   /* begin; brick names it */
	BRICK_RECORD_COUNTER = 8,   /* begin; brick names it, elements = value (bits of a double) */
	BRICK_RECORD_DROP = 9,	    /* begin; elements = records dropped in a row just before */
	BRICK_RECORD_REPORTED = 10, /* begin = when it was reported, elements = length in ticks;
				       the same in ns: lower half in `ticks`, upper in `wait` */

	/*
	 * About the SAMPLE (or CLOSE) that they follow. On a queue's lane that is a command: its
	 * brick and layer are those that were open where it was launched.
	 */
	BRICK_RECORD_LAUNCH = 11, /* begin, ticks = of the host's launch call; wait = its lane + 1
				     (0: not known); brick = index of its kernel; elements = the
				     command's number: unique in the process, never 0 */
	BRICK_RECORD_TIMES = 12,  /* begin = when queued, elements = when submitted; 0: not known */
	BRICK_RECORD_AFTER = 13,  /* elements = number of a command that had to end first: of a
				     command (wait list, event), or of a thread's synchronisation */
	BRICK_RECORD_FLOW = 14,	  /* on a thread: the call launched command `elements`, and the
				     `ticks` ones whose numbers follow */
	BRICK_RECORD_TILE = 15,	  /* begin = row << 32 | column; elements = enum brick_tile_level */

	BRICK_RECORD_SAMPLES = 16,    /* up to three samples of sites: struct brick_samples */
	BRICK_RECORD_NAME = 17,	      /* a part of the name of the thread that leaves the lane now:
					 brick_name_read(); a part with a NUL is the last */
	BRICK_RECORD_WORK_AHEAD = 18, /* as WORK, of samples in the SAMPLES that follow: bit i is
					 set if it is of the i-th next sample; bits 0 to 31 in
					 `ticks`, 32 to 63 in `wait` */
	BRICK_RECORD_SEQUENCE = 19,   /* struct brick_sequence_record */
	BRICK_RECORD_EXPERT = 20,     /* struct brick_expert_record */
	BRICK_RECORD_MEMORY = 21,     /* struct brick_memory_record */
	BRICK_RECORD_MESSAGE = 22,    /* struct brick_message_record */
};

/* Flags of a record, or'ed. */
enum brick_record_flags {
	BRICK_FLAG_SITE = 1,	 /* `site` and `inner` are valid, else `elements` */
	BRICK_FLAG_CLAMPED = 2,	 /* its end lay before its begin, and was set to the begin */
	BRICK_FLAG_UNWOUND = 4,	 /* it had no end of its own: the end of an outer brick closed it */
	BRICK_FLAG_ELEMENTS = 8, /* `elements` was given by the program */
	/* of a thread's SAMPLE: its owner did not count it, and the consumer must */
	BRICK_FLAG_UNCOUNTED = 16,
};

/* `elements` of a mixed step's record: tokens of prompts below, those that make new ones above. */
static inline uint64_t brick_mixed_tokens(uint32_t prompt, uint32_t output)
{
	return (uint64_t)output << 32 | prompt;
}

/* A record of a ring. `kind` says what the other members mean: see enum brick_record_kind. */
struct brick_record {
	uint64_t begin; /* ticks */
	uint32_t ticks; /* length */
	uint32_t wait;	/* ticks of waiting (barrier) that follow the end; saturates */
	uint8_t kind;	/* enum brick_record_kind */
	uint8_t source; /* enum brick_source */
	uint16_t brick; /* id */
	int16_t layer;	/* -1: outside of blocks */
	uint16_t flags; /* enum brick_record_flags; of a NAME: the place of its part */
	__extension__ union {
		uint64_t elements;
		struct {
			uint32_t site;
			uint32_t inner; /* ticks of waiting inside of the length; saturates */
		};
	};
};

/*
 * A ring's record that stands for up to three SAMPLEs without waits, whose sites give their brick
 * and layer. They follow one another, and each begins less than 2^16 ticks after the end of the one
 * before. A record after it that describes a SAMPLE describes the last of them.
 */
struct brick_samples {
	uint64_t begin;	      /* of the first sample */
	uint32_t ticks[2];    /* lengths of the first and second */
	uint8_t kind, source; /* in the place that they have in struct brick_record */
	uint16_t site[3];     /* of each; site[1] or site[2] 0: that sample does not exist */
	uint32_t last_ticks;  /* length of the third */
	uint16_t gap[2];      /* ticks from the end of one to the begin of the next */
};

/*
 * Writes the SAMPLEs that `from` stands for, in their order; returns their number, 1 to 3. `brick`
 * becomes 0 and `layer` -1: the caller takes both from the site.
 */
static inline uint32_t brick_samples_read(
	const struct brick_samples *from, struct brick_record to[3])
{
	const uint32_t ticks[3] = {from->ticks[0], from->ticks[1], from->last_ticks};
	uint64_t begin = from->begin;
	uint32_t n = 0;

	for (; n < 3 && (!n || from->site[n]); n++) {
		struct brick_record *sample = &to[n];
		sample->begin = begin;
		sample->ticks = ticks[n];
		sample->wait = 0;
		sample->kind = BRICK_RECORD_SAMPLE;
		sample->source = from->source;
		sample->brick = 0;
		sample->layer = -1;
		sample->flags = BRICK_FLAG_SITE;
		sample->site = from->site[n];
		sample->inner = 0;
		begin += (uint64_t)ticks[n] + (n < 2 ? from->gap[n] : 0);
	}
	return n;
}

/*
 * A record of a ring about a sequence of a model. A record with the event TOKENS stands within its
 * step; other events also stand between steps. Tokens that belong to no sequence have no such
 * record. Ids of sequences are unique in their model, numbers of models in their process.
 */
struct brick_sequence_record {
	uint64_t begin;	  /* ticks: when it was written */
	int32_t sequence; /* BRICK_SEQUENCE_ALL: all of the model */
	uint32_t tokens;  /* of TOKENS: how many; of other events: what the event calls `other` */
	uint8_t kind;	  /* BRICK_RECORD_SEQUENCE */
	uint8_t event;	  /* enum brick_sequence_event */
	uint16_t model;	  /* BRICK_SEQUENCE_NO_MODEL: not known */
	uint32_t prompt;  /* of TOKENS: how many of them the prompt has; the rest are outputs or
			     drafts */
	__extension__ union {
		uint64_t number; /* where brick_sequence_has_number(event) */
		struct {
			int32_t position; /* the first; -1: not known, or from the begin on */
			int32_t end;	  /* of TOKENS: of how many of them results are wanted; else
					     the first position behind the range, -1: no end */
		};
	};
};

/*
 * A record of a ring about a mixture of experts: the next sample of MUL_MAT_ID multiplies so many
 * rows with this expert's weights. Those of one operation have the same `begin`.
 */
struct brick_expert_record {
	uint64_t begin;	 /* ticks */
	int32_t expert;	 /* from 0; BRICK_EXPERT_SAME: the same ones as for the operation before */
	uint32_t tokens; /* rows that are multiplied */
	uint8_t kind;	 /* BRICK_RECORD_EXPERT */
	uint8_t reserved;
	uint16_t experts; /* from how many the operation chooses; `expert` is below that */
	uint32_t reserved2;
	uint64_t bytes; /* of the weights of one expert */
};

/*
 * A record of a ring about memory of one kind that the operator of a site asked for, or of the
 * whole process (site 0). The peak is the largest since the record before about the same.
 */
struct brick_memory_record {
	uint64_t begin;	     /* ticks */
	uint64_t live_bytes; /* now */
	uint8_t kind;	     /* BRICK_RECORD_MEMORY */
	uint8_t memory;	     /* enum brick_memory_kind */
	uint16_t gpu;	     /* 1 + its number; 0: memory of the host */
	uint32_t site;	     /* 0: of the process */
	uint64_t peak_bytes;
};

/*
 * A record of a ring about a message between ranks, right behind the SAMPLE (or CLOSE) of the call
 * that sent or received it or took part in it. The two records of a message agree in communicator,
 * sender, receiver, tag and number, and all ranks' records of a collective in communicator and
 * number.
 */
struct brick_message_record {
	uint64_t begin;	     /* ticks: when it was written */
	int32_t peer;	     /* rank in the job: of the receiver, of the sender, of the collective's
				root; BRICK_MESSAGE_NO_PEER: none */
	int32_t tag;	     /* of a collective: 0 */
	uint8_t kind;	     /* BRICK_RECORD_MESSAGE */
	uint8_t event;	     /* enum brick_message_event */
	uint16_t bytes_high; /* bits 32 to 47 of its bytes */
	uint32_t communicator; /* the same number in all ranks */
	uint32_t number;       /* of messages with the same ends, from 1; 0: not known */
	uint32_t bytes_low;
};

/* Returns the bytes of a message. */
static inline uint64_t brick_message_bytes(const struct brick_message_record *r)
{
	return (uint64_t)r->bytes_high << 32 | r->bytes_low;
}

/* Bytes of a name with its NUL, and of the part of it in one NAME. */
enum { BRICK_NAME_BYTES = 64, BRICK_NAME_PART = 16 };

/* Puts the part of `name` from byte `at` on into a NAME. `name` has BRICK_NAME_BYTES bytes. */
static inline void brick_name_write(struct brick_record *to, const char *name, uint16_t at)
{
	to->flags = at;
	memcpy(&to->ticks, name + at, 4);
	memcpy(&to->wait, name + at + 4, 4);
	memcpy(&to->elements, name + at + 8, 8);
}

/*
 * Takes the part of a name out of a NAME. The first part clears the former name. Control characters
 * become '?'. A NAME whose place makes no sense changes nothing.
 */
static inline void brick_name_read(const struct brick_record *from, char name[BRICK_NAME_BYTES])
{
	if (from->flags > BRICK_NAME_BYTES - BRICK_NAME_PART)
		return;
	if (!from->flags)
		memset(name, 0, BRICK_NAME_BYTES);
	memcpy(name + from->flags, &from->ticks, 4);
	memcpy(name + from->flags + 4, &from->wait, 4);
	memcpy(name + from->flags + 8, &from->elements, 8);
	for (int i = from->flags; i < from->flags + BRICK_NAME_PART; i++)
		if ((name[i] > 0 && name[i] < ' ') || name[i] == 127)
			name[i] = '?';
	name[BRICK_NAME_BYTES - 1] = '\0';
}

/*
 * Statistics of one brick on one lane, by the lane's owner; ticks. SAMPLEs with
 * BRICK_FLAG_UNCOUNTED are not in here: their counts are in struct brick_drained once they are
 * drained, and in the ring before. All three together are exact, whatever records were lost. A new
 * member goes into the sums of src/lib/probe/stats.c, too. 128 bytes.
 */
struct brick_stat {
	uint64_t count;
	uint64_t total;	   /* time with at least one execution open on this lane (recursion once) */
	uint64_t self;	   /* less the time of nested bricks and waits */
	uint64_t min, max; /* of single executions; min is UINT64_MAX while count is 0 */
	uint64_t elements; /* produced */
	uint64_t bytes;	   /* read and written; where `bytes_out` is given: read */
	uint64_t flops;
	uint64_t wait;	 /* waiting inside of and right after its executions */
	uint64_t nested; /* length of executions inside of another of the same brick; sum = total +
			    nested */
	uint64_t bytes_out; /* bytes written, where they were given apart (brick_end_traffic()) */
	uint64_t counted;   /* executions that brick_counted_begin() and _end() counted ... */
	uint64_t cycles, instructions, cache_misses; /* ... and the sums of their counts */
	uint64_t surplus; /* part of a tick by which `total` exceeds the ns that were reported; in
			     ns x 2^shift of the owner's clock */
};

/*
 * Statistics of those executions of a brick whose SAMPLEs had BRICK_FLAG_UNCOUNTED. The consumer
 * writes all but the cycles. The owner adds bytes, FLOPs and a site's elements of these executions
 * to struct brick_stat. A SAMPLE has nothing inside of it, so that its self time is its length. 64
 * bytes.
 */
struct brick_leaf_stat {
	uint64_t count;
	uint64_t total, nested; /* as in struct brick_stat; the self time is their sum */
	uint64_t min, max;	/* 0 while count is 0 */
	uint64_t elements;
	/* the least and most cycles of executions that are in `counted` of struct brick_stat,
	   written by the lane's owner; valid while `counted` is not 0 */
	uint64_t cycles_min, cycles_max;
};

/*
 * The consumer's counts, of all records before the lane's `tail`. The lane's `turn` is odd while
 * the consumer counts; a reader must find the same even number before and after it copies. If the
 * consumer was killed within a turn, the number stays odd, and up to one batch of records may be
 * counted twice.
 */
struct brick_drained {
	uint32_t depth; /* OPENs without a CLOSE before `tail` */
	uint32_t reserved;
	uint16_t open[BRICK_MAX_DEPTH]; /* their bricks, the outermost first */
	struct brick_leaf_stat stats[BRICK_MAX_BRICKS];
};

/*
 * An open brick. The eight bytes from `kind` on are those of the SAMPLE that it may become; they
 * are 0 while no brick is open here.
 */
struct brick_frame {
	uint64_t begin; /* ticks */
	uint64_t child; /* ticks of nested bricks and waits so far; valid once it is OPENED */
	uint8_t kind;	/* BRICK_RECORD_SAMPLE; 0: no brick is open here */
	uint8_t source; /* enum brick_source */
	uint16_t brick;
	int16_t layer;
	uint16_t flags;	 /* enum brick_frame_flags; BRICK_FLAG_UNCOUNTED: the fast half began it */
	uint64_t tokens; /* with FRAME_STEP as in its record; with FRAME_WAITED a command's number;
			    else undefined */
};

/* Flags of a frame, or'ed. */
enum brick_frame_flags {
	BRICK_FRAME_OPENED = 0x100,  /* its OPEN was written, or dropped: it holds others */
	BRICK_FRAME_DROPPED = 0x200, /* its OPEN record was dropped: its CLOSE must be, too */
	BRICK_FRAME_STEP = 0x400,    /* `tokens` is valid */
	BRICK_FRAME_COUNTED = 0x800, /* a step that counters are read around */
	BRICK_FRAME_WAITED = 0x1000, /* a wait for the command whose number `tokens` is */
	BRICK_FRAME_UNSEEN = 0x2000, /* it or a frame outside of it is DROPPED */
};

/* Returns the OPEN record of a frame. */
static inline struct brick_record brick_frame_open(const struct brick_frame *frame)
{
	struct brick_record r;

	r.begin = frame->begin;
	r.ticks = r.wait = 0;
	r.kind = BRICK_RECORD_OPEN;
	r.source = frame->source;
	r.brick = frame->brick;
	r.layer = frame->layer;
	r.flags = 0;
	r.elements = frame->flags & BRICK_FRAME_STEP ? frame->tokens : 0;
	return r;
}

/* States of a lane. */
enum brick_lane_state {
	BRICK_LANE_FREE = 0, /* its thread has ended; the next new one takes it over */
	BRICK_LANE_LIVE = 1,
};

/*
 * Where a lane's histograms are. The first block lies in the lane; each further one stands where
 * the file ended when the block was first used. `address` is of use to the owner's process alone.
 */
struct brick_lane_histograms {
	uint64_t rows[BRICK_MAX_BRICKS / 64];	  /* bit per brick: it has memory behind it */
	uint64_t offset[BRICK_HISTOGRAM_BLOCKS];  /* in the file; 0: there is none */
	uint64_t address[BRICK_HISTOGRAM_BLOCKS]; /* where row 0 would be, in its process */
};

/*
 * One thread or queue. The first three groups, parted by padding to 64 bytes, have one writer each:
 * a new member must not move another one, nor bring two writers into a cache line.
 */
struct brick_lane {
	/* owner, hot */
	uint64_t head;		/* records ever written; the next goes to ring[head % capacity] */
	uint64_t limit;		/* head may not pass this without a look at tail and backed */
	uint32_t depth;		/* frames that are OPENED; see brick_lane_open() */
	uint32_t default_layer; /* 1 + the layer of bricks that name none; 0: outside of blocks */
	uint64_t pad0[5];

	/* consumer */
	uint64_t tail;	  /* records ever consumed; at most head */
	uint64_t turn;	  /* odd while `drained` changes: see struct brick_drained */
	uint64_t told[6]; /* parts of the first counts of `ledger` that are in files already */

	/* owner, cold */
	uint32_t state;			 /* enum brick_lane_state */
	uint32_t kind;			 /* enum brick_lane_kind */
	uint64_t tid;			 /* of the thread, or number of the queue */
	uint64_t owners;		 /* threads or queues that have used this lane so far */
	uint64_t start_ticks, end_ticks; /* of the present or last owner; end 0 while it lives */
	uint64_t live_ticks;		 /* lifetimes of all former owners together */
	char name[BRICK_NAME_BYTES];
	struct brick_ledger ledger;

	uint64_t hook_calls; /* calls of an attached library's hooks (brick_hook_cost()) */
	uint64_t hook_timed; /* calls among them that were timed whole ... */
	uint64_t hook_ticks; /* ... and how long these took together */
	uint64_t reserved0;

	uint64_t capacity;	   /* of the ring, in records; a power of two; 0: it has no ring */
	uint64_t histogram_offset; /* from the lane: the first block, by the owner */
	uint64_t ring_offset;	   /* from the lane: struct brick_record[capacity] */
	uint64_t row_groups[4];	   /* bit per group of bricks: it has rows in statistics */
	uint64_t row_refusals;	   /* requests for rows that failed since it last got some */
	uint64_t backed;	   /* records of the ring that have memory, at most capacity; below
				      capacity head stays below it; owner and consumer raise it */
	uint64_t back_refusals;	   /* requests for this memory that failed since it last got some */
	uint64_t reserved1[9];
	char backend[16];      /* of a queue: name of its backend */
	uint64_t queue_flags;  /* BRICK_QUEUE_*; brick_queue_gpu() */
	uint64_t counted_from; /* brick_reset(): records before this one are in no statistics */
	uint64_t pad2[3];

	struct brick_frame thread; /* around all others; only `child` is used */
	struct brick_frame frames[BRICK_MAX_DEPTH];
	struct brick_lane_histograms histograms;
	struct brick_stat stats[BRICK_MAX_BRICKS];

	/* consumer */
	struct brick_drained drained;
};

/* Number of a queue's GPU, which notes "gpu.NUMBER" describe; 0: not known. */
static inline uint32_t brick_queue_gpu(uint64_t queue_flags)
{
	return (uint32_t)(queue_flags >> 32);
}

/*
 * Returns 1 if a lane has rows for the brick in `stats` and `drained`, else 0: then the lane has
 * counted no execution of it, and its rows must not be touched.
 */
static inline int brick_lane_has_rows(const struct brick_lane *lane, uint32_t brick)
{
	uint32_t group = brick / BRICK_ROW_GROUP;

	return brick < BRICK_FIRST_ROWS ||
	       (brick < BRICK_MAX_BRICKS &&
		       __atomic_load_n(&lane->row_groups[group / 64], __ATOMIC_ACQUIRE) >>
				       (group % 64) &
			       1);
}

/*
 * Returns how many bricks from this one on, below `end`, have rows if this one has, and none if it
 * has none.
 */
static inline uint32_t brick_lane_rows_left(uint32_t brick, uint32_t end)
{
	uint32_t next = (brick / BRICK_ROW_GROUP + 1) * BRICK_ROW_GROUP;

	if (next < BRICK_FIRST_ROWS)
		next = BRICK_FIRST_ROWS;
	return (next < end ? next : end) - brick;
}

/* Returns the innermost open brick if it is not OPENED, else NULL. Owner of the lane. */
static inline struct brick_frame *brick_lane_leaf(struct brick_lane *lane)
{
	struct brick_frame *frame = &lane->frames[lane->depth];

	return lane->depth < BRICK_MAX_DEPTH && frame->kind ? frame : NULL;
}

/* Returns the number of open bricks: they are frames[0] and the ones behind it. */
static inline uint32_t brick_lane_open(const struct brick_lane *lane)
{
	return lane->depth + (lane->depth < BRICK_MAX_DEPTH && lane->frames[lane->depth].kind);
}

#ifdef __cplusplus
#define BRICK_ABI_ASSERT static_assert
#else
#define BRICK_ABI_ASSERT _Static_assert
#endif
BRICK_ABI_ASSERT(sizeof(struct brick_record) == 32, "frozen");
BRICK_ABI_ASSERT(sizeof(struct brick_sequence_record) == 32, "frozen");
BRICK_ABI_ASSERT(
	offsetof(struct brick_sequence_record, kind) == offsetof(struct brick_record, kind),
	"frozen");
BRICK_ABI_ASSERT(sizeof(struct brick_expert_record) == 32, "frozen");
BRICK_ABI_ASSERT(offsetof(struct brick_expert_record, kind) == offsetof(struct brick_record, kind),
	"frozen");
BRICK_ABI_ASSERT(sizeof(struct brick_memory_record) == 32, "frozen");
BRICK_ABI_ASSERT(offsetof(struct brick_memory_record, kind) == offsetof(struct brick_record, kind),
	"frozen");
BRICK_ABI_ASSERT(sizeof(struct brick_message_record) == 32, "frozen");
BRICK_ABI_ASSERT(offsetof(struct brick_message_record, kind) == offsetof(struct brick_record, kind),
	"frozen");
BRICK_ABI_ASSERT(sizeof(struct brick_stat) == 128, "frozen");
BRICK_ABI_ASSERT(sizeof(struct brick_frame) == 32, "frozen");
BRICK_ABI_ASSERT(sizeof(struct brick_leaf_stat) == 64, "frozen");
BRICK_ABI_ASSERT(offsetof(struct brick_lane, frames) % 64 == 0, "frozen");
BRICK_ABI_ASSERT(offsetof(struct brick_lane, stats) % 64 == 0, "frozen");
BRICK_ABI_ASSERT(BRICK_MAX_BRICKS / BRICK_ROW_GROUP == 4 * 64, "bits of row_groups");

#endif
