/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds up commands lane by lane. In the end it subtracts time that several lanes of one queue spent
 * on the same brick, category or group at once, so that none has more time than its queues were
 * busy.
 */
#include "analysis/accounts/device_accounts.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/accounts/launches.h"
#include "base/order.h"

/* Adds a length and work. on_cpu has its own count, as statistics may have more executions. */
static void add_length(
	struct device_accounts *t, struct summary_sums *sums, const struct walk_frame *frame)
{
	uint64_t ns = frame->length_ns;
	lengths_add(&sums->on_cpu, &(struct summary_lengths){1, ns, ns, ns});
	sums_add_work(sums, &t->run->sites[frame->sample->site]);
	t->failed |= !sums_add_to_histogram(sums, ns);
}

enum { ROWS_OF_BRICKS, ROWS_OF_GROUPS, ROW_OF_ALL };

static uint64_t estimate_row(uint64_t kind, uint32_t number)
{
	return kind << 32 | number;
}

static void add_estimate(struct device_accounts *t, uint64_t row, const struct walk_frame *frame)
{
	t->failed |= estimated_times_add(
			     &t->estimates, row, t->lane, frame->index, frame->length_ns) < 0;
}

static void add_to_group(struct device_accounts *t, const struct walk_frame *frame, bool is_outside)
{
	uint32_t group = row_group_on_queue(t->groups, t->lane, frame);
	const struct run_command *command;

	if (group == RUN_NONE)
		return;
	if (t->groups->by == SUMMARY_BY_KERNEL) {
		command = launches_command(t->run, t->lane, frame->index);
		if (command)
			row_groups_use(t->groups, group, command->kernel);
	}
	struct summary_sums *sums = &t->group_sums[group];
	sums_add_source(sums, frame->sample->source);
	sums->estimated += run_sample_is_estimated(frame->sample);
	sums->self_ns += frame->self_ns;
	sums->total_ns += frame->self_ns;
	sums->outside_ns += is_outside ? frame->self_ns : 0;
	sums_add_duration(sums, frame->length_ns);
	add_length(t, sums, frame);
	add_estimate(t, estimate_row(ROWS_OF_GROUPS, group), frame);
}

/* Keeps a command of a queue of several lanes, where it may run at the same time as others. */
static void device_accounts_remember(
	struct device_accounts *t, const struct walk_frame *frame, bool outermost, unsigned depth)
{
	const struct queue_times *queues = t->groups->queues;
	struct command_span span = {.begin_ns = frame->begin_ns,
		.end_ns = frame->end_ns,
		.queue = queues->of_lane[t->lane],
		.brick = outermost ? frame->brick : RUN_NONE,
		.group = RUN_NONE};

	if (queues->queues[span.queue].lanes < 2)
		return;
	if (depth == 1 && !summary_by_devices(t->groups->by))
		span.group = row_group_on_queue(t->groups, t->lane, frame);
	if (array_push(&t->spans, span))
		t->failed = true;
}

static void device_accounts_on_command(
	void *context, const struct walk_frame *frame, unsigned depth)
{
	struct device_accounts *t = context;
	struct summary_sums *sums = &t->bricks[frame->brick];
	bool outermost = walk_is_outermost(frame, depth);

	if (!walk_has_ended(frame) || t->run->sites[frame->sample->site].left_out)
		return;
	uint32_t step = t->run->step_count ? launches_step(t->run, t->index, t->lane, frame->index)
					   : RUN_NONE;
	bool is_outside = t->run->step_count && step == RUN_NONE;
	if (t->only != SUMMARY_ALL_PHASES && row_group_of_phase(t->run, step) != (uint32_t)t->only)
		return;
	t->device_ns += frame->self_ns;
	if (!t->is_unnamed[frame->brick])
		t->covered_ns += frame->self_ns;
	t->lanes[frame->brick] = t->lane;
	sums->count++;
	sums_add_source(sums, frame->sample->source);
	if (outermost)
		sums->total_ns += frame->length_ns;
	if (outermost && is_outside)
		sums->outside_ns += frame->length_ns;
	add_length(t, sums, frame);
	add_estimate(t, estimate_row(ROWS_OF_BRICKS, frame->brick), frame);
	add_estimate(t, estimate_row(ROW_OF_ALL, 0), frame);
	t->estimated += run_sample_is_estimated(frame->sample);
	sums->estimated += run_sample_is_estimated(frame->sample);
	device_accounts_remember(t, frame, outermost, depth);
	if (t->group_sums)
		add_to_group(t, frame, is_outside);
}

