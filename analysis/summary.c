/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns tallies into rows: names, averages, percentiles, shares, order. Called by the commands that
 * print summaries; holds no numbers of its own.
 */
#include "analysis/summary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/lengths.h"
#include "analysis/percentile.h"
#include "analysis/tally.h"
#include "analysis/unknown.h"

static const char *const by_names[SUMMARY_BY_COUNT][2] = {
	[SUMMARY_BY_BRICK] = {"brick", "bricks"},
	[SUMMARY_BY_CATEGORY] = {"category", "categories"},
	[SUMMARY_BY_LAYER] = {"layer", "layers"},
	[SUMMARY_BY_PHASE] = {"phase", "phases"},
	[SUMMARY_BY_THREAD] = {"thread", "threads"},
	[SUMMARY_BY_KERNEL] = {"kernel", "kernels"},
	[SUMMARY_BY_QUEUE] = {"queue", "queues"},
};

const char *summary_by_name(enum summary_by by)
{
	return by_names[by][0];
}

const char *summary_by_plural(enum summary_by by)
{
	return by_names[by][1];
}

static uint64_t known(const struct tally *tally, uint32_t flag, uint64_t value)
{
	return value || (tally->flags & flag) ? value : ANALYSIS_UNKNOWN;
}

static double rate(uint64_t work, uint64_t ns)
{
	return ns && work ? (double)work / (double)ns : -1;
}

static void fill_row(struct summary_row *row, const struct tally *tally, uint64_t wall_ns)
{
	row->kernel = RUN_NONE;
	row->device_count = row->device_ns = ANALYSIS_UNKNOWN;
	row->sources = tally->sources;
	row->count = tally->count;
	row->sum_ns = tally->sum_ns;
	row->total_ns = tally->total_ns;
	row->self_ns = tally->self_ns;
	row->wait_ns = tally->wait_ns;
	row->wall_ns = tally->wall_ns;
	row->share = wall_ns ? (double)tally->wall_ns / (double)wall_ns : -1;
	row->avg_ns = tally->count ? tally->sum_ns / tally->count : ANALYSIS_UNKNOWN;
	row->min_ns = tally->count ? tally->min_ns : ANALYSIS_UNKNOWN;
	row->max_ns = tally->count ? tally->max_ns : ANALYSIS_UNKNOWN;
	row->elements = known(tally, BRICK_SITE_HAS_ELEMENTS, tally->elements);
	row->bytes = known(tally, BRICK_SITE_HAS_BYTES, tally->bytes);
	row->bytes_out = tally->bytes_out ? tally->bytes_out : ANALYSIS_UNKNOWN;
	row->flops = known(tally, BRICK_SITE_HAS_FLOPS, tally->flops);
	row->bytes_per_ns = rate(tally->rated_bytes, tally->bytes_time_ns);
	row->flops_per_ns = rate(tally->rated_flops, tally->flops_time_ns);
	row->p50_ns = row->p95_ns = row->p99_ns = ANALYSIS_UNKNOWN;
}

/* clock: what turns the histogram's unit into ns; NULL: it is in ns. */
static void fill_percentiles(
	struct summary_row *row, const uint64_t *histogram, const struct brick_clock *clock)
{
	uint64_t *const out[] = {&row->p50_ns, &row->p95_ns, &row->p99_ns};
	static const unsigned percents[] = {50, 95, 99};
	if (!histogram)
		return;
	for (size_t i = 0; i < 3; i++) {
		uint64_t value = percentile_histogram(histogram, percents[i]);
		if (clock && value != ANALYSIS_UNKNOWN)
			value = brick_clock_duration_ns(clock, value);
		*out[i] = percentile_bounded(value, row->min_ns, row->max_ns);
	}
}

/* The run's own histogram of a brick, if it is to be used: it knows nothing of phases. */
static const uint64_t *run_histogram(const struct tallies *t, uint32_t brick)
{
	if (t->only != SUMMARY_ALL_PHASES)
		return NULL;
	return lengths_of_run(t->run, brick, lengths_count(t->bricks[brick].histogram));
}

static const char *category_name(const struct run *run, uint32_t brick)
{
	if (brick < run->brick_count)
		return run->categories[run->bricks[brick].category].name;
	return brick_category_name(BRICK_CATEGORY_WAIT);
}

/* Time of devices beside that of the host. */
static void add_device(struct tally *sum, const struct tally *part)
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
	const char *wait = brick_category_name(BRICK_CATEGORY_WAIT);
	for (uint32_t c = 0; c < run->category_count; c++)
		if (!strcmp(run->categories[c].name, wait))
			return c == category;
	return category == run->category_count;
}

/* Steps hold all else, and the time of tiles is that of the bricks around them. */
static int has_no_row(const struct tallies *t, uint32_t brick)
{
	return brick < t->run->brick_count && (t->index->kinds[brick] == BRICK_KIND_STEP ||
						      t->index->kinds[brick] == BRICK_KIND_TILE);
}

