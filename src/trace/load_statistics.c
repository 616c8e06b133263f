/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exact statistics of lanes and histograms of processes, as the run's own events carry them. Later
 * ones replace earlier ones, brick by brick. Ticks stay ticks until build_finish.c.
 */
#include <stdlib.h>
#include "trace/load_own.h"

static uint32_t named_brick(struct load *l, struct pb_reader message, uint32_t field)
{
	struct load_annotation name, category;

	if (!load_find(message, field, "brick", &name) || !name.text.at)
		return RUN_NONE;
	uint32_t brick = build_brick(&l->build, (const char *)name.text.at, pb_size(name.text));
	if (brick != RUN_NONE && l->build.run->bricks[brick].category == RUN_NONE &&
		load_find(message, field, "category", &category) && category.text.at)
		l->build.run->bricks[brick].category = build_category(
			&l->build, (const char *)category.text.at, pb_size(category.text));
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

static int read_stat(struct load *l, struct build_lane *lane, struct pb_reader dict)
{
	struct load_annotation a;
	uint32_t brick = named_brick(l, dict, ANNOTATION_DICT);
	struct brick_stat *stat = brick == RUN_NONE ? NULL : build_stat(&l->build, lane, brick);

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

	if (number >= l->build.run->lane_count)
		return 0;
	struct run_lane *lane = &l->build.run->lanes[number];
	struct build_lane *state = l->build.lanes[number];
	lane->tid = load_uint(event, "tid", lane->tid);
	load_text_of(l, event, "name", &lane->name);
	lane->hook_calls = load_uint(event, "hook_calls", 0);
	lane->hook_timed = load_uint(event, "hook_timed", 0);
	state->hook_ticks = load_uint(event, "hook_ticks", 0);
	state->end_ticks = load_uint(event, "end_ticks", 0);
	load_ledger(event, &lane->ledger);
	if (!load_find(event, EVENT_ANNOTATIONS, "bricks", &list))
		return 0;
	while (load_next(&list.inside, ANNOTATION_ARRAY, &item) > 0 && !l->build.result)
		good &= read_stat(l, state, item.inside);
	return good && build_stat(&l->build, state, 0);
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
	struct build_process *process = load_process(l, event, &number);
	uint32_t brick = process ? named_brick(l, event, EVENT_ANNOTATIONS) : RUN_NONE;

	if (brick == RUN_NONE || !load_find(event, EVENT_ANNOTATIONS, "buckets", &text) ||
		!text.text.at)
		return 0;
	uint64_t *buckets = build_histogram(&l->build, process, brick);
	return buckets && read_buckets(text.text, buckets);
}