static int device_accounts_on_lane(void *context, uint32_t lane)
{
	struct device_accounts *t = context;
	t->lane = lane;
	return t->run->lanes[lane].kind == BRICK_LANE_QUEUE;
}

static int device_accounts_on_lane_end(void *context, uint32_t number)
{
	struct device_accounts *t = context;
	const struct run_lane *lane = &t->run->lanes[number];

	for (size_t b = 0; b < t->run->brick_count && lane->stats; b++) {
		if (lane->stats[b].count && t->lanes[b] == RUN_NONE)
			t->lanes[b] = number;
		if (!t->run->has_statistics_only)
			continue;
		const struct run_stat *stat = &lane->stats[b];
		lengths_add(&t->bricks[b].on_cpu,
			&(struct summary_lengths){stat->count, stat->total_ns + stat->nested_ns,
				stat->min_ns, stat->max_ns});
		t->device_ns += lane->stats[b].self_ns;
		t->covered_ns += t->is_unnamed[b] ? 0 : lane->stats[b].self_ns;
	}
	return t->failed ? -ENOMEM : 0;
}

/* Takes counts and times of the queues' statistics, which also have dropped records. */
static void device_accounts_take_statistics(struct device_accounts *t)
{
	for (size_t b = 0; b < t->run->brick_count; b++) {
		const struct device_count *count = &t->executions->devices[b];
		if (b == t->executions->wait_brick || t->index->kinds[b] == BRICK_KIND_TILE ||
			t->only != SUMMARY_ALL_PHASES || count->executions < t->bricks[b].count)
			continue;
		t->bricks[b].count = count->executions;
		t->bricks[b].total_ns = count->total_ns;
	}
}

enum overlap_kind { OF_CATEGORY, OF_BRICK, OF_GROUP };

struct order {
	const struct run *run;
	enum overlap_kind kind;
};

static uint32_t device_accounts_key_of(const struct order *order, const struct command_span *span)
{
	if (order->kind == OF_GROUP)
		return span->group;
	if (order->kind == OF_BRICK || span->brick == RUN_NONE)
		return span->brick;
	return order->run->bricks[span->brick].category;
}

/* Spans of one queue and key lie together, by begin. */
static int device_accounts_compare(const void *a, const void *b, void *context)
{
	const struct command_span *x = a, *y = b;

	return ORDER(x->queue, y->queue) ?: ORDER(device_accounts_key_of(context, x), device_accounts_key_of(context, y))
		?: ORDER(x->begin_ns, y->begin_ns);
}

static void device_accounts_take_off(struct summary_sums *sums, uint64_t ns)
{
	sums->total_ns -= ns < sums->total_ns ? ns : sums->total_ns;
}

static void device_accounts_subtract(
	struct device_accounts *t, enum overlap_kind kind, uint32_t key, uint64_t ns)
{
	switch (kind) {
	case OF_CATEGORY:
		t->overlap_ns[key] += ns;
		break;
	case OF_BRICK: /* the category's sum loses it with the brick, so not twice */
		device_accounts_take_off(&t->bricks[key], ns);
		t->overlap_ns[t->run->bricks[key].category] -= ns;
		break;
	case OF_GROUP:
		device_accounts_take_off(&t->group_sums[key], ns);
		break;
	}
}

