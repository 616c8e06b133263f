/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What Brick writes into a Perfetto trace beyond Perfetto's own fields: names, numbers and limits
 * on which the writer and the reader must agree. docs/FORMAT.md explains each. Recordings hold
 * them, so none may change its meaning: a new name or number comes last in its list, and into
 * docs/FORMAT.md.
 */
#pragma once

#include "brick/abi/session.h"
#include "brick/clock.h"

/*
 * A reader refuses files of a higher version, so additions that old readers may skip do not raise
 * it. Older versions: in 1 a site's arguments were debug annotations; in 2 sites and kernels were
 * JSON.
 */
#define FORMAT_VERSION 3

/* Ids of sequences of packets. */
enum {
	FORMAT_OWN_SEQUENCE = 1,	   /* the run's own events */
	FORMAT_LANE_SEQUENCE = 2,	   /* lane n has the sequence FORMAT_LANE_SEQUENCE + n */
	FORMAT_OFF_CPU_SEQUENCE = 1 << 20, /* + n: times off the CPU of lane n's threads */
	FORMAT_STACK_SEQUENCE = 1 << 21,   /* stacks of all threads */
};

/*
 * Debug annotations of slices and instants on lanes: X(identifier, name). The writer interns them
 * in this order from 1. At most 63: the reader has one bit of 64 for each.
 */
#define FORMAT_ANNOTATIONS(X)                                                                      \
	X(SITE, "site")		/* interned JSON: what was executed, FORMAT_SITE_* */              \
	X(LAYER, "layer")	/* int; absent: -1, or the site's */                               \
	X(ELEMENTS, "elements") /* uint */                                                         \
	X(BYTES, "bytes")	/* uint */                                                         \
	X(FLOPS, "flops")	/* uint */                                                         \
	X(TOKENS, "tokens")	/* uint, of a step */                                              \
	X(INNER, "inner_ns")	/* uint: the wait inside of the slice */                           \
	X(SOURCE, "source")	/* interned name; absent: "tsc" */                                 \
	X(CLAMPED, "clamped")	/* true */                                                         \
	X(UNWOUND, "unwound")	/* true */                                                         \
	X(ALONE, "alone")	/* true: a wait that does not belong to the slice before it */     \
	X(COUNT, "count")	/* uint, of dropped records */                                     \
	X(TID, "tid")		/* uint: the thread that takes over the lane */                    \
	X(OPEN, "open")		/* true: the slice did not end, but its thread did */              \
	/* of a command on a queue: */                                                             \
	X(KERNEL, "kernel")  /* interned JSON: what was launched, see docs/FORMAT.md */            \
	X(BRICK, "brick")    /* interned name; the slice's own is the kernel's */                  \
	X(CALL, "launch_ns") /* uint: length of the host's call */                                 \
	X(LAUNCHED, "launch_to_start_ns")  /* int: since the begin of that call */                 \
	X(QUEUED, "queued_to_start_ns")	   /* int */                                               \
	X(SUBMITTED, "submit_to_start_ns") /* int */                                               \
	X(AFTER, "after") /* list of uint: numbers of commands that had to end before */           \
	/* of a tile: */                                                                           \
	X(ROW, "row")	    /* uint */                                                             \
	X(COLUMN, "column") /* uint */                                                             \
	X(LEVEL, "level")   /* uint: enum brick_tile_level */                                      \
	/* of an instant: */                                                                       \
	X(REPORTED, "reported_ns") /* uint: the length of an execution whose place is not known */ \
	/* of a counter at the begin of its step: */                                               \
	X(BEHIND, "read_after_ns") /* uint: from the lane's last time to its reading */            \
	/* of a site, beside the interned JSON, so that queries can ask for them: */               \
	X(OPERATION, "op")  /* interned */                                                         \
	X(TENSOR, "tensor") /* interned */                                                         \
	/* of a mixed step, which also has tokens of prompts: */                                   \
	X(OUTPUT_TOKENS, "output_tokens") /* uint, of its tokens */                                \
	/* of what is said of a sequence: */                                                       \
	X(SEQUENCE, "sequence")	   /* int: its id, -1: all of the model */                         \
	X(MODEL, "model")	   /* uint: number in the process */                               \
	X(PROMPT, "prompt_tokens") /* uint, of its tokens */                                       \
	X(POSITION, "position")	   /* int: of the first; absent: not known */                      \
	X(RESULTS, "results")	   /* uint: tokens that results are wanted of */                   \
	X(POSITIONS_END, "end")	   /* int: position behind the last; absent: no end */             \
	X(OTHER, "other")	   /* int: the sequence copied to; the shift; a block's end */     \
	X(NUMBER, "number")	   /* uint */                                                      \
	/* of what is said of experts: */                                                          \
	X(EXPERT, "expert")   /* int: its number, from 0; -1: those of the operation before */     \
	X(EXPERTS, "experts") /* uint: that there are */                                           \
	/* of what is said of memory: */                                                           \
	X(MEMORY, "memory")   /* uint: enum brick_memory_kind */                                   \
	X(GPU, "gpu")	      /* uint: 1 + its number; absent: the host */                         \
	X(LIVE, "live_bytes") /* uint */                                                           \
	X(PEAK, "peak_bytes") /* uint */                                                           \
	/* of a message between ranks, beside `bytes` and `number`: */                             \
	X(PEER, "peer")			/* int: rank of the other end, or of the root */           \
	X(TAG, "tag")			/* int */                                                  \
	X(COMMUNICATOR, "communicator") /* uint: the same in all ranks */

