/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the changes between pictures of a live process, and draws them as one line. */
#include "ui/top/top_history.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ui/text/text.h"

enum { NOW_NS = 2000000000 }; /* "now" looks back that far, or to the previous reading */

static struct history_brick *top_history_find(struct history *h, const char *name)
{
	for (size_t i = 0; i < h->bricks.count; i++)
		if (!strcmp(h->bricks.items[i].name, name))
			return &h->bricks.items[i];
	return NULL;
}

const struct history_brick *history_find(const struct history *h, const char *name)
{
	return top_history_find((struct history *)h, name);
}

/* NULL: not enough memory, which text_error() tells. */
static struct history_brick *top_history_add_brick(struct history *h, const char *name)
{
	char *copy = text_copy(name);
	struct history_brick *brick = copy ? array_add(&h->bricks) : NULL;
	if (text_fail(brick ? 0 : -ENOMEM) < 0) {
		free(copy);
		return NULL;
	}
	*brick = (struct history_brick){.name = copy};
	for (int i = 0; i < HISTORY_SLOTS; i++)
		brick->values[i] = -1;
	return brick;
}

static uint64_t exact_self_ns(const struct run *run, uint32_t brick)
{
	uint64_t ns = 0;
	for (size_t l = 0; l < run->lane_count; l++)
		if (run->lanes[l].stats)
			ns += run->lanes[l].stats[brick].self_ns;
	return ns;
}

static void top_history_push(struct history_brick *brick, double value)
{
	memmove(brick->values, brick->values + 1, sizeof(brick->values) - sizeof(double));
	brick->values[HISTORY_SLOTS - 1] = value;
}

/* Adds the shares of one phase. */
static void add_shares(struct history *h, const struct picture *p)
{
	const struct summary *summary = p->report.summary;
	for (size_t i = 0; i < summary->row_count; i++)
		if (!top_history_find(h, summary->rows[i].name))
			top_history_add_brick(h, summary->rows[i].name);
	for (size_t b = 0; b < h->bricks.count; b++) {
		double value = -1;
		for (size_t i = 0; i < summary->row_count && summary->wall_ns; i++)
			if (!strcmp(summary->rows[i].name, h->bricks.items[b].name))
				value = summary->rows[i].share * 1e9;
		top_history_push(&h->bricks.items[b], value);
	}
}

static void top_history_add_values(struct history *h, const struct picture *p, uint64_t elapsed_ns)
{
	const struct run *run = p->run;
	for (uint32_t b = 0; b < run->brick_count; b++) {
		uint64_t now_ns = exact_self_ns(run, b);
		struct history_brick *brick = top_history_find(h, run->bricks[b].name);
		if (!brick && !now_ns)
			continue;
		bool is_new = !brick;
		if (is_new)
			brick = top_history_add_brick(h, run->bricks[b].name);
		if (!brick)
			return;
		top_history_push(brick,
			!elapsed_ns || (is_new && !h->reading_count) || now_ns < brick->self_ns
				? -1
				: (double)(now_ns - brick->self_ns) * 1e9 / (double)elapsed_ns);
		brick->self_ns = now_ns;
	}
}

static void top_history_add_reading(struct history *h, const struct picture *p)
{
	if (h->reading_count == HISTORY_SLOTS) {
		memmove(h->readings, h->readings + 1, sizeof(h->readings) - sizeof(*h->readings));
		h->reading_count--;
	}
	struct history_reading *r = &h->readings[h->reading_count++];
	r->ns = p->taken_ns;
	memcpy(r->steps, p->exact, sizeof(r->steps));
	r->executions = p->executions;
}

void history_add(struct history *h, const struct picture *p)
{
	/* A value per second: a minute is 60 of them, whatever the rate of pictures is. */
	uint64_t elapsed_ns = h->slot_ns ? p->taken_ns - h->slot_ns : 0;
	if (!h->slot_ns || elapsed_ns >= 950000000u) {
		if (p->phase == SUMMARY_ALL_PHASES)
			top_history_add_values(h, p, elapsed_ns);
		else
			add_shares(h, p);
		h->slot_ns = p->taken_ns;
	}
	top_history_add_reading(h, p);
}

void history_clear_bricks(struct history *h)
{
	for (size_t i = 0; i < h->bricks.count; i++)
		free(h->bricks.items[i].name);
	array_fini(&h->bricks);
	h->slot_ns = 0;
}

void history_clear(struct history *h)
{
	history_clear_bricks(h);
	memset(h, 0, sizeof(*h));
}

/* The reading that "now" is counted from; NULL: there are not two. */
static const struct history_reading *top_history_before(const struct history *h)
{
	if (h->reading_count < 2)
		return NULL;
	const struct history_reading *last = &h->readings[h->reading_count - 1];
	size_t i = h->reading_count - 2;
	while (i && last->ns - h->readings[i].ns < NOW_NS)
		i--;
	return &h->readings[i];
}

double history_tokens_per_s(const struct history *h, int phase)
{
	const struct history_reading *from = top_history_before(h);
	const struct history_reading *to = from ? &h->readings[h->reading_count - 1] : NULL;
	if (!from)
		return -1;
	const struct picture_steps *a = &from->steps[phase], *b = &to->steps[phase];
	if (b->count <= a->count || b->total_ns <= a->total_ns || b->tokens < a->tokens)
		return -1;
	return picture_tokens_per_s(&(struct picture_steps){.tokens = b->tokens - a->tokens,
		.total_ns = b->total_ns - a->total_ns,
		.after = b->after,
		.at_once = b->at_once});
}

double history_samples_per_s(const struct history *h)
{
	const struct history_reading *from = top_history_before(h);
	const struct history_reading *to = from ? &h->readings[h->reading_count - 1] : NULL;
	if (!from || to->executions < from->executions || to->ns <= from->ns)
		return -1;
	return (double)(to->executions - from->executions) * 1e9 / (double)(to->ns - from->ns);
}

/* The history as a line of characters. */

/* Mean of the values that are known among `count`; negative: none is. */
static double top_history_mean(const double *values, int count)
{
	double sum = 0;
	int known = 0;
	for (int i = 0; i < count; i++)
		if (values[i] >= 0) {
			sum += values[i];
			known++;
		}
	return known ? sum / known : -1;
}

void spark_of(char out[SPARK_BYTES], const struct history_brick *brick, int width, bool utf8)
{
	static const char *const blocks[] = {"\xe2\x96\x81", "\xe2\x96\x82", "\xe2\x96\x83",
		"\xe2\x96\x84", "\xe2\x96\x85", "\xe2\x96\x86", "\xe2\x96\x87", "\xe2\x96\x88"};
	static const char *const letters[] = {"_", ".", "-", "=", "+", "*", "%", "#"};
	double most = 0, value[HISTORY_SLOTS];
	out[0] = '\0';
	if (!brick || width < 1)
		return;
	int each = (HISTORY_SLOTS + width - 1) / width, count = HISTORY_SLOTS / each;
	for (int i = 0; i < count; i++) {
		value[i] = top_history_mean(brick->values + i * each, each);
		if (value[i] > most)
			most = value[i];
	}
	for (int i = 0; i < count; i++) {
		int level = most > 0 ? (int)(value[i] / most * 7.999) : 0;
		strcat(out, value[i] <= 0 ? " " : utf8 ? blocks[level] : letters[level]);
	}
}
