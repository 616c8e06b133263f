/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libbrick-nccl.so: NCCL loads it as its profiler, as `brick record` sets NCCL_PROFILER_PLUGIN, and
 * takes the table of the newest version that it knows. If no session records, no events are asked
 * for, so that it costs nothing.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "attach/common/notes_once.h"
#include "attach/nccl/nccl_abi.h"
#include "base/lock.h"
#include "base/scope.h"
#include "brick/abi/attacher.h"
#include "brick/attach.h"
#include "brick/brick.h"

/*
 * Collectives and messages that are on the way. Each takes as long as the GPU's clock says: from
 * the first of its channels' begins to the last of their ends. Its place on the host's time line is
 * not known, so that it is recorded as an execution that the program timed itself. A handle is a
 * number, which is good for one operation: one that NCCL keeps longer leads nowhere. NCCL tells of
 * channels from threads of its own, in any order: all is under one lock.
 */

/* NCCL's description of an operation that begins. */
struct nccl_operation {
	const char *function;
	const char *algorithm, *protocol; /* NULL: none */
	const char *type;		  /* of an element */
	uint64_t count;			  /* elements */
	uint32_t channels;		  /* of its kernel, each with events of its own */
};

/* Operations under way at most; channels of an operation at most (bits of `open`); places of kinds.
 */
enum { OPERATIONS = 1024, CHANNELS = 64, KINDS = 64 };

struct operation {
	uint32_t generation; /* how often the place was used; part of its handles */
	bool is_used;
	uint32_t brick;
	uint64_t elements, bytes;
	uint32_t channels, begun, ended; /* channels in all, begun, and ended */
	bool is_timed; /* all channels so far had begin and end by the GPU's clock */
	uint64_t begin_ns, end_ns;
	uint64_t open; /* bits of channels that have begun and not ended */
};

static struct operation nccl_operations[OPERATIONS];
static uint32_t next_place;
static struct losses {
	uint64_t untaken, untimed, strays;
	uint64_t copied, copied_bytes; /* by copy engines, of which NCCL tells no time */
} nccl_lost;

/* Bricks of kinds of operations, direct-mapped: registering goes through all names. */
static struct kind {
	char function[24], algorithm[16], protocol[8];
	uint32_t brick; /* 0: free */
} nccl_kinds[KINDS];

static pthread_mutex_t nccl_lock = PTHREAD_MUTEX_INITIALIZER;

LOCK_OVER_FORKS(nccl_lock)

/* A handle: generation (32 bits), channel (16), 1 + place (16). */
static uint64_t nccl_handle_of(const struct operation *o, uint8_t channel)
{
	return (uint64_t)o->generation << 32 | (uint64_t)channel << 16 |
	       (uint64_t)(o - nccl_operations + 1);
}

static struct operation *operation_of(uint64_t handle)
{
	uint32_t place = (uint32_t)(handle & 0xffff);
	struct operation *o = place && place <= OPERATIONS ? &nccl_operations[place - 1] : NULL;

	return o && o->is_used && o->generation == handle >> 32 ? o : NULL;
}

/* Bytes of an element; 0: a type that is not known. */
static uint64_t nccl_bytes_of(const char *type)
{
	static const struct {
		const char *name;
		uint64_t bytes;
	} types[] = {{"ncclInt8", 1}, {"ncclUint8", 1}, {"ncclFloat8e4m3", 1},
		{"ncclFloat8e5m2", 1}, {"ncclFloat16", 2}, {"ncclBfloat16", 2}, {"ncclInt32", 4},
		{"ncclUint32", 4}, {"ncclFloat32", 4}, {"ncclInt64", 8}, {"ncclUint64", 8},
		{"ncclFloat64", 8}};

	for (size_t i = 0; type && i < sizeof(types) / sizeof(*types); i++)
		if (!strcmp(types[i].name, type))
			return types[i].bytes;
	return 0;
}

static void nccl_copy(char *to, size_t bytes, const char *from)
{
	size_t n = strnlen(from, bytes - 1);

	memcpy(to, from, n);
	to[n] = '\0';
}