enum format_annotation {
	FORMAT_A_NONE = 0,
#define FORMAT_X(identifier, name) FORMAT_A_##identifier,
	FORMAT_ANNOTATIONS(FORMAT_X)
#undef FORMAT_X
		FORMAT_A_COUNT_PLUS_1,
};

/*
 * The most bricks before 0.2.0. Recordings of then use the ids behind these, so the names and
 * values of later bricks have ranges of their own.
 */
enum { FORMAT_FIRST_BRICKS = 1024 };

/* Interned string values. Lower ids were sites in files of version 1. */
enum {
	FORMAT_SOURCE_IID = BRICK_MAX_SITES,	   /* + enum brick_source */
	FORMAT_BRICK_IID = FORMAT_SOURCE_IID + 64, /* names of bricks by id */
	FORMAT_KERNEL_IID = FORMAT_BRICK_IID + FORMAT_FIRST_BRICKS,
	FORMAT_KERNEL_IID_END = FORMAT_KERNEL_IID + BRICK_MAX_KERNELS,
	FORMAT_OPERATION_IID = FORMAT_KERNEL_IID_END, /* of sites, in files of version 1 */
	FORMAT_TENSOR_IID = FORMAT_OPERATION_IID + BRICK_MAX_SITES,
	FORMAT_TENSOR_IID_END = FORMAT_TENSOR_IID + BRICK_MAX_SITES,
	FORMAT_MORE_BRICKS_IID =
		FORMAT_TENSOR_IID_END, /* names of the bricks behind the first ones */
	FORMAT_MORE_BRICKS_IID_END =
		FORMAT_MORE_BRICKS_IID + BRICK_MAX_BRICKS - FORMAT_FIRST_BRICKS,
};

/* The id of the interned string value that is a brick's name. */
static inline uint32_t format_brick_value(uint32_t brick)
{
	return brick < FORMAT_FIRST_BRICKS ? FORMAT_BRICK_IID + brick
					   : FORMAT_MORE_BRICKS_IID + brick - FORMAT_FIRST_BRICKS;
}

/*
 * The site of a slice: an extension of Perfetto's track events, which the trace describes itself.
 * It is named like a debug annotation, so that viewers show its members like debug annotations.
 * Texts are names of enum values. Field 1990 takes two bytes, and no extension in Perfetto's tree
 * has it.
 */
#define FORMAT_PACKAGE "brick"
#define FORMAT_EXTENDEE ".perfetto.protos.TrackEvent"
#define FORMAT_EXTENSION "debug"
#define FORMAT_SITE_MESSAGE "Site"
enum { FORMAT_SITE_FIELD = 1990 };

/* Its members: X(identifier, name, enum of its texts or NULL: a number), numbered from 1. */
#define FORMAT_SITE_MEMBERS(X)             \
	X(TENSOR, "tensor", "TensorText")  \
	X(LAYER, "layer", NULL)            \
	X(SITE, "site", FORMAT_SITE_TEXTS) \
	X(OPERATION, "op", "OperationText")
#define FORMAT_SITE_TEXTS "SiteText"

enum format_site_member {
	FORMAT_S_NONE = 0,
#define FORMAT_X(identifier, name, texts) FORMAT_S_##identifier,
	FORMAT_SITE_MEMBERS(FORMAT_X)
#undef FORMAT_X
};

/*
 * The facts of a site or a kernel: a field of the interned entry that gives it its number. Perfetto
 * skips the field. A fact that is absent is not known.
 */
enum { FORMAT_FACTS_FIELD = 1990 };

enum format_site_fact {
	FORMAT_SITE_LAYER = 1, /* the layer + 1 */
	FORMAT_SITE_OPERATION,
	FORMAT_SITE_TENSOR,
	FORMAT_SITE_ELEMENTS,
	FORMAT_SITE_BYTES,
	FORMAT_SITE_FLOPS,
	FORMAT_SITE_UNKNOWN, /* 1: no rule knew the operation */
	FORMAT_SITE_AT_MOST, /* 1: a mask leaves some of the work out */
};