/* What devices did for it; where no thread ran it, its work is theirs. */
static void fill_device(
	struct summary_row *row, const struct tally *tally, const struct tally *host)
{
	if (!tally->count)
		return;
	row->device_count = tally->count;
	row->device_ns = tally->total_ns;
	row->sources |= tally->sources;
	row->on_device = !host->count;
	if (host->count)
		return;
	row->elements = known(tally, BRICK_SITE_HAS_ELEMENTS, tally->elements);
	row->bytes = known(tally, BRICK_SITE_HAS_BYTES, tally->bytes);
	row->bytes_out = tally->bytes_out ? tally->bytes_out : ANALYSIS_UNKNOWN;
	row->flops = known(tally, BRICK_SITE_HAS_FLOPS, tally->flops);
	row->bytes_per_ns = rate(tally->rated_bytes, tally->bytes_time_ns);
	row->flops_per_ns = rate(tally->rated_flops, tally->flops_time_ns);
}

static const char *backend_of(const struct run *run, uint32_t lane)
{
	return lane == RUN_NONE ? NULL : run->lanes[lane].backend;
}

static int add_bricks(struct summary *s, const struct tallies *t)
{
	const struct run *run = t->run;
	s->rows = calloc(run->brick_count + 1, sizeof(*s->rows));
	if (!s->rows)
		return -ENOMEM;
	for (uint32_t b = 0; b <= run->brick_count; b++) {
		const struct tally *tally = &t->bricks[b];
		bool ran = tally->count || tally->self_ns || (t->device && t->device[b].count);
		if (!ran || has_no_row(t, b))
			continue;
		struct summary_row *row = &s->rows[s->row_count];
		row->name = strdup(b < run->brick_count ? run->bricks[b].name
							: brick_name(BRICK_BARRIER_WAIT));
		if (!row->name)
			return -ENOMEM;
		s->row_count++;
		row->id = b;
		row->category = category_name(run, b);
		fill_row(row, tally, s->wall_ns);
		const uint64_t *kept = run_histogram(t, b);
		fill_percentiles(row, kept ? kept : tally->histogram, kept ? &run->clock : NULL);
		if (!t->device)
			continue;
		fill_device(row, &t->device[b], tally);
		row->backend = backend_of(run, t->device_lanes[b]);
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
 * Sum the bricks of one category into one tally. Their totals add up only where none is nested in
 * another of them; t knows the time with any of them open, as far as samples tell.
 */
static void fold_category(
	struct tally *sum, const struct tallies *t, uint32_t category, uint64_t *histogram)
{
	const struct run *run = t->run;
	for (uint32_t b = 0; b <= run->brick_count; b++) {
		if (!in_category(run, b, category) || has_no_row(t, b))
			continue;
		tally_add(sum, &t->bricks[b]);
		const uint64_t *kept = run_histogram(t, b);
		add_histogram(
			histogram, kept ? kept : t->bricks[b].histogram, kept ? &run->clock : NULL);
	}
	bool waits = in_category(run, t->wait_brick, category);
	uint64_t sampled_ns = t->category_total_ns[category];
	bool all_there = t->samples == t->executions || t->only != SUMMARY_ALL_PHASES;
	if (!waits && sampled_ns && sampled_ns < sum->total_ns && all_there)
		sum->total_ns = sampled_ns;
}

static struct tally category_device(const struct tallies *t, uint32_t category)
{
	struct tally sum = {0};
	for (uint32_t b = 0; t->device && b < t->run->brick_count; b++)
		if (in_category(t->run, b, category) && !has_no_row(t, b))
			add_device(&sum, &t->device[b]);
	if (t->device && category < t->run->category_count)
		sum.total_ns -= t->device_cross_ns[category] < sum.total_ns
					? t->device_cross_ns[category]
					: sum.total_ns;
	return sum;
}

static int add_categories(struct summary *s, const struct tallies *t)
{
	const struct run *run = t->run;
	s->categories = calloc(run->category_count + 1, sizeof(*s->categories));
	uint64_t *histogram = malloc(BRICK_HISTOGRAM_BUCKETS * sizeof(*histogram));
	if (!s->categories || !histogram) {
		free(histogram);
		return -ENOMEM;
	}
	for (uint32_t c = 0; c <= run->category_count; c++) {
		struct tally sum = {.min_ns = UINT64_MAX};
		memset(histogram, 0, BRICK_HISTOGRAM_BUCKETS * sizeof(*histogram));
		fold_category(&sum, t, c, histogram);
		struct tally device = category_device(t, c);
		if (!sum.count && !sum.self_ns && !device.count)
			continue;
		struct summary_row *row = &s->categories[s->category_count];
		row->name = strdup(category_label(run, c));
		if (!row->name)
			break;
		s->category_count++;
		row->id = c;
		fill_row(row, &sum, s->wall_ns);
		fill_percentiles(row, histogram, NULL);
		fill_device(row, &device, &sum);
	}
	free(histogram);
	return 0;
}

/* A row that is the device's altogether: its share is of what all queues did. */
static void fill_on_device(struct summary_row *row, const struct tallies *t, uint32_t group)
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
	tally_kernel_name(t, group, &row->kernel);
	row->backend = row->kernel == RUN_NONE ? NULL : run->kernels[row->kernel].backend;
}

static int add_groups(struct summary *s, const struct tallies *t)
{
	s->rows = calloc(t->group_count + 1, sizeof(*s->rows));
	if (!s->rows)
		return -ENOMEM;
	for (uint32_t g = 0; g < t->group_count; g++) {
		const struct tally *tally = &t->groups[g];
		if (!tally->count && !tally->total_ns && !tally->wait_ns &&
			!t->device_groups[g].count)
			continue;
		struct summary_row *row = &s->rows[s->row_count];
		row->name = summary_group_label(t, g);
		if (!row->name)
			return -ENOMEM;
		s->row_count++;
		row->id = g;
		fill_row(row, tally, s->wall_ns);
		fill_percentiles(row, tally->histogram, NULL);
		fill_device(row, &t->device_groups[g], tally);
		if (t->by == SUMMARY_BY_KERNEL || t->by == SUMMARY_BY_QUEUE)
			fill_on_device(row, t, g);
	}
	return 0;
}

static int compare_rows(const void *a, const void *b)
{
	const struct summary_row *x = a, *y = b;
	if (x->wall_ns != y->wall_ns)
		return x->wall_ns > y->wall_ns ? -1 : 1;
	if (x->self_ns != y->self_ns)
		return x->self_ns > y->self_ns ? -1 : 1;
	/* one more turns what is unknown into the least */
	if (x->device_ns != y->device_ns)
		return x->device_ns + 1 > y->device_ns + 1 ? -1 : 1;
	return strcmp(x->name, y->name);
}

static void sort_rows(struct summary_row *rows, size_t n)
{
	if (n > 1)
		qsort(rows, n, sizeof(*rows), compare_rows);
}

static uint64_t exact_executions(const struct tallies *t)
{
	for (size_t i = 0; i < t->run->lane_count; i++)
		if (t->run->lanes[i].stats)
			return t->executions;
	return ANALYSIS_UNKNOWN;
}

static void take_totals(struct summary *s, struct tallies *t)
{
	s->wall_ns = t->wall_ns;
	s->unattributed_ns = t->unattributed_ns;
	s->coverage = t->wall_ns ? 1 - (double)t->unattributed_ns / (double)t->wall_ns : -1;
	s->samples = t->samples;
	s->executions = exact_executions(t);
	s->mismatched = t->mismatched;
	s->unknown_operations = t->unknown_operations;
	s->device_ns = t->device_ns;
	s->pairs = t->pairs;
	s->hooked = t->hooked;
	t->pairs = t->hooked = NULL;
	s->steps = t->steps;
	t->steps.steps = NULL;
}

static int copy_categories(struct summary *s)
{
	s->rows = calloc(s->category_count + 1, sizeof(*s->rows));
	if (!s->rows)
		return -ENOMEM;
	for (size_t i = 0; i < s->category_count; i++) {
		s->rows[i] = s->categories[i];
		s->rows[i].name = strdup(s->categories[i].name);
		if (!s->rows[i].name)
			return -ENOMEM;
		s->row_count++;
	}
	return 0;
}

static int add_rows(struct summary *s, const struct tallies *t)
{
	int rc = add_categories(s, t);
	if (rc < 0)
		return rc;
	sort_rows(s->categories, s->category_count);
	if (s->by == SUMMARY_BY_CATEGORY)
		return copy_categories(s);
	rc = s->by == SUMMARY_BY_BRICK ? add_bricks(s, t) : add_groups(s, t);
	if (rc == 0 && s->by != SUMMARY_BY_LAYER && s->by != SUMMARY_BY_PHASE)
		sort_rows(s->rows, s->row_count);
	return rc;
}

int summary_create(struct summary **out, const struct run *run, enum summary_by by, int only)
{
	struct summary *s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->run = run;
	s->by = by;
	s->only = only;
	struct step_index index;
	struct tallies tallies;
	int rc = step_index_init(&index, run);
	if (rc < 0)
		goto fail_index;
	rc = tallies_init(&tallies, run, &index, by, only);
	if (rc < 0)
		goto fail_tallies;
	take_totals(s, &tallies);
	rc = add_rows(s, &tallies);
	s->queues = tallies.queues;
	tallies.queues = (struct queue_times){0};
	tallies_fini(&tallies);
fail_tallies:
	step_index_fini(&index);
fail_index:
	if (rc < 0) {
		summary_destroy(s);
		return rc;
	}
	*out = s;
	return 0;
}

static void free_rows(struct summary_row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(rows[i].name);
	free(rows);
}

void summary_destroy(struct summary *s)
{
	if (!s)
		return;
	free_rows(s->rows, s->row_count);
	free_rows(s->categories, s->category_count);
	step_times_fini(&s->steps);
	queue_times_fini(&s->queues);
	free(s->pairs);
	free(s->hooked);
	free(s);
}

double summary_phase_coverage(const struct summary *s, enum step_phase phase)
{
	const struct step_phase_times *times = &s->steps.phases[phase];
	if (!times->total_ns)
		return -1;
	return 1 - (double)times->unattributed_ns / (double)times->total_ns;
}
