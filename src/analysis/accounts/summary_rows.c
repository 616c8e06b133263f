/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns sums into rows: names, averages, percentiles, shares, order. Holds no numbers of its own.
 * Called by summary.c.
 */
#include "analysis/accounts/summary_rows.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/accounts/durations.h"
#include "analysis/accounts/unknown.h"
#include "base/members.h"
#include "base/order.h"
#include "base/scope.h"

static uint64_t known(const struct summary_sums *sums, uint32_t flag, uint64_t value)
{
	return value || (sums->flags & flag) ? value : ANALYSIS_UNKNOWN;
}

static void fill_off(struct summary_row *row, const struct summary_sums *sums, bool known)
{
	row->cpu_ns = row->off_ns = row->preempted_ns = row->blocked_ns = ANALYSIS_UNKNOWN;
	if (!known)
		return;
	row->preempted_ns = sums->off.preempted_ns;
	row->blocked_ns = sums->off.blocked_ns;
	row->off_ns = row->preempted_ns + row->blocked_ns;
	row->cpu_ns = sums->self_ns > row->off_ns ? sums->self_ns - row->off_ns : 0;
}

static bool knows_off(const struct summary_accumulator *t)
{
	return t->knows_off && t->by != SUMMARY_BY_KERNEL && t->by != SUMMARY_BY_QUEUE;
}

/* A step knows it if all of its phase do. */
static bool group_knows_off(const struct summary_accumulator *t, uint32_t group)
{
	if (t->by == SUMMARY_BY_STEP && group < t->run->step_count)
		return step_index_knows_off(t->index, (int)t->run->steps[group].phase);
	if (t->by == SUMMARY_BY_PHASE && group < STEP_PHASES)
		return step_index_knows_off(t->index, (int)group);
	return knows_off(t);
}

/* None where that of a phase which knows it and of one that does not were added up. */
static const uint64_t *own_histogram(
	const struct summary_accumulator *t, const struct summary_sums *sums)
{
	bool mixes = t->only == SUMMARY_ALL_PHASES && !t->knows_off && t->index->off_known &&
		     t->by != SUMMARY_BY_STEP && t->by != SUMMARY_BY_PHASE;
	return mixes ? NULL : sums->histogram;
}

static void fill_row(struct summary_row *row, const struct summary_accumulator *t,
	const struct summary_sums *sums, bool knows_off)
{
	uint64_t wall_ns = t->wall_ns;
	row->kernel = RUN_NONE;
	fill_off(row, sums, knows_off);
	row->device_count = row->device_ns = ANALYSIS_UNKNOWN;
	members_copy(
		row, sums, sources, count, total_ns, self_ns, wait_ns, wall_ns, unevaluated_ns);
	row->share = wall_ns ? (double)sums->wall_ns / (double)wall_ns : -1;
	row->length_avg_ns = sums->count ? sums->sum_ns / sums->count : ANALYSIS_UNKNOWN;
	row->length_min_ns = sums->count ? sums->min_ns : ANALYSIS_UNKNOWN;
	row->length_max_ns = sums->count ? sums->max_ns : ANALYSIS_UNKNOWN;
	row->elements = known(sums, BRICK_SITE_HAS_ELEMENTS, sums->elements);
	row->bytes = known(sums, BRICK_SITE_HAS_BYTES, sums->bytes);
	row->bytes_out = sums->bytes_out ? sums->bytes_out : ANALYSIS_UNKNOWN;
	row->flops = known(sums, BRICK_SITE_HAS_FLOPS, sums->flops);
}

/* The run's own histogram of a brick, if it is to be used: it knows nothing of phases. */
static const uint64_t *run_histogram(const struct summary_accumulator *t, uint32_t brick)
{
	if (t->only != SUMMARY_ALL_PHASES)
		return NULL;
	return durations_of_run(t->run, brick, durations_count(t->bricks[brick].histogram));
}

static bool is_wait(const struct summary_accumulator *t, uint32_t brick)
{
	return brick == t->wait_brick || t->index->kinds[brick] == BRICK_KIND_WAIT;
}