enum format_kernel_fact {
	FORMAT_KERNEL_KIND = 1, /* enum brick_kernel_kind */
	FORMAT_KERNEL_NAME,
	FORMAT_KERNEL_BACKEND,
	FORMAT_KERNEL_GRID,  /* occurs three times: x, y, z */
	FORMAT_KERNEL_BLOCK, /* likewise */
	FORMAT_KERNEL_SHARED_BYTES,
	FORMAT_KERNEL_REGISTERS,
	FORMAT_KERNEL_CODE, /* the hash of its program */
};

/* Interned event names: bricks by id + 1, Brick's own instants from here on. */
enum format_event_name {
	FORMAT_N_DROPPED = FORMAT_FIRST_BRICKS + 1, /* records were lost here */
	FORMAT_N_THREAD,			    /* another thread takes over the lane */
	FORMAT_N_WORK,				    /* says more of the slice that ended last */
	FORMAT_N_BLOCKED,			    /* off its CPU: it waited */
	FORMAT_N_PREEMPTED,			    /* ... another thread ran in its place */
	FORMAT_N_WAITED,			    /* ends the flows that its slice waited for */
	FORMAT_N_LAUNCHED, /* at the begin of its slice: what that launched */
	FORMAT_N_SEQUENCE, /* of enum brick_sequence_event, in its order */
	FORMAT_N_SEQUENCE_END = FORMAT_N_SEQUENCE + BRICK_SEQUENCE_EVENTS,
	/* + 30 leaves room for sequence events */
	FORMAT_N_MEMORY = FORMAT_N_DROPPED + 30, /* that an operator asked for */
	FORMAT_N_EXPERT,			 /* rows that the next sample has for it */
	FORMAT_N_MESSAGE,			 /* of enum brick_message_event, in its order */
	FORMAT_N_MESSAGE_END = FORMAT_N_MESSAGE + BRICK_MESSAGE_EVENTS,
	FORMAT_N_OWN_END,
	FORMAT_N_KERNEL = 4 * FORMAT_FIRST_BRICKS, /* names of kernels, by index, from here on */
	FORMAT_N_KERNEL_END = FORMAT_N_KERNEL + BRICK_MAX_KERNELS,
	FORMAT_N_MORE_BRICKS = FORMAT_N_KERNEL_END, /* the bricks behind the first ones */
};

/* The id of the interned event name that is a brick's name. */
static inline uint32_t format_brick_name(uint32_t brick)
{
	return brick < FORMAT_FIRST_BRICKS ? brick + 1
					   : FORMAT_N_MORE_BRICKS + brick - FORMAT_FIRST_BRICKS;
}

/* Names in Perfetto's views of GPUs: kernels as above, queues by their sequence from here on. */
enum { FORMAT_QUEUE_IID = FORMAT_N_KERNEL_END };
#define FORMAT_DROPPED "Dropped"
#define FORMAT_THREAD "Thread"
#define FORMAT_WORK "Work"
#define FORMAT_BLOCKED "Blocked"
#define FORMAT_PREEMPTED "Preempted"
#define FORMAT_OFF_CPU "Off CPU" /* the track of both */
#define FORMAT_WAITED "Waited"
#define FORMAT_LAUNCHED "Launched"
#define FORMAT_SEQUENCES                                                                           \
	"Sequence", "SequenceRemoved", "SequenceCopied", "SequenceKept", "SequenceMoved",          \
		"SequenceLoaded", "ModelFreed", "SequenceBlock", "RequestBegin", "RequestArrived", \
		"RequestEnd", "TokenSampled", "SequencePreempted"
#define FORMAT_MEMORY "Memory"
#define FORMAT_EXPERT "Expert"
#define FORMAT_MESSAGES "MessageSent", "MessageReceived", "Collective", "MessageReceivedAny"
#define FORMAT_CATEGORY "brick"				     /* of Brick's own instants */
enum { FORMAT_OWN_CATEGORY_IID = BRICK_MAX_CATEGORIES + 1 }; /* others: category + 1 */

/* Names of enum brick_source, in its order. */
#define FORMAT_SOURCES                                                            \
	{                                                                         \
		"unknown", "tsc", "sync-wall", "device-event", "device-activity", \
			"timestamp-query", "reported", "callback", "estimated"    \
	}
enum { FORMAT_SOURCE_COUNT = 9 };

/* Names of enum brick_kernel_kind, in its order. */
#define FORMAT_KERNEL_KINDS                                     \
	{                                                       \
		"compute", "h2d", "d2h", "d2d", "fill", "other" \
	}
