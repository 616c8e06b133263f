/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recording what a device did: queues, the kernels and transfers that ran on them, and the calls
 * that launched them. This is what backends and interposers stand on; an engine that wants its
 * own launches timed uses device.h. A queue is a lane of the session, beside those of the threads.
 *
 * The way of a command: brick_launch_begin() and brick_launch_end() around the host's call, on its
 * thread; when the device has done it, from any thread, brick_queue_record() with the device's
 * times, which the caller has put on the host's clock (correlation.h). Any thread; recording into
 * one queue takes that queue's lock. None of it allocates after a queue has been created.
 */
#ifndef BRICK_QUEUE_H
#define BRICK_QUEUE_H

#include <stddef.h>
#include <stdint.h>
#include "brick/export.h"
#include "brick/probe.h"
#include "brick/abi/session.h"

BRICK_BEGIN_DECLS

struct brick_queue;

/* Flags of a queue, or'ed. */
enum brick_queue_flags {
	BRICK_QUEUE_OUT_OF_ORDER = 1, /* its commands may overlap */
};

/* Options of brick_queue_create(). */
struct brick_queue_options {
	size_t size;	     /* sizeof(struct brick_queue_options) */
	const char *name;    /* in reports, "Portable Computing Language 0" say; copied */
	const char *backend; /* "opencl", "cuda", ...; copied */
	uint32_t flags;	     /* enum brick_queue_flags */
	uint32_t reserved;   /* 0 */
};

#define BRICK_QUEUE_OPTIONS_INIT BRICK_SIZED(struct brick_queue_options)

/*
 * Works without a session, too: then records go nowhere until one runs. The number in reports
 * counts queues up from 1 in the order of their creation. options may be NULL. -EINVAL: size,
 * flags or reserved. -E2BIG: fields that are not known are set. -ENOMEM.
 */
BRICK_API int brick_queue_create(
	struct brick_queue **out, const struct brick_queue_options *options);

/* Its records stay; its lane goes to the next queue. NULL is legal. */
BRICK_API void brick_queue_destroy(struct brick_queue *queue);

/* A kernel or a kind of transfer, registered once. The same description has the same index. */
struct brick_kernel {
	size_t size; /* sizeof(struct brick_kernel) */
	const char *name;
	const char *backend;
	uint32_t kind;		    /* enum brick_kernel_kind */
	uint32_t grid[3], block[3]; /* work groups; work items in each; block 0: not known, and
				       then grid has work items; all 0: neither is known */
	uint32_t registers;
	uint64_t shared_bytes;
	uint64_t code;		 /* from brick_code_register(), or 0 */
	uint32_t dynamic_shared; /* 1 + those of shared_bytes that the launch asked for; 0: not
				    known which they are */
	uint32_t reserved;	 /* 0 */
};

#define BRICK_KERNEL_INIT BRICK_SIZED(struct brick_kernel)

/*
 * Index for brick_command; 0 when the table is full (counted, table_full) or the description is not
 * understood (NULL, no size, fields that are not known). Takes a lock.
 */
BRICK_API uint32_t brick_kernel_register(const struct brick_kernel *kernel);

/* FNV-1a, 64 bits: the same everywhere and always; the empty text has cbf29ce484222325. */
BRICK_API uint64_t brick_code_hash(const void *text, size_t bytes);

/*
 * Keep the source of a program; name and path may be NULL. Returns its FNV-1a 64, with or without a
 * session; the same text is kept once.
 */
BRICK_API uint64_t brick_code_register(
	const char *source, size_t bytes, const char *name, const char *path);

/* A launch, as its thread sees it. number 0: nothing is recorded. */
struct brick_launch {
	uint64_t number;     /* of the command, unique in the process */
	uint64_t begin, end; /* ticks of the call */
	uint32_t lane;	     /* index of the thread's lane + 1 */
	uint32_t session;    /* serial number of the session that it belongs to */
	uint32_t brick;	     /* innermost open brick that is no step, wait or phase of an engine, */
	int32_t layer;	     /* and its layer; BRICK_NONE when there is no such brick */
	brick_span span;     /* of the call itself, while it is open */
};

