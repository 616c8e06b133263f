/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sink's copies of tables grow by doubling; a table that shrank in the other process changes
 * nothing. A record that may have args is held back until the next one shows that there are none;
 * args that come later still (after a flush) are handed over on their own.
 */
#include "lib/writer/trace_records.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/members.h"
#include "base/utf8.h"
#include "format/format.h"

/* One table as bytes: its array, and how many entries are there and fit. */
struct copied_table {
	void *array;
	uint32_t *count, *capacity;
	size_t entry_bytes;
};

/* The array with the entries [*count, count) of `from` behind those that it has; NULL: no memory.
 */
static void *add_entries(struct copied_table copy, const void *from, uint32_t count, uint32_t limit)
{
	if (count > limit)
		count = limit;
	if (count > *copy.capacity || !copy.array) {
		uint32_t capacity = 2 * *copy.capacity; /* those of an import never grow */
		if (capacity < count)
			capacity = count ? count : 1;
		void *grown = realloc(copy.array, capacity * copy.entry_bytes);
		if (!grown)
			return NULL;
		copy.array = grown;
		*copy.capacity = capacity;
	}
	if (count <= *copy.count)
		return copy.array;
	size_t have = *copy.count * copy.entry_bytes;
	memcpy((char *)copy.array + have, (const char *)from + have,
		count * copy.entry_bytes - have);
	*copy.count = count;
	return copy.array;
}