static uint32_t nccl_brick_of(const struct nccl_operation *from)
{
	struct kind kind = {.function = ""};

	nccl_copy(kind.function, sizeof(kind.function), from->function ? from->function : "");
	if (from->algorithm && from->protocol) {
		nccl_copy(kind.algorithm, sizeof(kind.algorithm), from->algorithm);
		nccl_copy(kind.protocol, sizeof(kind.protocol), from->protocol);
	}
	uint64_t mixed = ((uintptr_t)from->function ^ (uintptr_t)from->algorithm << 1 ^
			  (uintptr_t)from->protocol << 2);
	struct kind *kept = &nccl_kinds[(mixed ^ mixed >> 6 ^ mixed >> 12) % KINDS];
	lock_take(&nccl_lock);
	bool is_kept = kept->brick && !strcmp(kept->function, kind.function) &&
		       !strcmp(kept->algorithm, kind.algorithm) &&
		       !strcmp(kept->protocol, kind.protocol);
	kind.brick = is_kept ? kept->brick : 0;
	lock_give(&nccl_lock);
	if (kind.brick)
		return kind.brick;
	/* "NCCL AllReduce RING LL128": apart from ranges of the calls, which NVTX names AllReduce.
	 */
	char name[50]; /* room for the longest parts */
	const char *between = *kind.algorithm ? " " : "";
	int category = brick_category_register("Communication");
	snprintf(name, sizeof(name), "NCCL %.20s%s%.14s%s%.6s", kind.function, between,
		kind.algorithm, between, kind.protocol);
	int brick = brick_register(name, category < 0 ? BRICK_CATEGORY_OTHER : (uint32_t)category);
	if (brick < 0)
		return BRICK_NONE;
	kind.brick = (uint32_t)brick;
	HOLD(&nccl_lock);
	*kept = kind;
	return kind.brick;
}

/* A free place; NULL: all are on the way. Under the lock. */
static struct operation *nccl_free_place(void)
{
	for (uint32_t i = 0; i < OPERATIONS; i++) {
		struct operation *o = &nccl_operations[(next_place + i) % OPERATIONS];
		if (o->is_used)
			continue;
		next_place = (uint32_t)(o - nccl_operations + 1);
		return o;
	}
	return NULL;
}

/* 0: it is not taken, for lack of room or for its number of channels, which is counted. */
static uint64_t operations_start(const struct nccl_operation *from)
{
	KEEP_ERRNO();

	uint32_t brick = nccl_brick_of(from);
	HOLD(&nccl_lock);
	struct operation *o = brick == BRICK_NONE || !from->channels || from->channels > CHANNELS
				      ? NULL
				      : nccl_free_place();
	nccl_lost.untaken += !o;
	if (!o)
		return 0;
	*o = (struct operation){.generation = o->generation + 1,
		.is_used = true,
		.brick = brick,
		.elements = from->count,
		.bytes = from->count * nccl_bytes_of(from->type),
		.channels = from->channels,
		.is_timed = true,
		.begin_ns = UINT64_MAX};
	return nccl_handle_of(o, 0);
}

/*
 * Begins a channel of an operation: begin_ns 0 is not known. Returns 0 if there is no such
 * operation.
 */
static uint64_t operations_channel(uint64_t operation, uint8_t channel, uint64_t begin_ns)
{
	HOLD(&nccl_lock);
	struct operation *o = operation_of(operation);
	if (!o || channel >= CHANNELS || o->open >> channel & 1 || o->begun == o->channels) {
		nccl_lost.strays++;
		return 0;
	}
	o->begun++;
	o->open |= 1ull << channel;
	o->is_timed &= begin_ns != 0;
	o->begin_ns = begin_ns < o->begin_ns ? begin_ns : o->begin_ns;
	return nccl_handle_of(o, channel);
}

/* Ends a channel; true if it was the last one, and *o has all of the operation. Under the lock. */
static bool end_channel(uint64_t channel, uint64_t end_ns, struct operation *done)
{
	struct operation *o = operation_of(channel);
	uint64_t bit = 1ull << (channel >> 16 & (CHANNELS - 1));

	if (!o || !(o->open & bit))
		return false;
	o->open &= ~bit;
	o->ended++;
	o->is_timed &= end_ns >= o->begin_ns;
	o->end_ns = end_ns > o->end_ns ? end_ns : o->end_ns;
	if (o->ended < o->channels)
		return false;
	o->is_used = false;
	nccl_lost.untimed += !o->is_timed;
	*done = *o;
	return o->is_timed;
}

static void operations_channel_ends(uint64_t channel, uint64_t end_ns)
{
	struct operation done;
	KEEP_ERRNO();

	lock_take(&nccl_lock);
	bool is_done = end_channel(channel, end_ns, &done);
	lock_give(&nccl_lock);
	if (is_done)
		brick_record_elapsed(
			done.brick, done.end_ns - done.begin_ns, done.elements, done.bytes);
}

static pid_t nccl_told_by;

static void nccl_tell(void)
{
	uint64_t open = 0;

	if (getpid() != nccl_told_by)
		return;
	lock_take(&nccl_lock);
	for (uint32_t i = 0; i < OPERATIONS; i++)
		open += nccl_operations[i].is_used;
	struct losses all = nccl_lost;
	lock_give(&nccl_lock);
	if (open || all.untimed || all.untaken || all.strays)
		brick_note("nccl.lost",
			"%llu operations without an end, %llu without times of the GPU, %llu that "
			"were not taken; %llu channels of none",
			(unsigned long long)open, (unsigned long long)all.untimed,
			(unsigned long long)all.untaken, (unsigned long long)all.strays);
	if (all.copied)
		brick_note("nccl.copies",
			"%llu collectives of %llu bytes by copy engines: NCCL tells no time of "
			"them",
			(unsigned long long)all.copied, (unsigned long long)all.copied_bytes);
}

