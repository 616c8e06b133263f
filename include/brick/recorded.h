/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the numbers of records mean, in a session's memory (brick/abi/) as in a recording: how a
 * time was obtained, kinds of steps, lanes and commands, what happens to a sequence, what was lost,
 * and the bucket of a length. Frozen: recordings hold these numbers. Any thread.
 */
#ifndef BRICK_RECORDED_H
#define BRICK_RECORDED_H

#include <stdint.h>

/* The way in which a time was obtained. */
enum brick_source {
	BRICK_SOURCE_UNKNOWN = 0,
	BRICK_SOURCE_TSC = 1,		  /* two readings of the host clock around the work */
	BRICK_SOURCE_SYNC_WALL = 2,	  /* host clock around work and a synchronisation */
	BRICK_SOURCE_DEVICE_EVENT = 3,	  /* device events around the work */
	BRICK_SOURCE_DEVICE_ACTIVITY = 4, /* activity records of the driver */
	BRICK_SOURCE_TIMESTAMP_QUERY = 5, /* timestamps written by the device's command stream */
	BRICK_SOURCE_REPORTED = 6,	  /* a duration handed in by the program */
	BRICK_SOURCE_CALLBACK = 7,	  /* between two of the engine's own callbacks */
	BRICK_SOURCE_ESTIMATED = 8,	  /* of a command like others that were measured */
};

/* Kinds of steps. */
enum brick_phase {
	BRICK_PHASE_PREFILL = 0, /* takes tokens of prompts in */
	BRICK_PHASE_DECODE = 1,	 /* makes new tokens, or checks drafted ones */
	BRICK_PHASE_MIXED = 2,	 /* both in one batch: begun by brick_step_begin_mixed() */
	BRICK_PHASE_WARM_UP = 3, /* neither: what it evaluates is thrown away, and in no rate */
	BRICK_PHASE_OTHER = 4,	 /* another kind, such as a step of training, or not known */
};

/* Kinds of lanes. */
enum brick_lane_kind {
	BRICK_LANE_THREAD = 0,
	BRICK_LANE_QUEUE = 1, /* CUDA stream, OpenCL queue, ...: times of the device */
};

/* Backend of the queue of work that runs on the host, in no thread's stack. */
#define BRICK_HOST_BACKEND "host"

/* Kinds of a device's commands. */
enum brick_kernel_kind {
	BRICK_KERNEL_COMPUTE = 0,
	BRICK_KERNEL_H2D = 1, /* transfers; host to device */
	BRICK_KERNEL_D2H = 2,
	BRICK_KERNEL_D2D = 3,
	BRICK_KERNEL_FILL = 4,
	BRICK_KERNEL_OTHER = 5, /* barriers, markers, maps */
};

/*
 * Events of a sequence ("it" below). `other`, `number` and positions are members of struct
 * brick_sequence_record: `other` is its `tokens`. A new event goes in front of
 * BRICK_SEQUENCE_EVENTS.
 */
enum brick_sequence_event {
	BRICK_SEQUENCE_TOKENS = 0,  /* the step that is open evaluates some of its tokens */
	BRICK_SEQUENCE_REMOVED = 1, /* it lost the positions [position, end) */
	BRICK_SEQUENCE_COPIED = 2,  /* sequence `other` now has its positions [position, end) */
	BRICK_SEQUENCE_KEPT = 3,    /* all others of its model lost everything */
	BRICK_SEQUENCE_MOVED = 4,   /* its positions [position, end) were shifted by `other` */
	BRICK_SEQUENCE_LOADED = 5,  /* it was replaced by a saved state */
	BRICK_SEQUENCE_FREED = 6,   /* its model is gone, with all sequences */
	BRICK_SEQUENCE_BLOCK = 7, /* `number` is a hash of the tokens of a block, `other` its end */
	BRICK_SEQUENCE_BEGIN = 8, /* the program says that request `number` begins in it */
	BRICK_SEQUENCE_ARRIVED = 9, /* ... and that it waited since `number` (ticks) */
	BRICK_SEQUENCE_END = 10,    /* the program says that its request ended, and, if > 0, that it
				       made `position` tokens */
	BRICK_SEQUENCE_SAMPLED = 11,   /* its next token was chosen just now */
	BRICK_SEQUENCE_PREEMPTED = 12, /* it lost its tokens for want of memory, and its request
					  goes on: they are evaluated again */
	BRICK_SEQUENCE_EVENTS,
};

enum {
	BRICK_SEQUENCE_ALL = -1,	  /* in place of a sequence: all of the model */
	BRICK_SEQUENCE_NO_MODEL = 0xffff, /* in place of a model: not known which */
	/* from this number on a model is the recording's: several processes tell of its sequences
	 */
	BRICK_SEQUENCE_SHARED = 0x8000,
	BRICK_SEQUENCE_BLOCK_TOKENS = 16, /* tokens of a BRICK_SEQUENCE_BLOCK */
};