/*
 * Just before and after the host's launch call. The call itself becomes a sample of brick
 * "Launch" on its thread, linked to the command. Cheap: two clock readings and two records.
 */
BRICK_API void brick_launch_begin(struct brick_launch *launch);
BRICK_API void brick_launch_end(struct brick_launch *launch);

/* Brick and layer that a launch here would have; nothing is begun, number stays 0. */
BRICK_API void brick_launch_parent(struct brick_launch *launch);

/*
 * Between the two, where one call launches many commands (a graph, a submission): launch->number is
 * now the first of as many numbers in a row, and the call is linked to all of them. Each command
 * gets a copy of the launch with its own. Nothing where number is 0.
 */
BRICK_API void brick_launch_many(struct brick_launch *launch, uint32_t count);

/* One more number, for a command that the call did not know of; nothing is linked to it. */
BRICK_API uint64_t brick_launch_number(void);

/* A command that the device has done. Times in ns of CLOCK_MONOTONIC; 0: not known. */
struct brick_command {
	size_t size; /* sizeof(struct brick_command) */
	struct brick_launch launch;
	uint32_t kernel;
	uint32_t source; /* enum brick_source */
	uint64_t queued_ns, submitted_ns;
	uint64_t begin_ns, end_ns;
	uint64_t elements, bytes, flops; /* of this execution; 0: not known */
	uint32_t residual_ns;		 /* how far off its place on the host's clock may be */
	uint32_t after_count;
	const uint64_t *after; /* numbers of commands that it had to wait for */
	uint64_t over_ns; /* the host saw it done: a wait for it was over by then; 0: unknown */
};

#define BRICK_COMMAND_INIT BRICK_SIZED(struct brick_command)

/*
 * Record it. Commands of a queue must come in the order of their begin. Time before the launch or
 * after over_ns is cut if it is at most the residual. In an in-order queue an overlap of at most
 * the residual is cut, and a longer one is cut and counted as clamped; in an out-of-order queue it
 * goes to a further lane of that queue, as long as no more than 64 overlap. An end before its begin
 * is clamped and counted. 0, also when the ring had no room (counted as dropped); -EINVAL: no
 * times, times an hour and more in the future, or a brick that does not exist (the caller counts
 * it); -ENOENT: nothing records, or the session of the launch is over; BRICK_EFULL: no lane is left
 * (counted, table_full).
 */
BRICK_API int brick_queue_record(struct brick_queue *queue, const struct brick_command *command);

/* A pass of a GPU, as an engine's own timestamps have it. Times in ns of CLOCK_MONOTONIC. */
struct brick_pass {
	const char *name; /* of its kernel in reports */
	uint64_t begin_ns, end_ns;
};

/*
 * Record passes that the program timed itself, in the order of their begins. They belong to the
 * brick that is open here, and to no launch. Errors as of brick_queue_record(), after which the
 * later ones are not recorded; nothing is where a pass has no name, or their order is another.
 */
BRICK_API int brick_queue_passes(
	struct brick_queue *queue, const struct brick_pass *passes, uint32_t count);

/* Work that was seen and could not be timed: counted in the ledger of the queue. */
BRICK_API void brick_queue_unsupported(struct brick_queue *queue, uint64_t count);

/* Records of the driver that never came, or came broken: counted as dropped. */
BRICK_API void brick_queue_dropped(struct brick_queue *queue, uint64_t count);

/*
 * The calling thread waited, from begin to end (ticks), until that command (number) was done: a
 * sample of brick Synchronize, linked to it. number 0: not known for which.
 */
BRICK_API void brick_record_wait(uint64_t begin, uint64_t end, uint64_t number);

BRICK_END_DECLS

#endif