static enum summary_basis basis_of_brick(const struct summary_accumulator *t, uint32_t brick)
{
	bool on_cpu = knows_off(t) && t->bricks[brick].on_cpu.count && !is_wait(t, brick);
	return on_cpu && !run_histogram(t, brick) ? BASIS_CPU : BASIS_WALL;
}

static const char *category_name(const struct run *run, uint32_t brick)
{
	if (brick < run->brick_count)
		return run->categories[run->bricks[brick].category].name;
	return brick_category_name(BRICK_CATEGORY_WAIT);
}

/* Time of devices beside that of the host. */
static void add_device(struct summary_sums *sum, const struct summary_sums *part)
{
	sum->count += part->count;
	sum->total_ns += part->total_ns;
	sum->sources |= part->sources;
}

/* Name of a category; one past the last is that of waits in a run that names none. */
static const char *category_label(const struct run *run, uint32_t category)
{
	if (category < run->category_count)
		return run->categories[category].name;
	return brick_category_name(BRICK_CATEGORY_WAIT);
}

static bool in_category(const struct run *run, uint32_t brick, uint32_t category)
{
	if (brick < run->brick_count)
		return run->bricks[brick].category == category;
	uint32_t wait = run_category_find(run, brick_category_name(BRICK_CATEGORY_WAIT));
	return category == (wait == RUN_NONE ? run->category_count : wait);
}

/* Steps hold all else, and the time of tiles is that of the bricks around them. */
static int has_no_row(const struct summary_accumulator *t, uint32_t brick)
{
	return brick < t->run->brick_count && (t->index->kinds[brick] == BRICK_KIND_STEP ||
						      t->index->kinds[brick] == BRICK_KIND_TILE);
}

/* What devices did for it; where no thread ran it, its work is theirs. */
static void fill_device(
	struct summary_row *row, const struct summary_sums *sums, const struct summary_sums *host)
{
	if (!sums->count)
		return;
	row->device_count = sums->count;
	row->device_ns = sums->total_ns;
	row->sources |= sums->sources;
	row->on_device = !host->count;
	if (host->count)
		return;
	row->elements = known(sums, BRICK_SITE_HAS_ELEMENTS, sums->elements);
	row->bytes = known(sums, BRICK_SITE_HAS_BYTES, sums->bytes);
	row->bytes_out = sums->bytes_out ? sums->bytes_out : ANALYSIS_UNKNOWN;
	row->flops = known(sums, BRICK_SITE_HAS_FLOPS, sums->flops);
}

/*
 * Negative where nothing was done, or it is not known what; and where samples were dropped: what
 * time on the CPU the rest took is not known, which is the basis of rates.
 */
static void fill_rates(struct summary_row *row, const struct summary_accumulator *t,
	enum summary_row_kind kind, uint32_t id)
{
	const struct work_account *work = summary_work(t, kind, id, row->on_device);
	if (summary_row_lacks_samples(row))
		work = NULL;

	row->bytes_per_ns = work && work->bytes ? work_bytes_per_ns(work) : -1;
	row->flops_per_ns = work && work->flops ? work_flops_per_ns(work) : -1;
}

static const char *backend_of(const struct run *run, uint32_t lane)
{
	return lane == RUN_NONE ? NULL : run->lanes[lane].backend;
}

int summary_rows_of_bricks(struct summary_rows *rows, const struct summary_accumulator *t)
{
	const struct run *run = t->run;
	rows->list = calloc(run->brick_count + 1, sizeof(*rows->list));
	if (!rows->list)
		return -ENOMEM;
	for (uint32_t b = 0; b <= run->brick_count; b++) {
		const struct summary_sums *sums = &t->bricks[b];
		bool ran = sums->count || sums->self_ns || (t->device && t->device[b].count);
		if (!ran || has_no_row(t, b))
			continue;
		struct summary_row *row = &rows->list[rows->count];
		row->name = strdup(b < run->brick_count ? run->bricks[b].name
							: brick_name(BRICK_BARRIER_WAIT));
		if (!row->name)
			return -ENOMEM;
		rows->count++;
		row->id = b;
		row->category = category_name(run, b);
		fill_row(row, t, sums, knows_off(t));
		const uint64_t *kept = run_histogram(t, b);
		enum summary_basis basis = basis_of_brick(t, b);
		struct summary_lengths lengths = lengths_of(sums, basis);
		row->waits = is_wait(t, b);
		summary_row_lengths(row, basis, &lengths, kept ? kept : own_histogram(t, sums),
			kept ? &run->clock : NULL);
		if (t->device) {
			fill_device(row, &t->device[b], sums);
			row->backend = backend_of(run, t->device_lanes[b]);
		}
		fill_rates(row, t, SUMMARY_ROW_BRICK, b);
	}
	return 0;
}