/* Returns 1 if a record of that event has a number, in the place of positions. */
static inline int brick_sequence_has_number(uint32_t event)
{
	return event >= BRICK_SEQUENCE_BLOCK && event <= BRICK_SEQUENCE_ARRIVED;
}

/* In place of an expert: the operation chose the same experts as the operation before. */
enum { BRICK_EXPERT_SAME = -1 };

/* Kinds of memory that an allocator gave. */
enum brick_memory_kind {
	BRICK_MEMORY_ALL = 0, /* all kinds together */
	BRICK_MEMORY_WEIGHTS = 1,
	BRICK_MEMORY_GRADIENTS = 2,   /* results of a backward pass */
	BRICK_MEMORY_OPTIMIZER = 3,   /* an optimizer's state */
	BRICK_MEMORY_ACTIVATIONS = 4, /* results of a forward pass */
	BRICK_MEMORY_CACHE = 5,	      /* keys and values of earlier tokens */
	BRICK_MEMORY_WORKSPACE = 6,   /* freed by the operator that asked for it */
	BRICK_MEMORY_OTHER = 7,
	BRICK_MEMORY_SYSTEM = 8,     /* not the allocator's: what the system says of the process */
	BRICK_MEMORY_COMPUTE = 9,    /* an engine's results of operations, until the next graph */
	BRICK_MEMORY_OUTPUTS = 10,   /* what the program reads of an engine */
	BRICK_MEMORY_STATES = 11,    /* the program's: saved states of sequences, a prompt cache */
	BRICK_MEMORY_ANONYMOUS = 12, /* the system's count without pages of files */
	BRICK_MEMORY_KINDS,
};

/* What a call did with a message between ranks. */
enum brick_message_event {
	BRICK_MESSAGE_SENT = 0,	      /* it was sent from the call's begin on */
	BRICK_MESSAGE_RECEIVED = 1,   /* it was there at the call's end */
	BRICK_MESSAGE_COLLECTIVE = 2, /* the rank came to a collective when the call began */
	/* as RECEIVED; but a receive from any sender was open, so it may be another message's end
	 */
	BRICK_MESSAGE_RECEIVED_ANY = 3,
	BRICK_MESSAGE_EVENTS,
};

/* In place of a peer: a collective has no root. */
enum { BRICK_MESSAGE_NO_PEER = -1 };

/* Losses by kind, on one lane or in the process as a whole. */
struct brick_ledger {
	uint64_t dropped;     /* records for which the ring had no room */
	uint64_t unmatched;   /* ends without a begin, begins closed from outside */
	uint64_t clamped;     /* negative or absurd times that were set to a bound */
	uint64_t unsupported; /* work seen that this attachment cannot time */
	uint64_t too_deep;    /* begins below BRICK_MAX_DEPTH */
	uint64_t table_full;  /* bricks, sites or lanes for which there was no entry */
	uint64_t refused;     /* records of threads for which no lane could be had */
	uint64_t reserved;
};

/*
 * Log-linear histogram of durations in ticks. Values below 64 have a bucket each. Above, every
 * octave is cut into 64 equal buckets, so that all values of a bucket are within 0.8 % of its
 * middle. Values of 2^44 ticks and more (1.9 hours at 2.6 GHz) share the last bucket.
 */
enum {
	BRICK_HISTOGRAM_SUB_BITS = 6,
	BRICK_HISTOGRAM_MAX_BITS = 44,
	BRICK_HISTOGRAM_BUCKETS = (BRICK_HISTOGRAM_MAX_BITS - BRICK_HISTOGRAM_SUB_BITS + 1)
				  << BRICK_HISTOGRAM_SUB_BITS, /* 2496 */
};

/* Bucket of a length in ticks. */
static inline uint32_t brick_histogram_index(uint64_t value)
{
	if (value < (1u << BRICK_HISTOGRAM_SUB_BITS))
		return (uint32_t)value;
	if (value >> BRICK_HISTOGRAM_MAX_BITS)
		return BRICK_HISTOGRAM_BUCKETS - 1;
	uint32_t shift = 63u - (uint32_t)__builtin_clzll(value) - BRICK_HISTOGRAM_SUB_BITS;
	return (shift << BRICK_HISTOGRAM_SUB_BITS) + (uint32_t)(value >> shift);
}

/* Middle of a bucket, in ticks. */
static inline uint64_t brick_histogram_value(uint32_t index)
{
	if (index < (2u << BRICK_HISTOGRAM_SUB_BITS))
		return index;
	uint32_t shift = (index >> BRICK_HISTOGRAM_SUB_BITS) - 1;
	uint64_t low = ((uint64_t)(index & ((1u << BRICK_HISTOGRAM_SUB_BITS) - 1)) +
			       (1u << BRICK_HISTOGRAM_SUB_BITS))
		       << shift;
	return low + ((1ull << shift) >> 1);
}

#endif