enum { FORMAT_KERNEL_KIND_COUNT = 6 };

/*
 * A flow's id is its process's `flow_base` plus the number of the command. A number that needs more
 * bits than this has no flow.
 */
enum { FORMAT_FLOW_BITS = 40 };

/* Begins the hash that is the id of a message's flow. */
enum { FORMAT_MESSAGE_HASH = 22 };

/* Counters of a whole step, read at its end: X(name, unit). */
#define FORMAT_STEP_COUNTERS(X)           \
	X("cycles", UNIT_COUNT)           \
	X("instructions", UNIT_COUNT)     \
	X("cache-misses", UNIT_COUNT)     \
	X("task-clock", UNIT_TIME_NS)     \
	X("page-faults", UNIT_COUNT)      \
	X("context-switches", UNIT_COUNT) \
	X("counter-reading", UNIT_TIME_NS)

/* Counters that attached hooks set of a step (brick/abi/step_counters.h). */
#define FORMAT_TOKEN_COUNTERS(X)                 \
	X(BRICK_REPEATED_NAME, UNIT_COUNT)       \
	X(BRICK_REFUSED_NAME, UNIT_COUNT)        \
	X(BRICK_ABORTED_NAME, UNIT_COUNT)        \
	X(BRICK_CHECKED_NAME, UNIT_COUNT)        \
	X(BRICK_REFUTED_NAME, UNIT_COUNT)        \
	X(BRICK_DISK_NAME, UNIT_SIZE_BYTES)      \
	X(BRICK_FAULTS_NAME, UNIT_COUNT)         \
	X(BRICK_LOAD_MINOR_NAME, UNIT_COUNT)     \
	X(BRICK_LOAD_MAJOR_NAME, UNIT_COUNT)     \
	X(BRICK_LOAD_DISK_NAME, UNIT_SIZE_BYTES) \
	X(BRICK_KERNEL_TIME_NAME, UNIT_TIME_NS)  \
	X(BRICK_OTHERS_TIME_NAME, UNIT_TIME_NS)  \
	X(BRICK_PADDING_NAME, UNIT_COUNT)        \
	X(BRICK_ADDED_NAME, UNIT_COUNT)          \
	X(BRICK_GUIDANCE_NAME, UNIT_COUNT)

/*
 * Members of the session's structs that the run's own events hold under the same names. A new
 * member of struct brick_stat, brick_ledger or brick_clock that recordings need goes here, too.
 */
#define FORMAT_STAT_FIELDS(X) \
	X(count)              \
	X(total)              \
	X(self)               \
	X(min)                \
	X(max)                \
	X(elements)           \
	X(bytes)              \
	X(flops) X(wait) X(nested) X(bytes_out) X(counted) X(cycles) X(instructions) X(cache_misses)
#define FORMAT_LEDGER_FIELDS(X) \
	X(dropped) X(unmatched) X(clamped) X(unsupported) X(too_deep) X(table_full) X(refused)
#define FORMAT_CLOCK_FIELDS(X) \
	X(source)              \
	X(shift) X(mult) X(base_ticks) X(base_ns) X(frequency) X(residual_ns) X(step_ticks)

/* Instants on the run's own track. */
#define FORMAT_RING "brick.ring"
enum { FORMAT_RING_DIGITS = 32 }; /* of its text */
#define FORMAT_RUN "brick.run"
#define FORMAT_CLOCK "brick.clock"
#define FORMAT_PROCESS "brick.process"
#define FORMAT_LANE "brick.lane"
#define FORMAT_STATISTICS "brick.statistics"
#define FORMAT_HISTOGRAM "brick.histogram"
#define FORMAT_CODE "brick.code"
#define FORMAT_NOTES "brick.notes"
#define FORMAT_ACCOUNT "brick.account"
#define FORMAT_DIGEST "brick.digest"
#define FORMAT_MARK "brick.mark"
#define FORMAT_ENERGY "brick.energy"
#define FORMAT_FAULTS "brick.faults"
#define FORMAT_PLACEMENT "brick.placement"
#define FORMAT_PROCESS_END "brick.process_end"
#define FORMAT_END "brick.end"

/*
 * The clock by which a process's ticks become ns. The recording's is more accurate than the
 * process's own, so it is used if both read the same counter. The process's own is used for
 * CLOCK_MONOTONIC: it is exact, and only the process knows the offset of its time namespace.
 */
static inline const struct brick_clock *format_clock_of(
	const struct brick_clock *recording, const struct brick_clock *own)
{
	int other = own->source != recording->source || own->source == BRICK_CLOCK_MONOTONIC;

	return recording->mult && (!own->mult || !other) ? recording : own;
}
