/* SPDX-License-Identifier: Apache-2.0 */
/* Frames of a walk begin and end in the order of time, so one column at a time is added up. */
#include "ui/page/lane_bins.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void end_column(struct lane_bins *b)
{
	uint64_t busy_ns = 0, most_ns = 0;
	struct lane_bin *bin = &b->row[b->column];

	for (uint32_t i = 0; i < b->touched_count; i++) {
		uint32_t brick = b->touched[i];
		busy_ns += b->ns[brick];
		if (b->ns[brick] > most_ns) {
			most_ns = b->ns[brick];
			bin->brick = brick + 1;
		}
		b->ns[brick] = 0;
	}
	b->touched_count = 0;
	bin->percent = busy_ns >= b->bin_ns ? 100 : (uint8_t)(100 * busy_ns / b->bin_ns);
}

static void go_to(struct lane_bins *b, size_t column)
{
	end_column(b);
	b->column = column;
	b->next_ns = b->begin_ns + (column + 1) * b->bin_ns;
}

/* The time since the cursor was that brick's. */
static void lane_bins_spend(struct lane_bins *b, uint32_t brick, uint64_t until_ns)
{
	uint64_t from_ns = b->cursor_ns;

	if (until_ns > from_ns)
		b->cursor_ns = until_ns;
	while (brick != RUN_NONE && from_ns < until_ns) {
		if (from_ns >= b->next_ns) {
			size_t column = (size_t)((from_ns - b->begin_ns) / b->bin_ns);
			if (column >= b->count)
				return;
			go_to(b, column);
		}
		uint64_t to_ns = until_ns < b->next_ns ? until_ns : b->next_ns;
		if (!b->ns[brick] && to_ns > from_ns)
			b->touched[b->touched_count++] = brick;
		b->ns[brick] += to_ns - from_ns;
		from_ns = to_ns;
	}
}

static uint32_t lane_bins_brick_of(const struct lane_bins *b, const struct walk_frame *frame)
{
	return b->index->kinds[frame->brick] == BRICK_KIND_STEP ? RUN_NONE : frame->brick;
}

static int lane_bins_on_lane(void *context, uint32_t lane)
{
	struct lane_bins *b = context;

	if (b->row_of[lane] == RUN_NONE)
		return 0;
	b->row = b->bins + b->row_of[lane] * b->count;
	b->cursor_ns = b->begin_ns;
	b->column = 0;
	b->next_ns = b->begin_ns + b->bin_ns;
	return 1;
}

static void lane_bins_on_begin(void *context, const struct walk_frame *frame, unsigned depth)
{
	lane_bins_spend(context, depth > 1 ? lane_bins_brick_of(context, frame - 1) : RUN_NONE,
		frame->begin_ns);
}

static void lane_bins_on_end(void *context, const struct walk_frame *frame, unsigned depth)
{
	struct lane_bins *b = context;

	lane_bins_spend(b, lane_bins_brick_of(b, frame), frame->end_ns);
	if (frame->wait_ns)
		lane_bins_spend(b, b->wait_brick, frame->end_ns + frame->wait_ns);
}

static int lane_bins_on_lane_end(void *context, uint32_t lane)
{
	end_column(context);
	return 0;
}

const struct walk_ops lane_bins_ops = {.begin_lane = lane_bins_on_lane,
	.begin = lane_bins_on_begin,
	.end = lane_bins_on_end,
	.end_lane = lane_bins_on_lane_end};

static uint32_t wait_brick_of(const struct run *run)
{
	for (uint32_t i = 0; i < run->brick_count; i++)
		if (run->bricks[i].well_known == BRICK_BARRIER_WAIT)
			return i;
	return (uint32_t)run->brick_count;
}

int lane_bins_init(struct lane_bins *b, const struct run *run, const struct step_index *index,
	const uint32_t *lanes, size_t lane_total, uint64_t begin_ns, uint64_t end_ns, size_t count)
{
	uint64_t length_ns = end_ns > begin_ns ? end_ns - begin_ns : 1;

	*b = (struct lane_bins){.run = run, .index = index, .begin_ns = begin_ns};
	b->bin_ns = (length_ns + count - 1) / count;
	b->count = (size_t)((length_ns + b->bin_ns - 1) / b->bin_ns);
	b->lane_total = lane_total;
	b->wait_brick = wait_brick_of(run);
	b->row_of = malloc((run->lane_count + 1) * sizeof(*b->row_of));
	b->lanes = calloc(lane_total + 1, sizeof(*b->lanes));
	b->bins = calloc(lane_total * b->count + 1, sizeof(*b->bins));
	b->ns = calloc(run->brick_count + 1, sizeof(*b->ns));
	b->touched = calloc(run->brick_count + 1, sizeof(*b->touched));
	if (!b->row_of || !b->lanes || !b->bins || !b->ns || !b->touched) {
		lane_bins_fini(b);
		return -ENOMEM;
	}
	memset(b->row_of, 0xff, run->lane_count * sizeof(*b->row_of));
	for (size_t i = 0; i < lane_total; i++) {
		b->lanes[i] = lanes[i];
		b->row_of[lanes[i]] = (uint32_t)i;
	}
	return 0;
}

void lane_bins_fini(struct lane_bins *b)
{
	free(b->row_of);
	free(b->lanes);
	free(b->bins);
	free(b->ns);
	free(b->touched);
	*b = (struct lane_bins){0};
}

void lane_bins_fill(struct lane_bins *b)
{
	for (size_t i = 0; i < b->lane_total; i++) {
		const struct run_lane *lane = &b->run->lanes[b->lanes[i]];
		struct lane_range range =
			lane_range(lane, b->begin_ns, b->begin_ns + b->count * b->bin_ns);
		lane_bins_on_lane(b, b->lanes[i]);
		walk_samples(
			b->run, b->index, b->lanes[i], range.first, range.end, &lane_bins_ops, b);
		end_column(b);
		run_lane_release(lane);
	}
}
