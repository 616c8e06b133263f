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
 * Makes a queue. Without a session its records go nowhere until one runs. Reports number queues
 * from 1 on in the order of their creation. options may be NULL. -EINVAL: size, flags or reserved.
 * -E2BIG: fields that are not known are set. -ENOMEM.
 */
BRICK_API int brick_queue_create(
	struct brick_queue **out, const struct brick_queue_options *options);

/* Frees a queue. Its records stay; an equal queue may take over its lane. NULL is legal. */
BRICK_API void brick_queue_destroy(struct brick_queue *queue);

/* A kernel or a kind of transfer, registered once. The same description has the same index. */
struct brick_kernel {
	size_t size; /* sizeof(struct brick_kernel) */
	const char *name;
	const char *backend;
	uint32_t kind;		 /* enum brick_kernel_kind */
	uint32_t grid[3];	 /* work groups; if block is all 0: work items; all 0: not known */
	uint32_t block[3];	 /* work items in each group; all 0: not known */
	uint32_t registers;	 /* per work item; 0: not known */
	uint64_t shared_bytes;	 /* per work group, in all; 0: none, or not known */
	uint64_t code;		 /* from brick_code_register(), or 0 */
	uint32_t dynamic_shared; /* 1 + the part of shared_bytes that the launch asked for; 0: not
				    known */
	uint32_t reserved;	 /* 0 */
};

#define BRICK_KERNEL_INIT BRICK_SIZED(struct brick_kernel)

/*
 * Returns the kernel's index for brick_command.kernel. 0: the table is full (counted, table_full),
 * or the description is not understood (NULL, no size, fields that are not known). Takes a lock.
 */
BRICK_API uint32_t brick_kernel_register(const struct brick_kernel *kernel);

/* Returns the 64-bit FNV-1a hash of a text, which is the same on every machine. */
BRICK_API uint64_t brick_code_hash(const void *text, size_t bytes);

/*
 * Keeps the source of a device's program, copied; the same text is kept once. name and path may be
 * NULL. Returns the source's brick_code_hash(), with or without a session.
 */
BRICK_API uint64_t brick_code_register(
	const char *source, size_t bytes, const char *name, const char *path);

/* A launch call, as its thread sees it. */
struct brick_launch {
	uint64_t number;     /* of the command, unique in the process; 0: nothing is recorded */
	uint64_t begin, end; /* of the call; ticks; end is valid after brick_launch_end() */
	uint32_t lane;	     /* index of the thread's lane + 1; 0: not known */
	uint32_t session;    /* serial number of the session that records it */
	uint32_t brick;	     /* innermost open brick that is no step, wait or phase of an engine;
				BRICK_NONE: there is none */
	int32_t layer;	     /* that brick's */
	brick_span span;     /* of the call, until brick_launch_end() */
};

/*
 * Call them just before and after the host's launch call, on its thread. The call becomes a sample
 * of brick "Launch", linked to the command. Cost: two clock readings and two records.
 */
BRICK_API void brick_launch_begin(struct brick_launch *launch);
BRICK_API void brick_launch_end(struct brick_launch *launch);

/* Sets the brick and layer that a launch here would have. Nothing is begun; `number` becomes 0. */
BRICK_API void brick_launch_parent(struct brick_launch *launch);

/*
 * Call it between brick_launch_begin() and _end() if one call launches many commands (a graph, a
 * submission). launch->number is then the first of `count` numbers in a row, and the call is linked
 * to all of them. Give each command a copy of the launch with its own number. Does nothing where
 * launch->number is 0.
 */
BRICK_API void brick_launch_many(struct brick_launch *launch, uint32_t count);

/* Returns one more number, for a command that no launch call is linked to. */
BRICK_API uint64_t brick_launch_number(void);

/* A command that the device has done. Times in ns of CLOCK_MONOTONIC; 0: not known. */
struct brick_command {
	size_t size; /* sizeof(struct brick_command) */
	struct brick_launch launch;
	uint32_t kernel; /* from brick_kernel_register(), or 0 */
	uint32_t source; /* enum brick_source */
	uint64_t queued_ns, submitted_ns;
	uint64_t begin_ns, end_ns;	 /* needed */
	uint64_t elements, bytes, flops; /* of this execution; 0: not known */
	uint32_t residual_ns;		 /* how far its times may be off on the host's clock */
	uint32_t after_count;		 /* entries of `after` */
	const uint64_t *after; /* numbers of commands that it had to wait for; read in the call */
	uint64_t over_ns;      /* when a wait of the host for the command was over; 0: not known */
};

#define BRICK_COMMAND_INIT BRICK_SIZED(struct brick_command)

/*
 * Records a command. Commands of a queue must come in the order of their begins. One that ends
 * after over_ns by at most the residual is moved to end there, and time before the launch is cut
 * off likewise. If commands of an in-order queue overlap, the overlap is cut off; one longer than
 * the residual is counted as clamped. If commands of an out-of-order queue overlap, they go to
 * further lanes of that queue, at most 64. An end before its begin is clamped and counted. 0, also
 * when the ring had no room (counted as dropped). -EINVAL: no times, times an hour and more in the
 * future, or no such brick (the caller counts the command). -ENOENT: nothing records, or the
 * session of the launch is over. BRICK_EFULL: no lane is left (counted, table_full).
 */
BRICK_API int brick_queue_record(struct brick_queue *queue, const struct brick_command *command);

/* A pass of a GPU, as an engine's own timestamps have it. Times in ns of CLOCK_MONOTONIC. */
struct brick_pass {
	const char *name; /* of its kernel in reports */
	uint64_t begin_ns, end_ns;
};

/*
 * Records passes that the program timed itself, in the order of their begins. They belong to the
 * brick that is open on this thread, and to no launch. If a pass has no name, or the order is
 * another, none is recorded. Errors as of brick_queue_record(): the passes behind the one that
 * failed are not recorded.
 */
BRICK_API int brick_queue_passes(
	struct brick_queue *queue, const struct brick_pass *passes, uint32_t count);

/* Counts `count` commands that were seen and could not be timed, in the queue's ledger. */
BRICK_API void brick_queue_unsupported(struct brick_queue *queue, uint64_t count);

/* Counts `count` records of the driver that never came, or came broken, as dropped. */
BRICK_API void brick_queue_dropped(struct brick_queue *queue, uint64_t count);

/*
 * Records that the calling thread waited from `begin` to `end` (ticks) for command `number`: a
 * sample of brick Synchronize, linked to that command. number 0: not known for which command.
 */
BRICK_API void brick_record_wait(uint64_t begin, uint64_t end, uint64_t number);

BRICK_END_DECLS

#endif
