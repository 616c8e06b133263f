/* SPDX-License-Identifier: Apache-2.0 */
/* NCCL tells of channels from threads of its own, in any order: all is under one lock. */
#include "attach/nccl/nccl_operations.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/lock.h"
#include "base/scope.h"
#include "brick/brick.h"

enum { OPERATIONS = 1024, CHANNELS = 64, KINDS = 64 };

struct operation {
	uint32_t generation; /* from 1 on; how often the place was taken */
	bool is_used;
	uint32_t brick;
	uint64_t elements, bytes;
	uint32_t channels, begun, ended;
	bool is_timed; /* all channels so far said when they began and ended */
	uint64_t begin_ns, end_ns;
	uint64_t open; /* bits of channels that have begun and not ended */
};

static struct operation operations[OPERATIONS];
static uint32_t next_place;
static struct losses {
	uint64_t untaken, untimed, strays;
} lost;

/* Bricks of kinds of operations, direct-mapped: registering goes through all names. */
static struct kind {
	char function[24], algorithm[16], protocol[8];
	uint32_t brick; /* 0: free */
} kinds[KINDS];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

LOCK_OVER_FORKS(lock)

/* A handle: generation, channel, place + 1. */
static uint64_t handle_of(const struct operation *o, uint8_t channel)
{
	return (uint64_t)o->generation << 32 | (uint64_t)channel << 16 |
	       (uint64_t)(o - operations + 1);
}

static struct operation *operation_of(uint64_t handle)
{
	uint32_t place = (uint32_t)(handle & 0xffff);
	struct operation *o = place && place <= OPERATIONS ? &operations[place - 1] : NULL;

	return o && o->is_used && o->generation == handle >> 32 ? o : NULL;
}

/* Bytes of an element; 0: a type that is not known. */
static uint64_t bytes_of(const char *type)
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

/* "NCCL AllReduce RING LL128": apart from ranges of the calls, which NVTX names AllReduce. */
static uint32_t make_brick(const struct kind *kind)
{
	char name[50]; /* as much as its parts may take */
	const char *between = *kind->algorithm ? " " : "";
	int category = brick_category_register("Communication");

	snprintf(name, sizeof(name), "NCCL %.20s%s%.14s%s%.6s", kind->function, between,
		kind->algorithm, between, kind->protocol);
	int brick = brick_register(name, category < 0 ? BRICK_CATEGORY_OTHER : (uint32_t)category);
	return brick < 0 ? BRICK_NONE : (uint32_t)brick;
}

static void copy(char *to, size_t bytes, const char *from)
{
	size_t n = strnlen(from, bytes - 1);

	memcpy(to, from, n);
	to[n] = '\0';
}

static bool is_kind(const struct kind *x, const struct kind *y)
{
	return !strcmp(x->function, y->function) && !strcmp(x->algorithm, y->algorithm) &&
	       !strcmp(x->protocol, y->protocol);
}

static uint32_t brick_of(const struct nccl_operation *from)
{
	struct kind kind = {.function = ""};

	copy(kind.function, sizeof(kind.function), from->function ? from->function : "");
	if (from->algorithm && from->protocol) {
		copy(kind.algorithm, sizeof(kind.algorithm), from->algorithm);
		copy(kind.protocol, sizeof(kind.protocol), from->protocol);
	}
	uint64_t mixed = ((uintptr_t)from->function ^ (uintptr_t)from->algorithm << 1 ^
			  (uintptr_t)from->protocol << 2);
	struct kind *kept = &kinds[(mixed ^ mixed >> 6 ^ mixed >> 12) % KINDS];
	lock_take(&lock);
	uint32_t brick = kept->brick && is_kind(kept, &kind) ? kept->brick : 0;
	lock_give(&lock);
	if (brick)
		return brick;
	kind.brick = make_brick(&kind);
	if (kind.brick != BRICK_NONE) {
		HOLD(&lock);
		*kept = kind;
	}
	return kind.brick;
}

/* Under the lock; NULL: all are on the way. */
static struct operation *free_place(void)
{
	for (uint32_t i = 0; i < OPERATIONS; i++) {
		struct operation *o = &operations[(next_place + i) % OPERATIONS];
		if (o->is_used)
			continue;
		next_place = (uint32_t)(o - operations + 1);
		return o;
	}
	return NULL;
}

uint64_t operations_start(const struct nccl_operation *from)
{
	KEEP_ERRNO();

	uint32_t brick = brick_of(from);
	HOLD(&lock);
	struct operation *o = brick == BRICK_NONE || !from->channels || from->channels > CHANNELS
				      ? NULL
				      : free_place();
	lost.untaken += !o;
	if (!o)
		return 0;
	*o = (struct operation){.generation = o->generation + 1,
		.is_used = true,
		.brick = brick,
		.elements = from->count,
		.bytes = from->count * bytes_of(from->type),
		.channels = from->channels,
		.is_timed = true,
		.begin_ns = UINT64_MAX};
	return handle_of(o, 0);
}

uint64_t operations_channel(uint64_t operation, uint8_t channel, uint64_t begin_ns)
{
	HOLD(&lock);
	struct operation *o = operation_of(operation);
	if (!o || channel >= CHANNELS || o->open >> channel & 1 || o->begun == o->channels) {
		lost.strays++;
		return 0;
	}
	o->begun++;
	o->open |= 1ull << channel;
	o->is_timed &= begin_ns != 0;
	o->begin_ns = begin_ns < o->begin_ns ? begin_ns : o->begin_ns;
	return handle_of(o, channel);
}

/* Under the lock: true if it was the last channel, and *o has all of it. */
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
	lost.untimed += !o->is_timed;
	*done = *o;
	return o->is_timed;
}

void operations_channel_ends(uint64_t channel, uint64_t end_ns)
{
	struct operation done;
	KEEP_ERRNO();

	lock_take(&lock);
	bool is_done = end_channel(channel, end_ns, &done);
	lock_give(&lock);
	if (is_done)
		brick_record_elapsed(
			done.brick, done.end_ns - done.begin_ns, done.elements, done.bytes);
}

static pid_t told_by;

static void tell(void)
{
	uint64_t open = 0;

	if (getpid() != told_by)
		return;
	lock_take(&lock);
	for (uint32_t i = 0; i < OPERATIONS; i++)
		open += operations[i].is_used;
	struct losses all = lost;
	lock_give(&lock);
	if (open || all.untimed || all.untaken || all.strays)
		brick_note("nccl.lost",
			"%llu operations without an end, %llu without times of the GPU, %llu that "
			"were not taken; %llu channels of none",
			(unsigned long long)open, (unsigned long long)all.untimed,
			(unsigned long long)all.untaken, (unsigned long long)all.strays);
}

void operations_tell_at_exit(void)
{
	told_by = getpid();
	atexit(tell);
}
