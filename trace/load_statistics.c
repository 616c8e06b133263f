/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exact statistics of lanes and histograms of processes, as the run's own events carry them. Later
 * ones replace earlier ones, brick by brick. Ticks stay ticks until load_finish.c.
 */
#include <stdlib.h>
#include <string.h>
#include "trace/load_state.h"

/* The lane's statistics have room for a brick. */
static struct brick_stat *stat_slot(struct load *l, struct load_lane *lane, uint32_t brick)
{
	if (brick >= lane->stat_room) {
		size_t room = brick + brick / 2 + 32;
		struct brick_stat *stats = realloc(lane->stats, room * sizeof *stats);
		if (!stats)
			return load_no_memory(l), NULL;
		memset(stats + lane->stat_room, 0, (room - lane->stat_room) * sizeof *stats);
		lane->stats = stats;
		lane->stat_room = room;
	}
	return &lane->stats[brick];
}

static uint32_t named_brick(struct load *l, struct pb_reader message, uint32_t field)
{
	struct load_annotation name, category;

	if (!load_find(message, field, "brick", &name) || !name.text.at)
		return RUN_NONE;
	uint32_t brick = load_brick(l, name.text);
	if (brick != RUN_NONE && l->run->bricks[brick].category == RUN_NONE &&
		load_find(message, field, "category", &category) && category.text.at)
		l->run->bricks[brick].category = load_category(l, category.text);
	return brick;
}

static void set_stat_field(struct brick_stat *stat, const struct load_annotation *a)
{
#define FORMAT_X(field)             \
	if (pb_is(a->name, #field)) \
		stat->field = a->value;
	FORMAT_STAT_FIELDS(FORMAT_X)
#undef FORMAT_X
}

static int read_stat(struct load *l, struct load_lane *lane, struct pb_reader dict)
{
	struct load_annotation a;
	uint32_t brick = named_brick(l, dict, ANNOTATION_DICT);
	struct brick_stat *stat = brick == RUN_NONE ? NULL : stat_slot(l, lane, brick);

	if (!stat)
		return 0;
	*stat = (struct brick_stat){0};
	while (load_next(&dict, ANNOTATION_DICT, &a) > 0)
		set_stat_field(stat, &a);
	return 1;
}

int load_statistics(struct load *l, struct pb_reader event)
{
	uint64_t number = load_uint(event, "lane", UINT64_MAX);
	struct load_annotation list, item;
	int good = 1;

	if (number >= l->run->lane_count)
		return 0;
	struct run_lane *lane = &l->run->lanes[number];
	struct load_lane *state = &l->lanes[number];
	lane->tid = load_uint(event, "tid", lane->tid);
	load_text_of(l, event, "name", &lane->name);
	lane->hook_calls = load_uint(event, "hook_calls", 0);
	lane->hook_timed = load_uint(event, "hook_timed", 0);
	state->hook_ticks = load_uint(event, "hook_ticks", 0);
	state->end_ticks = load_uint(event, "end_ticks", 0);
	load_ledger(event, &lane->ledger);
	if (!load_find(event, EVENT_ANNOTATIONS, "bricks", &list))
		return 0;
	while (load_next(&list.inside, ANNOTATION_ARRAY, &item) > 0 && !l->result)
		good &= read_stat(l, state, item.inside);
	return good && stat_slot(l, state, 0);
}

static uint64_t **histogram_slot(struct load *l, struct load_process *process, uint32_t brick)
{
	if (brick >= process->histogram_room) {
		size_t room = brick + brick / 2 + 32;
		uint64_t **grown = realloc(process->histograms, room * sizeof *grown);
		if (!grown)
			return load_no_memory(l), NULL;
		memset(grown + process->histogram_room, 0,
			(room - process->histogram_room) * sizeof *grown);
		process->histograms = grown;
		process->histogram_room = room;
	}
	return &process->histograms[brick];
}

/* Digits up to something else; 0 when there are none. */
static int read_number(struct pb_reader *text, uint64_t *value)
{
	const uint8_t *start = text->at;

	*value = 0;
	while (text->at < text->end && *text->at >= '0' && *text->at <= '9')
		*value = *value * 10 + (uint64_t)(*text->at++ - '0');
	return text->at > start;
}

static int read_buckets(struct pb_reader text, uint64_t *buckets)
{
	uint64_t index, count;

	while (text.at < text.end) {
		if (!read_number(&text, &index) || text.at == text.end || *text.at++ != ':' ||
			!read_number(&text, &count) || index >= BRICK_HISTOGRAM_BUCKETS)
			return 0;
		buckets[index] = count;
		if (text.at < text.end && *text.at++ != ' ')
			return 0;
	}
	return 1;
}

int load_histogram(struct load *l, struct pb_reader event)
{
	struct load_annotation text;
	uint64_t number;
	struct load_process *process = load_process(l, event, &number);
	uint32_t brick = process ? named_brick(l, event, EVENT_ANNOTATIONS) : RUN_NONE;
	uint64_t **slot = brick == RUN_NONE ? NULL : histogram_slot(l, process, brick);

	if (!slot || !load_find(event, EVENT_ANNOTATIONS, "buckets", &text) || !text.text.at)
		return 0;
	if (!*slot)
		*slot = malloc(BRICK_HISTOGRAM_BUCKETS * sizeof **slot);
	if (!*slot)
		return load_no_memory(l), 0;
	memset(*slot, 0, BRICK_HISTOGRAM_BUCKETS * sizeof **slot);
	return read_buckets(text.text, *slot);
}