/* Subtracts what spans of one key have in common; OF_CATEGORY goes before OF_BRICK. */
static void subtract_overlap(struct device_accounts *t, enum overlap_kind kind)
{
	struct order order = {t->run, kind};
	struct command_span *spans = t->spans.items;
	uint64_t end_ns = 0, ns = 0;

	qsort_r(spans, t->spans.count, sizeof(*spans), device_accounts_compare, &order);
	for (size_t i = 0; i < t->spans.count; i++) {
		uint32_t key = device_accounts_key_of(&order, &spans[i]);
		if (i && (spans[i].queue != spans[i - 1].queue ||
				 key != device_accounts_key_of(&order, &spans[i - 1])))
			end_ns = 0;
		ns = spans[i].end_ns < end_ns ? spans[i].end_ns : end_ns;
		if (key != RUN_NONE && ns > spans[i].begin_ns)
			device_accounts_subtract(t, kind, key, ns - spans[i].begin_ns);
		end_ns = spans[i].end_ns > end_ns ? spans[i].end_ns : end_ns;
	}
}

static int device_accounts_finish(void *context)
{
	struct device_accounts *t = context;

	device_accounts_take_statistics(t);
	if (!t->spans.count)
		return 0;
	subtract_overlap(t, OF_CATEGORY);
	subtract_overlap(t, OF_BRICK);
	if (t->group_sums)
		subtract_overlap(t, OF_GROUP);
	return 0;
}

static const struct walk_ops device_accounts_ops = {.begin_lane = device_accounts_on_lane,
	.end = device_accounts_on_command,
	.end_lane = device_accounts_on_lane_end,
	.finish = device_accounts_finish};

static int init_bricks(struct device_accounts *t)
{
	const struct run *run = t->run;

	t->bricks = sums_create(run->brick_count + 1);
	t->lanes = malloc((run->brick_count + 1) * sizeof(*t->lanes));
	t->overlap_ns = calloc(run->category_count + 1, sizeof(*t->overlap_ns));
	t->is_unnamed = calloc(run->brick_count + 1, sizeof(*t->is_unnamed));
	if (!t->bricks || !t->lanes || !t->overlap_ns || !t->is_unnamed)
		return -ENOMEM;
	for (size_t b = 0; b <= run->brick_count; b++)
		t->lanes[b] = RUN_NONE;
	for (size_t b = 0; b < run->brick_count; b++)
		t->is_unnamed[b] = launches_is_unnamed(run, (uint32_t)b);
	return 0;
}

int device_accounts_init(struct device_accounts *t, struct walk *walk, struct row_groups *groups,
	const struct execution_counts *executions, int only)
{
	*t = (struct device_accounts){.run = walk->run,
		.index = walk->index,
		.groups = groups,
		.executions = executions,
		.only = only};
	if (row_groups_exist(groups))
		t->group_sums = sums_create(groups->count);
	if ((row_groups_exist(groups) && !t->group_sums) ||
		(groups->queues->count &&
			(init_bricks(t) < 0 || estimated_times_init(&t->estimates, t->run) < 0))) {
		device_accounts_fini(t);
		return -ENOMEM;
	}
	if (groups->queues->count)
		walk_join(walk, &device_accounts_ops, t);
	return 0;
}

void device_accounts_fini(struct device_accounts *t)
{
	if (!t->run)
		return;
	sums_destroy(t->bricks, t->run->brick_count + 1);
	if (t->group_sums)
		sums_destroy(t->group_sums, t->groups->count);
	free(t->lanes);
	free(t->overlap_ns);
	free(t->is_unnamed);
	array_fini(&t->spans);
	estimated_times_fini(&t->estimates);
	*t = (struct device_accounts){0};
}

uint64_t device_accounts_brick_error(const struct device_accounts *t, uint32_t brick)
{
	return estimated_times_error_ns(&t->estimates, estimate_row(ROWS_OF_BRICKS, brick));
}

uint64_t device_accounts_group_error(const struct device_accounts *t, uint32_t group)
{
	return estimated_times_error_ns(&t->estimates, estimate_row(ROWS_OF_GROUPS, group));
}

uint64_t device_accounts_error(const struct device_accounts *t)
{
	return estimated_times_error_ns(&t->estimates, estimate_row(ROW_OF_ALL, 0));
}