/* A category's histogram in ns: its bricks', each from its own unit. */
static void add_histogram(uint64_t *sum, const uint64_t *part, const struct brick_clock *clock)
{
	for (uint32_t i = 0; part && i < BRICK_HISTOGRAM_BUCKETS; i++) {
		if (!part[i])
			continue;
		uint64_t value = brick_histogram_value(i);
		if (clock)
			value = brick_clock_duration_ns(clock, value);
		sum[brick_histogram_index(value)] += part[i];
	}
}

/*
 * Sum the bricks of one category into one sums. Their totals add up only where none is nested in
 * another of them; t knows the time with any of them open, as far as samples tell.
 */
static enum summary_basis fold_category(struct summary_sums *sum, struct summary_lengths *lengths,
	const struct summary_accumulator *t, uint32_t category, uint64_t *histogram)
{
	bool has[BASIS_MIXED] = {false};
	const struct run *run = t->run;
	for (uint32_t b = 0; b <= run->brick_count; b++) {
		if (!in_category(run, b, category) || has_no_row(t, b))
			continue;
		sums_add(sum, &t->bricks[b]);
		enum summary_basis basis = basis_of_brick(t, b);
		struct summary_lengths own = lengths_of(&t->bricks[b], basis);
		lengths_add(lengths, &own);
		has[basis] |= own.count > 0;
		const uint64_t *kept = run_histogram(t, b);
		add_histogram(histogram, kept ? kept : own_histogram(t, &t->bricks[b]),
			kept ? &run->clock : NULL);
	}
	bool waits = in_category(run, t->wait_brick, category);
	uint64_t sampled_ns = t->category_total_ns[category];
	bool all_there = t->samples == t->executions || t->only != SUMMARY_ALL_PHASES;
	if (!waits && sampled_ns && sampled_ns < sum->total_ns && all_there)
		sum->total_ns = sampled_ns;
	return has[BASIS_CPU] && has[BASIS_WALL] ? BASIS_MIXED
	       : has[BASIS_CPU]			 ? BASIS_CPU
						 : BASIS_WALL;
}

static struct summary_sums category_device(const struct summary_accumulator *t, uint32_t category)
{
	struct summary_sums sum = {0};
	for (uint32_t b = 0; t->device && b < t->run->brick_count; b++)
		if (in_category(t->run, b, category) && !has_no_row(t, b))
			add_device(&sum, &t->device[b]);
	if (t->device && category < t->run->category_count)
		sum.total_ns -= t->device_cross_ns[category] < sum.total_ns
					? t->device_cross_ns[category]
					: sum.total_ns;
	return sum;
}

int summary_rows_of_categories(struct summary_rows *rows, const struct summary_accumulator *t)
{
	const struct run *run = t->run;
	rows->list = calloc(run->category_count + 1, sizeof(*rows->list));
	SCOPED uint64_t *histogram = malloc(BRICK_HISTOGRAM_BUCKETS * sizeof(*histogram));
	if (!rows->list || !histogram)
		return -ENOMEM;
	for (uint32_t c = 0; c <= run->category_count; c++) {
		struct summary_sums sum = {.min_ns = UINT64_MAX};
		memset(histogram, 0, BRICK_HISTOGRAM_BUCKETS * sizeof(*histogram));
		struct summary_lengths lengths = {0};
		enum summary_basis basis = fold_category(&sum, &lengths, t, c, histogram);
		struct summary_sums device = category_device(t, c);
		if (!sum.count && !sum.self_ns && !device.count)
			continue;
		struct summary_row *row = &rows->list[rows->count];
		row->name = strdup(category_label(run, c));
		if (!row->name)
			return -ENOMEM;
		rows->count++;
		row->id = c;
		fill_row(row, t, &sum, knows_off(t));
		summary_row_lengths(row, basis, &lengths, histogram, NULL);
		row->waits = in_category(run, t->wait_brick, c);
		fill_device(row, &device, &sum);
		fill_rates(row, t, SUMMARY_ROW_CATEGORY, c);
	}
	return 0;
}