#define ADD(table, name, limit)                                                        \
	do {                                                                           \
		struct copied_table copy = {tables->table, &tables->name##_count,      \
			&tables->name##_capacity, sizeof(*tables->table)};             \
		void *array = add_entries(copy, now->table, now->name##_count, limit); \
		if (!array)                                                            \
			return -ENOMEM;                                                \
		tables->table = array;                                                 \
	} while (0)

int tables_add(struct tables *tables, const struct sink_tables *now)
{
	ADD(categories, category, BRICK_MAX_CATEGORIES);
	ADD(bricks, brick, BRICK_MAX_BRICKS);
	ADD(sites, site, BRICK_MAX_SITES);
	ADD(kernels, kernel, BRICK_MAX_KERNELS);
	return 0;
}

void tables_fini(struct tables *tables)
{
	members_free(tables, bricks, categories, sites, kernels);
}

size_t tables_text(char *to, size_t capacity, const char *from, size_t from_bytes)
{
	size_t length = strnlen(from, from_bytes), size = 0;

	for (size_t i = 0; i < length;) {
		size_t n = utf8_character(from + i, length - i);
		size_t step = n ? n : 1;
		if (size + step >= capacity)
			break;
		if (n)
			memcpy(to + size, from + i, n);
		else
			to[size] = '?';
		size += step;
		i += step;
	}
	to[size] = 0;
	return size;
}

static int32_t at_least(int32_t value, int32_t least)
{
	return value > least ? value : least;
}

struct brick_sequence_record record_sequence(const struct brick_record *r)
{
	struct brick_sequence_record s;

	memcpy(&s, r, sizeof(s));
	bool has_other = s.event == BRICK_SEQUENCE_COPIED || s.event == BRICK_SEQUENCE_MOVED ||
			 s.event == BRICK_SEQUENCE_BLOCK;
	if (s.event == BRICK_SEQUENCE_FREED)
		s.sequence = BRICK_SEQUENCE_ALL;
	if (s.event != BRICK_SEQUENCE_TOKENS) {
		s.prompt = 0;
		s.tokens = has_other ? s.tokens : 0;
	}
	if (s.prompt > s.tokens)
		s.prompt = s.tokens;
	if (brick_sequence_has_number(s.event))
		return s;
	if (s.event == BRICK_SEQUENCE_SAMPLED)
		s.position = s.end = -1;
	s.position = at_least(s.position, -1);
	s.end = at_least(s.end, s.event == BRICK_SEQUENCE_TOKENS ? 0 : -1);
	return s;
}

bool record_expert(const struct brick_record *r, struct brick_expert_record *expert)
{
	memcpy(expert, r, sizeof(*expert));
	return expert->expert >= BRICK_EXPERT_SAME && expert->expert < expert->experts &&
	       (expert->tokens || expert->expert == BRICK_EXPERT_SAME);
}

static int bad(struct records_lane *lane)
{
	(*lane->bad)++;
	return 0;
}

/* 0: it does not fit. */
static bool add_arg(struct record_args *args, const struct brick_record *r)
{
	switch (r->kind) {
	case BRICK_RECORD_WORK:
		args->work = *r;
		break;
	case BRICK_RECORD_LAUNCH:
		args->launch = *r;
		break;
	case BRICK_RECORD_TIMES:
		args->times = *r;
		break;
	case BRICK_RECORD_TILE:
		args->tile = *r;
		break;
	case BRICK_RECORD_FLOW:
		if (args->flow_count == RECORD_LINKS)
			return false;
		args->further[args->flow_count] = r->ticks;
		args->flows[args->flow_count++] = r->elements;
		break;
	default:
		if (args->dependency_count == RECORD_LINKS)
			return false;
		args->dependencies[args->dependency_count++] = r->elements;
		break;
	}
	args->records++;
	return true;
}

static bool site_known(const struct tables *tables, const struct brick_record *r)
{
	return !(r->flags & BRICK_FLAG_SITE) ||
	       (r->site && r->site < tables->site_count &&
		       tables->sites[r->site].brick < tables->brick_count);
}

static int take_sample(
	struct records_lane *lane, const struct brick_record *r, const struct record_args *args)
{
	uint64_t end = r->begin + r->ticks;

	if (r->begin < lane->last_ticks || end < r->begin || end + r->wait < end ||
		!site_known(lane->tables, r))
		return bad(lane);
	int error = lane->target->sample(lane->context, r, args);
	lane->last_ticks = end;
	return error < 0 ? error : 1;
}

static int trace_records_take_open(struct records_lane *lane, const struct brick_record *r)
{
	if (r->begin < lane->last_ticks || lane->depth == BRICK_MAX_DEPTH)
		return bad(lane);
	int error = lane->target->open(lane->context, r);
	lane->open[lane->depth++] = r->brick;
	lane->last_ticks = r->begin;
	return error < 0 ? error : 1;
}

static int unwind(struct records_lane *lane, uint32_t depth, enum records_unwind why)
{
	int error = lane->depth > depth ? lane->target->unwind(lane->context, depth, why) : 0;

	lane->depth = depth;
	return error;
}

/*
 * A close belongs to the innermost open brick. If closes of inner bricks were lost, it ends those,
 * too.
 */
static int take_close(
	struct records_lane *lane, const struct brick_record *r, const struct record_args *args)
{
	uint32_t depth = lane->depth;

	while (depth && lane->open[depth - 1] != r->brick)
		depth--;
	if (!depth || r->begin < lane->last_ticks || !site_known(lane->tables, r))
		return bad(lane);
	*lane->bad += lane->depth - depth;
	int error = unwind(lane, depth, RECORDS_UNWOUND);
	if (!error)
		error = lane->target->close(lane->context, r, args);
	lane->depth--;
	lane->last_ticks = r->begin;
	return error < 0 ? error : 1;
}

static int take_wait(struct records_lane *lane, const struct brick_record *r)
{
	uint64_t end = r->begin + r->elements;

	if (r->begin < lane->last_ticks || end < r->begin)
		return bad(lane);
	int error = lane->target->wait(lane->context, r);
	lane->last_ticks = end;
	return error < 0 ? error : 1;
}

static int take_instant(struct records_lane *lane, const struct brick_record *r)
{
	if (r->begin < lane->last_ticks)
		return bad(lane);
	bool is_handover = r->kind == BRICK_RECORD_THREAD, is_left = is_handover && !r->elements;
	if (is_left) /* else nobody knows when it was */
		lane->last_ticks = r->begin;
	int error = is_handover ? unwind(lane, 0, RECORDS_OPEN) : 0;
	lane->last_ticks = r->begin;
	if (!error && !is_left)
		error = lane->target->instant(lane->context, r);
	return error < 0 ? error : 1;
}

/* 1: used; 0: it breaks a rule; negative: the target failed. */
static inline int trace_records_take(
	struct records_lane *lane, const struct brick_record *r, const struct record_args *args)
{
	if (r->kind == BRICK_RECORD_SEQUENCE) /* a layout of its own */
		return record_sequence(r).event < BRICK_SEQUENCE_EVENTS ? take_instant(lane, r)
									: bad(lane);
	if (r->kind == BRICK_RECORD_EXPERT) {
		struct brick_expert_record expert;
		return record_expert(r, &expert) ? take_instant(lane, r) : bad(lane);
	}
	if (r->source >= FORMAT_SOURCE_COUNT ||
		(r->brick >= lane->tables->brick_count && r->kind != BRICK_RECORD_THREAD &&
			r->kind != BRICK_RECORD_DROP))
		return bad(lane);
	switch (r->kind) {
	case BRICK_RECORD_SAMPLE:
		return take_sample(lane, r, args);
	case BRICK_RECORD_OPEN:
		return trace_records_take_open(lane, r);
	case BRICK_RECORD_CLOSE:
		return take_close(lane, r, args);
	case BRICK_RECORD_WAIT:
		return take_wait(lane, r);
	case BRICK_RECORD_THREAD:
	case BRICK_RECORD_NAME:
	case BRICK_RECORD_DROP:
	case BRICK_RECORD_INSTANT:
	case BRICK_RECORD_REPORTED:
	case BRICK_RECORD_COUNTER:
		return take_instant(lane, r);
	default:
		return bad(lane);
	}
}

static bool takes_args(const struct brick_record *r)
{
	return r->kind == BRICK_RECORD_SAMPLE || r->kind == BRICK_RECORD_CLOSE;
}

int records_release(struct records_lane *lane)
{
	struct brick_record r = lane->held;

	if (!r.kind)
		return 0;
	lane->held.kind = 0;
	int result = trace_records_take(lane, &r, lane->args.records ? &lane->args : NULL);
	lane->ended = result > 0;
	if (!result)
		*lane->bad += lane->args.records;
	return result < 0 ? result : 0;
}

static void trace_records_hold(struct records_lane *lane, const struct brick_record *r)
{
	struct record_args *args = &lane->args;

	lane->held = *r;
	args->work.kind = args->launch.kind = args->times.kind = args->tile.kind = 0;
	args->records = args->flow_count = args->dependency_count = 0;
}

/* More about the slice before it, which is held back or has been handed over already. */
static int take_arg(struct records_lane *lane, const struct brick_record *r)
{
	struct record_args late = {.records = 0};

	if (lane->held.kind && add_arg(&lane->args, r))
		return 0;
	int error = records_release(lane);
	if (error)
		return error;
	if (!lane->ended)
		return bad(lane);
	add_arg(&late, r);
	return lane->target->late(lane->context, &late);
}

int records_take(struct records_lane *lane, const struct brick_record *records, size_t count)
{
	int result = 0;

	for (size_t i = 0; i < count && result >= 0; i++) {
		struct brick_record r = records[i];
		if (record_is_arg(&r)) {
			result = take_arg(lane, &r);
			continue;
		}
		if (lane->held.kind && (result = records_release(lane)) < 0)
			break;
		if (takes_args(&r) && (i + 1 == count || record_is_arg(&records[i + 1]))) {
			trace_records_hold(lane, &r);
			continue;
		}
		result = trace_records_take(lane, &r, NULL);
		lane->ended = result > 0 && takes_args(&r);
	}
	return result < 0 ? result : 0;
}
