/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A record that may have args is held back until the next one shows that there are none; args that
 * come later still (after a flush) are handed over on their own.
 */
#include "lib/writer/trace_records.h"

#include "lib/writer/format.h"

static int bad(struct records_lane *lane)
{
	(*lane->bad)++;
	return 0;
}

/* 0: it does not fit. */
static int add_arg(struct record_args *args, const struct brick_record *r)
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
			return 0;
		args->further[args->flow_count] = r->ticks;
		args->flows[args->flow_count++] = r->elements;
		break;
	default:
		if (args->dependency_count == RECORD_LINKS)
			return 0;
		args->dependencies[args->dependency_count++] = r->elements;
		break;
	}
	args->records++;
	return 1;
}

static int site_known(const struct tables *tables, const struct brick_record *r)
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

static int take_open(struct records_lane *lane, const struct brick_record *r)
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

/* A close is of the innermost open brick, unless closes of inner ones were lost: then it ends
 * those. */
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
	int is_handover = r->kind == BRICK_RECORD_THREAD, is_left = is_handover && !r->elements;
	if (is_left) /* else nobody knows when it was */
		lane->last_ticks = r->begin;
	int error = is_handover ? unwind(lane, 0, RECORDS_OPEN) : 0;
	lane->last_ticks = r->begin;
	if (!error && !is_left)
		error = lane->target->instant(lane->context, r);
	return error < 0 ? error : 1;
}

/* 1: used; 0: it breaks a rule; negative: the target failed. */
static inline int take(
	struct records_lane *lane, const struct brick_record *r, const struct record_args *args)
{
	if (r->source >= FORMAT_SOURCE_COUNT ||
		(r->brick >= lane->tables->brick_count && r->kind != BRICK_RECORD_THREAD &&
			r->kind != BRICK_RECORD_DROP))
		return bad(lane);
	switch (r->kind) {
	case BRICK_RECORD_SAMPLE:
		return take_sample(lane, r, args);
	case BRICK_RECORD_OPEN:
		return take_open(lane, r);
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

static int takes_args(const struct brick_record *r)
{
	return r->kind == BRICK_RECORD_SAMPLE || r->kind == BRICK_RECORD_CLOSE;
}

int records_release(struct records_lane *lane)
{
	struct brick_record r = lane->held;

	if (!r.kind)
		return 0;
	lane->held.kind = 0;
	int result = take(lane, &r, lane->args.records ? &lane->args : NULL);
	lane->ended = result > 0;
	if (!result)
		*lane->bad += lane->args.records;
	return result < 0 ? result : 0;
}

static void hold(struct records_lane *lane, const struct brick_record *r)
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
			hold(lane, &r);
			continue;
		}
		result = take(lane, &r, NULL);
		lane->ended = result > 0 && takes_args(&r);
	}
	return result < 0 ? result : 0;
}