/* A row that is the device's altogether: its share is of what all queues did. */
static void fill_on_device(
	struct summary_row *row, const struct summary_accumulator *t, uint32_t group)
{
	const struct run *run = t->run;
	row->on_device = 1;
	row->wall_ns = ANALYSIS_UNKNOWN;
	row->share = t->device_ns ? (double)row->self_ns / (double)t->device_ns : -1;
	row->device_count = row->count;
	row->device_ns = row->total_ns;
	if (t->by == SUMMARY_BY_QUEUE) {
		row->backend = run->lanes[t->queues.queues[group].lane].backend;
		return;
	}
	summary_kernel_name(t, group, &row->kernel);
	row->backend = row->kernel == RUN_NONE ? NULL : run->kernels[row->kernel].backend;
}

int summary_rows_of_groups(struct summary_rows *rows, const struct summary_accumulator *t)
{
	rows->list = calloc(t->group_count + 1, sizeof(*rows->list));
	if (!rows->list)
		return -ENOMEM;
	for (uint32_t g = 0; g < t->group_count; g++) {
		const struct summary_sums *sums = &t->groups[g];
		if (!sums->count && !sums->total_ns && !sums->wait_ns && !t->device_groups[g].count)
			continue;
		struct summary_row *row = &rows->list[rows->count];
		row->name = summary_group_label(t, g);
		if (!row->name)
			return -ENOMEM;
		rows->count++;
		row->id = g;
		bool known = group_knows_off(t, g);
		fill_row(row, t, sums, known);
		enum summary_basis basis = known && sums->on_cpu.count ? BASIS_CPU : BASIS_WALL;
		struct summary_lengths lengths = lengths_of(sums, basis);
		summary_row_lengths(row, basis, &lengths, own_histogram(t, sums), NULL);
		fill_device(row, &t->device_groups[g], sums);
		if (t->by == SUMMARY_BY_KERNEL || t->by == SUMMARY_BY_QUEUE)
			fill_on_device(row, t, g);
		fill_rates(row, t, SUMMARY_ROW_GROUP, g);
	}
	if (t->by == SUMMARY_BY_STEP && !knows_off(t))
		summary_rows_step_cpu(rows, t);
	return 0;
}

static int compare_rows(const void *a, const void *b)
{
	const struct summary_row *x = a, *y = b;
	/* one more turns what is unknown into the least */
	return ORDER(y->wall_ns, x->wall_ns) ?: ORDER(y->self_ns, x->self_ns)
		?: ORDER(y->device_ns + 1, x->device_ns + 1) ?: strcmp(x->name, y->name);
}

void summary_rows_sort(struct summary_rows *rows)
{
	if (rows->count > 1)
		qsort(rows->list, rows->count, sizeof(*rows->list), compare_rows);
}

int summary_rows_copy(struct summary_rows *rows, const struct summary_rows *from)
{
	rows->list = calloc(from->count + 1, sizeof(*rows->list));
	if (!rows->list)
		return -ENOMEM;
	for (size_t i = 0; i < from->count; i++) {
		rows->list[i] = from->list[i];
		rows->list[i].name = strdup(from->list[i].name);
		if (!rows->list[i].name)
			return -ENOMEM;
		rows->count++;
	}
	return 0;
}

void summary_rows_fini(struct summary_rows *rows)
{
	for (size_t i = 0; i < rows->count; i++)
		free(rows->list[i].name);
	free(rows->list);
}
