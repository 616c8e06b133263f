/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A record that may have args is held back until the next one shows that there are none; args that
 * come later still (after a flush) are handed over on their own.
 */
#include "lib/writer/lane_rules.h"

static int rules_bad(struct writer_lane *lane)
{
	(*lane->rules.bad)++;
	return 0;
}

/* False: there is no room for it. */
static bool args_add(struct record_args *args, const struct brick_record *r)
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

static bool site_is_known(const struct tables *tables, const struct brick_record *r)
{
	return !(r->flags & BRICK_FLAG_SITE) ||
	       (r->site && r->site < tables->site_count &&
		       tables->sites[r->site].brick < tables->brick_count);
}

/* Frames above `depth` end. */
static int rules_unwind(struct writer_lane *lane, uint32_t depth, enum lane_unwind why)
{
	struct lane_rules *rules = &lane->rules;
	int error = rules->depth > depth ? writer_lane_unwind(lane, rules->depth - depth, why) : 0;

	rules->depth = depth;
	return error;
}

static int rules_take_instant(struct writer_lane *lane, const struct brick_record *r)
{
	bool is_handover = r->kind == BRICK_RECORD_THREAD, is_left = is_handover && !r->elements;

	if (r->begin < lane->rules.last_ticks)
		return rules_bad(lane);
	if (is_left) /* else nobody knows when it was */
		lane->rules.last_ticks = r->begin;
	int error = is_handover ? rules_unwind(lane, 0, LANE_OPEN) : 0;
	lane->rules.last_ticks = r->begin;
	if (!error && !is_left)
		error = writer_lane_instant(lane, r);
	return error < 0 ? error : 1;
}

/* 1: used; 0: it breaks a rule; negative: the lane failed. */
static inline int rules_take(
	struct writer_lane *lane, const struct brick_record *r, const struct record_args *args)
{
	const struct tables *tables = &lane->process->tables;
	struct lane_rules *rules = &lane->rules;
	struct brick_expert_record expert;
	struct brick_memory_record memory;
	struct brick_message_record message;
	uint32_t depth = rules->depth;
	uint64_t end = r->begin;
	int error;

	if (r->kind == BRICK_RECORD_SEQUENCE) /* this and the next ones have layouts of their own */
		return record_sequence(r).event < BRICK_SEQUENCE_EVENTS
			       ? rules_take_instant(lane, r)
			       : rules_bad(lane);
	if (r->kind == BRICK_RECORD_EXPERT)
		return record_expert(r, &expert) ? rules_take_instant(lane, r) : rules_bad(lane);
	if (r->kind == BRICK_RECORD_MEMORY)
		return record_memory(r, &memory) &&
				       (!memory.site || memory.site < tables->site_count)
			       ? rules_take_instant(lane, r)
			       : rules_bad(lane);
	if (r->kind == BRICK_RECORD_MESSAGE)
		return record_message(r, &message) ? rules_take_instant(lane, r) : rules_bad(lane);
	if (r->source >= FORMAT_SOURCE_COUNT ||
		(r->brick >= tables->brick_count && r->kind != BRICK_RECORD_THREAD &&
			r->kind != BRICK_RECORD_DROP))
		return rules_bad(lane);
	switch (r->kind) {
	case BRICK_RECORD_SAMPLE:
		end += r->ticks;
		if (r->begin < rules->last_ticks || end < r->begin || end + r->wait < end ||
			!site_is_known(tables, r))
			return rules_bad(lane);
		error = writer_lane_sample(lane, r, args);
		break;
	case BRICK_RECORD_OPEN:
		if (r->begin < rules->last_ticks || depth == BRICK_MAX_DEPTH)
			return rules_bad(lane);
		error = writer_lane_open(lane, r);
		rules->open[rules->depth++] = r->brick;
		break;
	case BRICK_RECORD_CLOSE:
		/* of the innermost open brick of that name; closes of others inside were lost */
		while (depth && rules->open[depth - 1] != r->brick)
			depth--;
		if (!depth || r->begin < rules->last_ticks || !site_is_known(tables, r))
			return rules_bad(lane);
		*rules->bad += rules->depth - depth;
		error = rules_unwind(lane, depth, LANE_UNWOUND);
		if (!error)
			error = writer_lane_close(lane, r, args);
		rules->depth--;
		break;
	case BRICK_RECORD_WAIT:
		end += r->elements;
		if (r->begin < rules->last_ticks || end < r->begin)
			return rules_bad(lane);
		error = writer_lane_wait(lane, r);
		break;
	case BRICK_RECORD_THREAD:
	case BRICK_RECORD_NAME:
	case BRICK_RECORD_DROP:
	case BRICK_RECORD_INSTANT:
	case BRICK_RECORD_REPORTED:
	case BRICK_RECORD_COUNTER:
		return rules_take_instant(lane, r);
	default:
		return rules_bad(lane);
	}
	rules->last_ticks = end;
	return error < 0 ? error : 1;
}

static bool takes_args(const struct brick_record *r)
{
	return r->kind == BRICK_RECORD_SAMPLE || r->kind == BRICK_RECORD_CLOSE;
}

int lane_rules_release(struct writer_lane *lane)
{
	struct lane_rules *rules = &lane->rules;
	struct brick_record r = rules->held;

	if (!r.kind)
		return 0;
	rules->held.kind = 0;
	int result = rules_take(lane, &r, rules->args.records ? &rules->args : NULL);
	rules->ended = result > 0;
	if (!result)
		*rules->bad += rules->args.records;
	return result < 0 ? result : 0;
}

/* More about the slice before it, which is held back or has been handed over already. */
static int rules_take_arg(struct writer_lane *lane, const struct brick_record *r)
{
	struct record_args late = {.records = 0};

	if (lane->rules.held.kind && args_add(&lane->rules.args, r))
		return 0;
	int error = lane_rules_release(lane);
	if (error)
		return error;
	if (!lane->rules.ended)
		return rules_bad(lane);
	args_add(&late, r);
	return writer_lane_late(lane, &late);
}

int lane_rules_take(struct writer_lane *lane, const struct brick_record *records, size_t count)
{
	struct lane_rules *rules = &lane->rules;
	struct record_args *args = &rules->args;
	int result = lane->started ? 0 : writer_lane_start(lane, records);

	for (size_t i = 0; i < count && result >= 0; i++) {
		struct brick_record r = records[i];
		if (record_is_arg(&r)) {
			result = rules_take_arg(lane, &r);
			continue;
		}
		if (rules->held.kind && (result = lane_rules_release(lane)) < 0)
			break;
		if (takes_args(&r) && (i + 1 == count || record_is_arg(&records[i + 1]))) {
			rules->held = r;
			args->work.kind = args->launch.kind = args->times.kind = 0;
			args->tile.kind = 0;
			args->records = args->flow_count = args->dependency_count = 0;
			continue;
		}
		result = rules_take(lane, &r, NULL);
		rules->ended = result > 0 && takes_args(&r);
	}
	return lane->packets->error;
}
