/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Joins the accounts of threads, of devices and of work to a walk, and makes rows of their sums
 * when the walk has run: names, averages, percentiles, shares, order.
 */
#include "analysis/accounts/summary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/accounts/counter_accounts.h"
#include "analysis/accounts/device_accounts.h"
#include "analysis/accounts/durations.h"
#include "analysis/statistics/percentile.h"
#include "analysis/accounts/thread_accounts.h"
#include "analysis/statistics/unknown.h"
#include "analysis/accounts/work_accounts.h"
#include "base/members.h"
#include "base/number.h"
#include "base/order.h"
#include "base/scope.h"

struct summary_accounts {
	struct execution_counts *executions;
	struct row_groups groups;
	struct thread_accounts threads;
	struct device_accounts devices;
	struct work_accounts *work;	 /* for rates of bricks and categories; shared */
	struct work_accounts group_work; /* for rates of groups */
	/* [brick_count], rows by thread only: one thread states the work of a whole team */
	bool *teams;
};

static const char *const by_names[SUMMARY_BY_COUNT][2] = {
	[SUMMARY_BY_BRICK] = {"brick", "bricks"},
	[SUMMARY_BY_CATEGORY] = {"category", "categories"},
	[SUMMARY_BY_LAYER] = {"layer", "layers"},
	[SUMMARY_BY_PHASE] = {"phase", "phases"},
	[SUMMARY_BY_STEP] = {"step", "each_step"}, /* "steps" are their times by phase */
	[SUMMARY_BY_MODEL] = {"model", "models"},
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

const char *summary_basis_name(enum summary_basis basis)
{
	static const char *const names[] = {"wall", "cpu", "mixed"};
	return names[basis];
}

/* The account of a group in group_work: each group has one for threads and one for devices. */
static size_t work_key(uint32_t group, bool on_device)
{
	return (size_t)group * 2 + on_device;
}

static size_t work_key_of(void *context, uint32_t lane, const struct walk_frame *frame)
{
	const struct summary *s = context;
	const struct summary_accounts *a = s->accounts;
	bool on_device = s->run->lanes[lane].kind == BRICK_LANE_QUEUE;
	uint32_t group;

	if (!on_device && summary_by_devices(a->groups.by))
		return SIZE_MAX;
	/* work that one thread tells for all of a team is no rate of its own */
	if (!on_device && a->teams && a->teams[frame->brick])
		return SIZE_MAX;
	group = on_device ? row_group_on_queue(&a->groups, lane, frame)
			  : row_group_on_thread(&a->groups, lane, frame);
	if (group == RUN_NONE ||
		(s->only != SUMMARY_ALL_PHASES &&
			work_phase(s->run, a->threads.index, lane, frame) != (unsigned)s->only))
		return SIZE_MAX;
	return work_key(group, on_device);
}

static int find_teams(struct summary_accounts *a, const struct run *run)
{
	a->teams = calloc(run->brick_count + 1, sizeof(*a->teams));
	for (size_t i = 0; a->teams && i < run->site_count; i++)
		if (a->group_work.owners[i] == WORK_PART)
			a->teams[run->sites[i].brick] = true;
	return a->teams ? 0 : -ENOMEM;
}

static int init_work(struct summary *s, struct walk *walk)
{
	struct summary_accounts *a = s->accounts;
	a->work = work_accounts_get(
		walk, s->only == SUMMARY_ALL_PHASES ? WORK_OF_ALL : WORK_OF_PHASES);
	if (!a->work)
		return -ENOMEM;
	if (!row_groups_exist(&a->groups))
		return 0;
	int rc = work_accounts_init(
		&a->group_work, walk, (size_t)a->groups.count * 2, work_key_of, s);
	a->group_work.by_lane = s->by == SUMMARY_BY_THREAD;
	return rc < 0 || s->by != SUMMARY_BY_THREAD ? rc : find_teams(a, s->run);
}

static uint64_t summary_known(const struct summary_sums *sums, uint32_t flag, uint64_t value)
{
	return value || (sums->flags & flag) ? value : ANALYSIS_UNKNOWN;
}

/*
 * Fills in times off the CPU, but not for executions that the program timed itself: nobody knows
 * where those were.
 */
static void fill_off(struct summary_row *row, const struct summary_sums *sums, bool known)
{
	row->wall_off = sums->wall_off;
	row->cpu_ns = row->off_ns = row->preempted_ns = row->blocked_ns = ANALYSIS_UNKNOWN;
	if (!known || sums->sources >> BRICK_SOURCE_REPORTED & 1)
		return;
	row->preempted_ns = sums->off.preempted_ns;
	row->blocked_ns = sums->off.blocked_ns;
	row->off_ns = row->preempted_ns + row->blocked_ns;
	row->cpu_ns = sums->self_ns > row->off_ns ? sums->self_ns - row->off_ns : 0;
}

static bool summary_knows_off(const struct summary *s)
{
	return s->knows_off && !summary_by_devices(s->accounts->groups.by);
}

/*
 * True if times off the CPU are known of a group. A step knows them if all steps of its phase do.
 */
static bool group_knows_off(const struct summary *s, uint32_t group)
{
	const struct step_index *index = s->accounts->threads.index;
	if (s->by == SUMMARY_BY_STEP && group < s->run->step_count)
		return step_index_knows_off(index, (int)s->run->steps[group].phase);
	if (s->by == SUMMARY_BY_PHASE && group < STEP_PHASES)
		return step_index_knows_off(index, (int)group);
	return summary_knows_off(s);
}

/* The histogram of samples; NULL if it mixes times on the CPU with times by the wall. */
static const struct ns_lengths *own_histogram(
	const struct summary *s, const struct summary_sums *sums)
{
	bool mixes = s->only == SUMMARY_ALL_PHASES && !s->knows_off &&
		     s->accounts->threads.index->off_known && s->by != SUMMARY_BY_STEP &&
		     s->by != SUMMARY_BY_PHASE;
	return mixes ? NULL : sums->histogram;
}

static void summary_fill_work(struct summary_row *row, const struct summary_sums *sums)
{
	row->elements = summary_known(sums, BRICK_SITE_HAS_ELEMENTS, sums->elements);
	row->bytes = summary_known(sums, BRICK_SITE_HAS_BYTES, sums->bytes);
	row->bytes_out = sums->bytes_out ? sums->bytes_out : ANALYSIS_UNKNOWN;
	row->flops = summary_known(sums, BRICK_SITE_HAS_FLOPS, sums->flops);
}

static void summary_fill_row(
	struct summary_row *row, uint64_t wall_ns, const struct summary_sums *sums, bool knows_off)
{
	row->kernel = RUN_NONE;
	fill_off(row, sums, knows_off);
	row->device_count = row->device_ns = row->device_step_ns = ANALYSIS_UNKNOWN;
	row->exposed_ns = ANALYSIS_UNKNOWN;
	row->sources = sums->sources;
	row->count = sums->count;
	row->total_ns = sums->total_ns;
	row->self_ns = sums->self_ns;
	row->wait_ns = sums->wait_ns;
	row->wall_ns = sums->wall_ns;
	row->unevaluated_ns = sums->unevaluated_ns;
	row->share = known_ratio(sums->wall_ns, wall_ns);
	row->length_avg_ns = sums->count ? sums->sum_ns / sums->count : ANALYSIS_UNKNOWN;
	row->length_min_ns = sums->count ? sums->min_ns : ANALYSIS_UNKNOWN;
	row->length_max_ns = sums->count ? sums->max_ns : ANALYSIS_UNKNOWN;
	summary_fill_work(row, sums);
}

static struct summary_lengths lengths_of(const struct summary_sums *sums, enum summary_basis basis)
{
	if (basis == BASIS_CPU)
		return sums->on_cpu;
	return (struct summary_lengths){sums->count, sums->sum_ns, sums->min_ns, sums->max_ns};
}

/* The source of percentiles: `kept`, else `own`; both may be NULL. */
struct row_histogram {
	const struct ticks_lengths *kept; /* the run's, durations_of_run() */
	const struct ns_lengths *own;	  /* of samples */
	const struct brick_clock *clock;  /* of `kept` */
};

static uint64_t percentile_of(const struct row_histogram *h, unsigned percent)
{
	return h->kept	? percentile_of_ticks(h->kept, h->clock, percent)
	       : h->own ? percentile_of_ns(h->own, percent)
			: ANALYSIS_UNKNOWN;
}

static void fill_lengths(struct summary_row *row, enum summary_basis basis,
	struct summary_lengths lengths, struct row_histogram histogram)
{
	uint64_t *const out[] = {&row->p50_ns, &row->p95_ns, &row->p99_ns};
	static const unsigned percents[] = {50, 95, 99};
	row->basis = basis;
	row->sum_ns = lengths.sum_ns;
	row->avg_ns = lengths.count ? lengths.sum_ns / lengths.count : ANALYSIS_UNKNOWN;
	row->min_ns = lengths.count ? lengths.min_ns : ANALYSIS_UNKNOWN;
	row->max_ns = lengths.count ? lengths.max_ns : ANALYSIS_UNKNOWN;
	for (size_t i = 0; i < 3; i++)
		*out[i] = percentile_bounded(
			percentile_of(&histogram, percents[i]), row->min_ns, row->max_ns);
}

/* The run's own histogram of a brick, if it is to be used: it knows nothing of phases. */
static const struct ticks_lengths *run_histogram(const struct summary *s, uint32_t brick)
{
	const struct summary_sums *sums = &s->accounts->threads.bricks[brick];
	if (s->only != SUMMARY_ALL_PHASES)
		return NULL;
	return durations_of_run(s->run, brick, durations_in_ns(sums->histogram));
}

static bool summary_is_wait(const struct summary *s, uint32_t brick)
{
	return brick == s->accounts->executions->wait_brick ||
	       s->accounts->threads.index->kinds[brick] == BRICK_KIND_WAIT;
}

static enum summary_basis basis_of_brick(const struct summary *s, uint32_t brick)
{
	bool on_cpu = summary_knows_off(s) && s->accounts->threads.bricks[brick].on_cpu.count &&
		      !summary_is_wait(s, brick);
	return on_cpu && !run_histogram(s, brick) ? BASIS_CPU : BASIS_WALL;
}

static const char *category_name(const struct run *run, uint32_t brick)
{
	if (brick < run->brick_count)
		return run->categories[run->bricks[brick].category].name;
	return brick_category_name(BRICK_CATEGORY_WAIT);
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

/* True for steps, which hold all else, and tiles, whose time is that of the bricks around them. */
static bool has_no_row(const struct summary *s, uint32_t brick)
{
	const uint8_t *kinds = s->accounts->threads.index->kinds;
	return brick < s->run->brick_count &&
	       (kinds[brick] == BRICK_KIND_STEP || kinds[brick] == BRICK_KIND_TILE);
}

/* Statistics may count more than samples: dropped commands count as launched by steps. */
static uint64_t in_steps(const struct summary_sums *sums)
{
	return sums->total_ns -
	       (sums->outside_ns < sums->total_ns ? sums->outside_ns : sums->total_ns);
}

/* Fills in the devices' part; where no thread ran it, its work is theirs. */
static void fill_device(
	struct summary_row *row, const struct summary_sums *sums, const struct summary_sums *host)
{
	if (!sums->count)
		return;
	row->device_count = sums->count;
	row->device_ns = sums->total_ns;
	row->device_step_ns = in_steps(sums);
	row->device_estimated = sums->estimated;
	row->sources |= sums->sources;
	row->on_device = !host->count;
	if (!row->on_device)
		return;
	summary_fill_work(row, sums);
	fill_lengths(row, BASIS_WALL, sums->on_cpu, (struct row_histogram){.own = sums->histogram});
}

/*
 * Fills in rates; negative if no work was done or told, or if samples were dropped: then the time
 * on the CPU, by which rates count, is not known.
 */
static void fill_rates(struct summary_row *row, const struct work_account *work)
{
	if (summary_row_lacks_samples(row))
		work = NULL;
	if (work && work->split)
		row->bytes = row->flops = ANALYSIS_UNKNOWN;
	row->bytes_per_ns = work && work->bytes ? work_bytes_per_ns(work) : -1;
	row->flops_per_ns = work && work->flops ? work_flops_per_ns(work) : -1;
}

/* True if nested bricks take more of a brick's time than it does itself. */
static bool is_done_inside(const struct summary_row *row)
{
	uint64_t own_ns = row->self_ns + row->wait_ns;

	return row->total_ns != ANALYSIS_UNKNOWN && row->total_ns > own_ns &&
	       row->total_ns - own_ns > row->self_ns;
}

static int work_phase_asked(const struct summary *s)
{
	return s->only == SUMMARY_ALL_PHASES ? (int)WORK_ALL_PHASES : s->only;
}

struct rows {
	struct summary_row *list;
	size_t count;
};

/* Adds a row to a list with room for it. The row takes `name`; NULL: no memory. */
static struct summary_row *summary_add_row(struct rows *rows, char *name, uint32_t id)
{
	struct summary_row *row = &rows->list[rows->count];
	if (!name)
		return NULL;
	row->name = name;
	row->id = id;
	rows->count++;
	return row;
}

static struct row_histogram histogram_of_brick(const struct summary *s, uint32_t brick)
{
	return (struct row_histogram){run_histogram(s, brick),
		own_histogram(s, &s->accounts->threads.bricks[brick]), &s->run->clock};
}

static int rows_of_bricks(struct rows *rows, const struct summary *s)
{
	const struct run *run = s->run;
	const struct summary_sums *on_devices = s->accounts->devices.bricks;
	rows->list = calloc(run->brick_count + 1, sizeof(*rows->list));
	if (!rows->list)
		return -ENOMEM;
	for (uint32_t b = 0; b <= run->brick_count; b++) {
		const struct summary_sums *sums = &s->accounts->threads.bricks[b];
		bool ran = sums->count || sums->self_ns || (on_devices && on_devices[b].count);
		if (!ran || has_no_row(s, b))
			continue;
		struct summary_row *row = summary_add_row(rows,
			strdup(b < run->brick_count ? run->bricks[b].name
						    : brick_name(BRICK_BARRIER_WAIT)),
			b);
		if (!row)
			return -ENOMEM;
		const struct device_accounts *devices = &s->accounts->devices;
		enum summary_basis basis = basis_of_brick(s, b);
		row->category = category_name(run, b);
		summary_fill_row(row, s->wall_ns, sums, summary_knows_off(s));
		row->waits = summary_is_wait(s, b);
		fill_lengths(row, basis, lengths_of(sums, basis), histogram_of_brick(s, b));
		if (devices->bricks) {
			fill_device(row, &devices->bricks[b], sums);
			row->device_error_ns = device_accounts_brick_error(devices, b);
			uint32_t lane = devices->lanes[b];
			if (lane != RUN_NONE)
				row->backend = run->lanes[lane].backend;
			if (row->device_ns != ANALYSIS_UNKNOWN && lane != RUN_NONE &&
				s->gpus.list && s->gpus.spans.of_lane[lane] != RUN_NONE)
				/* device_ns is the queue's own count, which rounds otherwise */
				row->exposed_ns = s->gpus.exposed_ns[b] < row->device_ns
							  ? s->gpus.exposed_ns[b]
							  : row->device_ns;
		}
		fill_rates(row,
			work_of_brick(s->accounts->work, b, work_phase_asked(s), row->on_device));
		if (is_done_inside(row)) /* the work that it tells was done in the time of others */
			row->bytes_per_ns = row->flops_per_ns = -1;
	}
	return 0;
}

/* A category's histogram in ns: the sum of its bricks' histograms, which may be in ticks. */
struct category_histogram {
	struct ns_lengths *lengths;
	bool failed; /* no memory: lengths are missing */
};

static void add_histogram(struct category_histogram *sum, const struct row_histogram *part)
{
	const struct lengths_octaves *from = part->kept	 ? &part->kept->of_ticks
					     : part->own ? &part->own->of_ns
							 : NULL;

	LENGTHS_EACH (i, from) {
		uint64_t count = lengths_at(from, i);
		uint32_t to = i;
		if (count && part->kept)
			to = brick_histogram_index(
				brick_clock_duration_ns(part->clock, brick_histogram_value(i)));
		sum->failed |= count && !ns_lengths_add(&sum->lengths, to, count);
	}
}

/*
 * Adds up the bricks of one category. The sum of their total_ns has nested bricks twice; if no
 * sample was dropped, the time with any of them open is known and replaces it.
 */
static enum summary_basis fold_category(struct summary_sums *sum, struct summary_lengths *lengths,
	const struct summary *s, uint32_t category, struct category_histogram *histogram)
{
	bool has[BASIS_MIXED] = {false};
	const struct run *run = s->run;
	const struct thread_accounts *threads = &s->accounts->threads;
	const struct execution_counts *executions = s->accounts->executions;
	for (uint32_t b = 0; b <= run->brick_count; b++) {
		if (!in_category(run, b, category) || has_no_row(s, b))
			continue;
		sums_add(sum, &threads->bricks[b]);
		enum summary_basis basis = basis_of_brick(s, b);
		struct summary_lengths own = lengths_of(&threads->bricks[b], basis);
		lengths_add(lengths, &own);
		has[basis] |= own.count > 0;
		const struct row_histogram part = histogram_of_brick(s, b);
		add_histogram(histogram, &part);
	}
	bool waits = in_category(run, executions->wait_brick, category);
	uint64_t sampled_ns = threads->category_total_ns[category];
	bool all_there =
		executions->samples == executions->executions || s->only != SUMMARY_ALL_PHASES;
	if (!waits && sampled_ns && sampled_ns < sum->total_ns && all_there)
		sum->total_ns = sampled_ns;
	return has[BASIS_CPU] && has[BASIS_WALL] ? BASIS_MIXED
	       : has[BASIS_CPU]			 ? BASIS_CPU
						 : BASIS_WALL;
}

/* Adds the devices' part of a category; histogram: for a category that ran on no thread. */
static struct summary_sums category_device(
	const struct summary *s, uint32_t category, struct category_histogram *histogram)
{
	const struct device_accounts *devices = &s->accounts->devices;
	struct summary_sums sum = {0};
	for (uint32_t b = 0; devices->bricks && b < s->run->brick_count; b++) {
		const struct summary_sums *part = &devices->bricks[b];
		if (!in_category(s->run, b, category) || has_no_row(s, b))
			continue;
		sum.count += part->count;
		sum.total_ns += part->total_ns;
		sum.outside_ns += part->outside_ns;
		sum.sources |= part->sources;
		sum.flags |= part->flags;
		members_add(&sum, part, elements, bytes, flops, bytes_out);
		lengths_add(&sum.on_cpu, &part->on_cpu);
		if (!histogram)
			continue;
		const struct row_histogram own = {.own = part->histogram};
		add_histogram(histogram, &own);
		sum.histogram = histogram->lengths;
	}
	if (devices->bricks && category < s->run->category_count)
		sum.total_ns -= devices->overlap_ns[category] < sum.total_ns
					? devices->overlap_ns[category]
					: sum.total_ns;
	return sum;
}

/* What disturbs one brick's estimates may disturb all: errors add up. */
static uint64_t category_error(const struct summary *s, uint32_t category)
{
	uint64_t sum = 0;

	for (uint32_t b = 0; s->accounts->devices.estimated && b < s->run->brick_count; b++) {
		if (!in_category(s->run, b, category) || has_no_row(s, b))
			continue;
		uint64_t error = device_accounts_brick_error(&s->accounts->devices, b);
		if (error == ANALYSIS_UNKNOWN)
			return error;
		sum += error;
	}
	return sum;
}

static int rows_of_categories(struct rows *rows, const struct summary *s)
{
	const struct run *run = s->run;
	rows->list = calloc(run->category_count + 1, sizeof(*rows->list));
	if (!rows->list)
		return -ENOMEM;
	for (uint32_t c = 0; c <= run->category_count; c++) {
		struct summary_sums sum = {.min_ns = UINT64_MAX};
		struct category_histogram histogram = {0};
		struct summary_lengths lengths = {0};
		enum summary_basis basis = fold_category(&sum, &lengths, s, c, &histogram);
		struct summary_sums device = category_device(s, c, sum.count ? NULL : &histogram);
		SCOPED struct ns_lengths *own = histogram.lengths;
		if (histogram.failed)
			return -ENOMEM;
		if (!sum.count && !sum.self_ns && !device.count)
			continue;
		struct summary_row *row = summary_add_row(rows, strdup(category_label(run, c)), c);
		if (!row)
			return -ENOMEM;
		summary_fill_row(row, s->wall_ns, &sum, summary_knows_off(s));
		fill_lengths(row, basis, lengths, (struct row_histogram){.own = own});
		row->waits = in_category(run, s->accounts->executions->wait_brick, c);
		fill_device(row, &device, &sum);
		row->device_error_ns = category_error(s, c);
		fill_rates(row, work_of_category(
					s->accounts->work, c, work_phase_asked(s), row->on_device));
	}
	return 0;
}

/* Fills a row that is only the device's: its share is of all queues' time. */
static void fill_on_device(struct summary_row *row, const struct summary *s,
	const struct summary_sums *sums, uint32_t group)
{
	const struct run *run = s->run;
	uint64_t device_ns = s->accounts->devices.device_ns;
	row->on_device = true;
	row->wall_ns = ANALYSIS_UNKNOWN;
	row->share = known_ratio(row->self_ns, device_ns);
	row->device_count = row->count;
	row->device_ns = row->total_ns;
	row->device_step_ns = in_steps(sums);
	row->device_estimated = sums->estimated;
	if (s->by == SUMMARY_BY_QUEUE) {
		row->backend = run->lanes[s->queues.queues[group].lane].backend;
		return;
	}
	row->kernel = row_group_kernel(&s->accounts->groups, group);
	row->backend = row->kernel == RUN_NONE ? NULL : run->kernels[row->kernel].backend;
}

static int rows_of_groups(struct rows *rows, const struct summary *s)
{
	const struct summary_accounts *a = s->accounts;
	bool of_devices = summary_by_devices(a->groups.by);
	rows->list = calloc(a->groups.count + 1, sizeof(*rows->list));
	if (!rows->list)
		return -ENOMEM;
	for (uint32_t g = 0; g < a->groups.count; g++) {
		const struct summary_sums *on_device = &a->devices.group_sums[g];
		const struct summary_sums *sums =
			of_devices ? on_device : &a->threads.group_sums[g];
		if (!sums->count && !sums->total_ns && !sums->wait_ns && !on_device->count)
			continue;
		struct summary_row *row = summary_add_row(rows, row_group_label(&a->groups, g), g);
		if (!row)
			return -ENOMEM;
		bool known = group_knows_off(s, g);
		enum summary_basis basis = known && sums->on_cpu.count ? BASIS_CPU : BASIS_WALL;
		summary_fill_row(row, s->wall_ns, sums, known);
		fill_lengths(row, basis, lengths_of(sums, basis),
			(struct row_histogram){.own = own_histogram(s, sums)});
		if (summary_by_devices(s->accounts->groups.by))
			fill_on_device(row, s, sums, g);
		else
			fill_device(row, &s->accounts->devices.group_sums[g], sums);
		row->device_error_ns = device_accounts_group_error(&a->devices, g);
		fill_rates(row, &s->accounts->group_work.accounts[work_key(g, row->on_device)]);
	}
	return 0;
}

/* Statistics tell the steps of a phase and their time, not which bricks ran in them. */
static int rows_of_counted_phases(struct rows *rows, const struct summary *s)
{
	rows->list = calloc(STEP_PHASES + 1, sizeof(*rows->list));
	for (uint32_t p = 0; rows->list && p < STEP_PHASES; p++) {
		const struct summary_sums sums = {.wall_ns = s->steps.phases[p].total_ns};
		struct summary_row *row =
			s->steps.phases[p].count
				? summary_add_row(rows, row_group_label(&s->accounts->groups, p), p)
				: NULL;
		if (!row && s->steps.phases[p].count)
			return -ENOMEM;
		if (!row)
			continue;
		summary_fill_row(row, s->wall_ns, &sums, false);
		fill_rates(row, NULL);
	}
	return rows->list ? 0 : -ENOMEM;
}

static struct summary_row *summary_row_of(const struct rows *rows, uint32_t id)
{
	size_t n = BISECT(i, 0, rows->count, rows->list[i].id < id);
	return n < rows->count && rows->list[n].id == id ? &rows->list[n] : NULL;
}

/*
 * Reads CPU and OFF of steps from their counters, where the kernel refuses to tell of switches
 * (docs/FORMAT.md, cpu-time).
 */
static void read_step_cpu(struct rows *rows, const struct summary *s)
{
	const struct run *run = s->run;
	for (size_t i = 0; i < run->point_count; i++) {
		const struct run_point *point = &run->points[i];
		if (point->kind != RUN_POINT_COUNTER || point->brick >= run->brick_count ||
			point->lane >= run->lane_count || point->value < 0 ||
			strcmp(run->bricks[point->brick].name, "cpu-time"))
			continue;
		const struct run_step *step =
			counters_step_of(run, s->accounts->threads.index, point);
		struct summary_row *row =
			step ? summary_row_of(rows, (uint32_t)(step - run->steps)) : NULL;
		if (!row)
			continue;
		uint64_t span_ns = step->end_ns - step->begin_ns;
		row->cpu_ns =
			point->value < (double)span_ns ? number_of_double(point->value) : span_ns;
		row->off_ns = span_ns - row->cpu_ns;
	}
}

/* A row's time in steps, on a thread or on a device. */
static uint64_t taken_ns(const struct summary_row *row)
{
	bool on_device =
		row->device_step_ns != ANALYSIS_UNKNOWN && row->device_step_ns > row->wall_ns;

	return on_device ? row->device_step_ns : row->wall_ns;
}

static int summary_compare_rows(const void *a, const void *b)
{
	const struct summary_row *x = a, *y = b;
	/* ANALYSIS_UNKNOWN + 1 is 0, so unknown times come last */
	return ORDER(taken_ns(y), taken_ns(x))
		?: ORDER(y->self_ns, x->self_ns)
		?: ORDER(y->device_ns + 1, x->device_ns + 1) ?: strcmp(x->name, y->name);
}

/* Where GPUs worked, by their time; then as other rows. */
static int summary_compare_on_gpus(const void *a, const void *b)
{
	const struct summary_row *x = a, *y = b;
	return ORDER(y->device_step_ns + 1, x->device_step_ns + 1) ?: summary_compare_rows(a, b);
}

static void sort_rows(struct rows *rows, const struct summary *s)
{
	if (rows->count > 1)
		qsort(rows->list, rows->count, sizeof(*rows->list),
			s->gpus.spans.count ? summary_compare_on_gpus : summary_compare_rows);
}

static int copy_rows(struct rows *rows, const struct rows *from)
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

static int make_rows(struct rows *rows, struct rows *categories, const struct summary *s)
{
	int rc = rows_of_categories(categories, s);
	if (rc < 0)
		return rc;
	sort_rows(categories, s);
	if (s->by == SUMMARY_BY_CATEGORY)
		rc = copy_rows(rows, categories);
	else if (s->by == SUMMARY_BY_BRICK)
		rc = rows_of_bricks(rows, s);
	else if (s->by == SUMMARY_BY_PHASE && s->run->has_statistics_only)
		rc = rows_of_counted_phases(rows, s);
	else
		rc = rows_of_groups(rows, s);
	if (rc < 0)
		return rc;
	if (s->by == SUMMARY_BY_STEP && !summary_knows_off(s))
		read_step_cpu(rows, s);
	if (s->by != SUMMARY_BY_LAYER && s->by != SUMMARY_BY_PHASE && s->by != SUMMARY_BY_STEP)
		sort_rows(rows, s);
	return 0;
}

static void summary_take_totals(struct summary *s)
{
	const struct summary_accounts *a = s->accounts;
	const struct thread_accounts *threads = &a->threads;
	bool has_stats = false;

	s->rests = threads->rests;
	if (s->only != SUMMARY_ALL_PHASES) {
		s->wall_ns = s->steps.phases[s->only].total_ns;
	} else if (s->run->step_count || s->steps.wall_ns) {
		s->wall_ns = s->steps.wall_ns;
	} else {
		s->wall_ns = a->executions->lifetimes_ns;
		s->rests.unattributed_ns = number_minus(s->wall_ns, threads->attributed_ns);
	}
	s->coverage = s->wall_ns ? 1 - (double)s->rests.unattributed_ns / (double)s->wall_ns : -1;
	s->row_rests = s->rests;
	/* of statistics only, rows by phase have the whole time of their steps */
	if (s->run->has_statistics_only ? s->by == SUMMARY_BY_PHASE
					: s->run->step_count && row_groups_exist(&a->groups))
		s->row_rests = threads->group_rests;
	for (size_t i = 0; i < s->run->lane_count; i++)
		has_stats |= s->run->lanes[i].stats != NULL;
	s->samples = a->executions->samples;
	s->executions = has_stats ? a->executions->executions : ANALYSIS_UNKNOWN;
	s->mismatched = a->executions->mismatched;
	s->unknown_operations = threads->unknown_operations + a->executions->unknown;
	s->device_ns = a->devices.device_ns;
	s->device_estimated = a->devices.estimated;
	s->device_error_ns = device_accounts_error(&a->devices);
	s->device_covered_ns = a->devices.covered_ns;
	s->device_wait_ns = threads->device_wait_ns;
	s->wait_causes = threads->wait_causes;
}

static int summary_finish(void *context)
{
	struct summary *s = context;
	struct rows rows = {0}, categories = {0};
	summary_take_totals(s);
	int rc = make_rows(&rows, &categories, s);
	s->categories = categories.list;
	s->category_count = categories.count;
	s->rows = rows.list;
	s->row_count = rows.count;
	return rc;
}

/* A summary itself wants no samples: its accounts take them. */
static int no_lane(void *context, uint32_t lane)
{
	return 0;
}

static const struct walk_ops summary_ops = {.begin_lane = no_lane, .finish = summary_finish};

static int summary_init(struct summary *s, struct walk *walk)
{
	struct summary_accounts *a = s->accounts = calloc(1, sizeof(*a));
	int rc = a ? queue_times_init(&s->queues, s->run, walk->index, s->only) : -ENOMEM;
	if (rc == 0)
		rc = gpu_times_init(&s->gpus, s->run, walk->index, s->only);
	if (rc == 0)
		rc = collectives_init(
			&s->collectives, s->run, walk->index, &s->gpus.spans, s->only);
	if (rc == 0)
		rc = row_groups_init(&a->groups, s->run, walk->index, s->by, &s->queues);
	if (rc == 0)
		rc = step_times_init(&s->steps, walk);
	if (rc == 0)
		a->executions = execution_counts_get(walk);
	if (rc < 0 || !a->executions)
		return -ENOMEM;
	rc = thread_accounts_init(
		&a->threads, walk, &a->groups, a->executions, s->only, s->queues.count > 0);
	if (rc == 0)
		rc = device_accounts_init(&a->devices, walk, &a->groups, a->executions, s->only);
	s->pairs = a->executions->pairs;
	s->hooked = a->executions->hooked;
	s->traced = &a->executions->traced;
	return rc == 0 ? init_work(s, walk) : rc;
}

int summary_create_in(struct summary **out, struct walk *walk, enum summary_by by, int only)
{
	struct summary *s = calloc(1, sizeof(*s));
	size_t joined = walk->count;
	if (!s)
		return -ENOMEM;
	s->run = walk->run;
	s->by = by;
	s->only = only;
	s->knows_off = step_index_knows_off(walk->index, only);
	if (summary_init(s, walk) < 0) {
		walk->count = joined;
		summary_destroy(s);
		return -ENOMEM;
	}
	walk_join(walk, &summary_ops, s);
	*out = s;
	return 0;
}

void summary_take(struct summary *to, const struct summary *part)
{
	thread_accounts_take(&to->accounts->threads, &part->accounts->threads);
}

int summary_create(struct summary **out, const struct run *run, enum summary_by by, int only)
{
	struct step_index index;
	struct summary *s = NULL;
	struct walk walk;
	int rc = step_index_init(&index, run);
	if (rc < 0)
		return rc;
	walk_init(&walk, run, &index);
	rc = summary_create_in(&s, &walk, by, only);
	if (rc == 0)
		rc = walk_run(&walk);
	step_index_fini(&index);
	if (rc < 0)
		summary_destroy(s);
	else
		*out = s;
	return rc;
}

static void destroy_rows(struct summary_row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(rows[i].name);
	free(rows);
}

static void destroy_accounts(struct summary_accounts *a)
{
	if (!a)
		return;
	thread_accounts_fini(&a->threads);
	device_accounts_fini(&a->devices);
	work_accounts_fini(&a->group_work);
	work_accounts_put(a->work);
	execution_counts_put(a->executions);
	row_groups_fini(&a->groups);
	free(a->teams);
	free(a);
}

void summary_destroy(struct summary *s)
{
	if (!s)
		return;
	destroy_accounts(s->accounts);
	destroy_rows(s->rows, s->row_count);
	destroy_rows(s->categories, s->category_count);
	step_times_fini(&s->steps);
	queue_times_fini(&s->queues);
	gpu_times_fini(&s->gpus);
	collectives_fini(&s->collectives);
	free(s);
}

double summary_device_coverage(const struct summary *s)
{
	return known_ratio(s->device_covered_ns, s->device_ns);
}

double summary_phase_coverage(const struct summary *s, enum step_phase phase)
{
	const struct step_phase_times *times = &s->steps.phases[phase];
	if (!times->total_ns)
		return -1;
	return 1 - (double)times->unattributed_ns / (double)times->total_ns;
}