/* Notes at the end of the process which operations were not recorded, if any. */
static void operations_tell_at_exit(void)
{
	nccl_told_by = getpid();
	atexit(nccl_tell);
}

static uint64_t nccl_count_copies(const char *type, uint64_t count)
{
	HOLD(&nccl_lock);
	nccl_lost.copied++;
	nccl_lost.copied_bytes += count * nccl_bytes_of(type);
	return 0;
}

static pthread_once_t nccl_once = PTHREAD_ONCE_INIT;

static void nccl_begin(void **context, int *mask, const char *name, int nodes, int ranks, int rank)
{
	KEEP_ERRNO();

	*context = &nccl_once; /* NCCL wants one */
	*mask = 0;
	if (!brick_enabled() || brick_thread_ready())
		return;
	*mask = NCCL_COLLECTIVE | NCCL_POINT_TO_POINT | NCCL_CHANNEL;
	pthread_once(&nccl_once, operations_tell_at_exit);
	note_once("attach", "NCCL's profiler");
	note_once("nccl.communicator", "%s%srank %d of %d, on %d nodes", name ? name : "",
		name && *name ? ": " : "", rank, ranks, nodes);
}

static int init_4(void **context, int *mask, const char *name, uint64_t id, int nodes, int ranks,
	int rank, void *log)
{
	nccl_begin(context, mask, name, nodes, ranks, rank);
	return 0;
}

static int init_5(void **context, uint64_t id, int *mask, const char *name, int nodes, int ranks,
	int rank, void *log)
{
	nccl_begin(context, mask, name, nodes, ranks, rank);
	return 0;
}

static int init_6(void **context, uint64_t id, int *mask, const char *name, int nodes, int ranks,
	int rank, void *log)
{
	nccl_begin(context, mask, name, nodes, ranks, rank);
	*mask |= *mask ? NCCL_BY_COPIES : 0;
	return 0;
}

static uint64_t nccl_start_of(const struct nccl_description *d, uint64_t type)
{
	switch (type) {
	case NCCL_COLLECTIVE:
		return operations_start(&(struct nccl_operation){.function = d->collective.function,
			.algorithm = d->collective.algorithm,
			.protocol = d->collective.protocol,
			.type = d->collective.type,
			.count = d->collective.count,
			.channels = d->collective.channels});
	case NCCL_POINT_TO_POINT:
		return operations_start(&(struct nccl_operation){.function = d->message.function,
			.type = d->message.type,
			.count = d->message.count,
			.channels = d->message.channels});
	case NCCL_CHANNEL:
		return operations_channel(
			(uintptr_t)d->parent, d->channel.number, d->channel.begin);
	case NCCL_BY_COPIES:
		return nccl_count_copies(d->collective.type, d->collective.count);
	default:
		return 0;
	}
}

static int start_4(void *context, void **handle, struct nccl_description *d)
{
	*handle = (void *)(uintptr_t)nccl_start_of(d, d->type_v4);
	return 0;
}

static int start_5(void *context, void **handle, struct nccl_description *d)
{
	*handle = (void *)(uintptr_t)nccl_start_of(d, d->type);
	return 0;
}

/* An operation that stops has only been handed over. */
static int nccl_stop(void *handle)
{
	return 0;
}

static int nccl_record(void *handle, int state, struct nccl_state *change)
{
	if (handle && change && state == NCCL_CHANNEL_STOPS)
		operations_channel_ends((uintptr_t)handle, change->end);
	return 0;
}

static int finalize(void *context)
{
	return 0;
}

BRICK_API extern const struct nccl_profiler_4 ncclProfiler_v4;
BRICK_API extern const struct nccl_profiler_5 ncclProfiler_v5, ncclProfiler_v6;

const struct nccl_profiler_4 ncclProfiler_v4 = {
	"Brick", init_4, start_4, nccl_stop, nccl_record, finalize};
const struct nccl_profiler_5 ncclProfiler_v5 = {
	"Brick", init_5, start_5, nccl_stop, nccl_record, finalize};
const struct nccl_profiler_5 ncclProfiler_v6 = {
	"Brick", init_6, start_5, nccl_stop, nccl_record, finalize};

BRICK_API int brick_attacher_check(char *text, size_t bytes)
{
	snprintf(text, bytes, "collectives of NCCL 2.27.3 and newer are recorded, by its profiler");
	return 0;
}
