/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel tells of a thread by its number, a session's records tell when the thread took its
 * lane over; neither comes first for certain, so intervals wait for the records. What a thread did
 * before it had its lane, or behind it, is another's time there, and is cut off.
 */
#include "lib/drain/off_cpu.h"

enum { MAX_WAITING = 1 << 16, MAX_TID = 1 << 22 };

static int hand_over(struct drain_off_cpu *o, uint32_t lane, uint64_t tid, uint64_t ns)
{
	uint64_t before = hashmap_get(&o->owner_of, lane);
	int error = before == HASHMAP_NONE ? 0 : hashmap_set(&o->until_of, before, ns);

	hashmap_take(&o->until_of, tid);
	if (!error)
		error = hashmap_set(&o->owner_of, lane, tid);
	if (!error)
		error = hashmap_set(&o->lane_of, tid, lane);
	return error ? error : hashmap_set(&o->since_of, tid, ns);
}

int drain_off_cpu_learn(struct drain_off_cpu *o, const struct brick_clock *clock, uint32_t lane,
	const struct brick_record *records, size_t count)
{
	int error = 0;

	for (size_t i = 0; i < count && !error; i++) {
		if (records[i].kind != BRICK_RECORD_THREAD || !records[i].elements ||
			records[i].elements > MAX_TID)
			continue;
		uint64_t tid = records[i].elements;
		error = hand_over(o, lane, tid, brick_clock_ns(clock, records[i].begin));
		uint64_t forgotten = hashmap_take(&o->forgotten, tid);
		o->lost += forgotten == HASHMAP_NONE ? 0 : forgotten;
	}
	return error;
}

/* The older half of what waits goes: its threads had time enough to record something. */
static int forget_half(struct drain_off_cpu *o)
{
	size_t half = o->waiting.count / 2;
	int error = 0;

	for (size_t i = 0; i < half && !error; i++) {
		uint64_t n = hashmap_get(&o->forgotten, o->waiting.items[i].tid);
		error = hashmap_set(
			&o->forgotten, o->waiting.items[i].tid, n == HASHMAP_NONE ? 1 : n + 1);
	}
	o->waiting.count -= half;
	memmove(o->waiting.items, o->waiting.items + half,
		o->waiting.count * sizeof *o->waiting.items);
	return error;
}

int drain_off_cpu_add(struct drain_off_cpu *o, const struct sink_off_cpu *intervals, size_t count)
{
	int error = o->waiting.count + count > MAX_WAITING ? forget_half(o) : 0;

	return error ? error : array_append(&o->waiting, intervals, count);
}

int drain_off_cpu_emit(struct drain_off_cpu *o, struct sink *sink,
	int (*number)(void *context, uint32_t lane), void *context)
{
	size_t kept = 0;
	int error = 0;

	for (size_t i = 0; i < o->waiting.count; i++) {
		struct sink_off_cpu one = o->waiting.items[i];
		uint64_t lane = hashmap_get(&o->lane_of, one.tid);
		if (error || lane == HASHMAP_NONE) {
			o->waiting.items[kept++] = one;
			continue;
		}
		uint64_t since_ns = hashmap_get(&o->since_of, one.tid);
		uint64_t until_ns = hashmap_get(&o->until_of, one.tid);
		one.begin_ns = one.begin_ns > since_ns ? one.begin_ns : since_ns;
		if (until_ns != HASHMAP_NONE && one.end_ns > until_ns)
			one.end_ns = until_ns;
		if (one.begin_ns < one.end_ns)
			error = sink_off_cpu(sink, number(context, (uint32_t)lane), &one, 1);
	}
	o->waiting.count = kept;
	return error;
}

void drain_off_cpu_fini(struct drain_off_cpu *o)
{
	hashmap_fini(&o->lane_of);
	hashmap_fini(&o->since_of);
	hashmap_fini(&o->until_of);
	hashmap_fini(&o->owner_of);
	hashmap_fini(&o->forgotten);
	array_fini(&o->waiting);
}
