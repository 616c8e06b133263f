/* SPDX-License-Identifier: Apache-2.0 */
/* Rows from accounts, the choice of their roofs, and of the device whose ceilings are meant. */
#include "analysis/roofline/roofline.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/accounts/unknown.h"
#include "base/order.h"

/* So much more than a whole number of threads, on average, is taken for the next one. */
static const double threads_slack = 0.1;

const char *roofline_phase_name(enum roofline_phase phase)
{
	return step_phase_name((int)phase);
}

const char *roofline_bound_name(enum roofline_bound bound)
{
	static const char *const names[] = {NULL, "memory", "compute", "latency"};

	return names[bound];
}

static bool has_queue_of(const struct run *run, const char *backend)
{
	for (size_t i = 0; i < run->lane_count; i++)
		if (run->lanes[i].kind == BRICK_LANE_QUEUE && run->lanes[i].backend &&
			!strcmp(run->lanes[i].backend, backend))
			return true;
	return false;
}

/*
 * A note that names a device that has queues: "backend" with "vulkan NAME" of what is attached,
 * "vulkan.device" with "NAME" of a backend in the program. Its name, or NULL.
 */
static const char *named_device(
	const struct run *run, const struct run_note *note, char backend[CEILINGS_NAME])
{
	bool is_attached = !strcmp(note->key, "backend");
	const char *text = is_attached ? note->value : note->key;
	const char *end = strchr(text, is_attached ? ' ' : '.');

	if (!end || (!is_attached && strcmp(end, ".device")))
		return NULL;
	snprintf(backend, CEILINGS_NAME, "%.*s", (int)(end - text), text);
	if (!has_queue_of(run, backend))
		return NULL;
	return is_attached ? end + 1 : note->value;
}

const struct ceilings_device *roofline_device(const struct run *run, const struct ceilings *c)
{
	const struct ceilings_device *device = NULL;
	char backend[CEILINGS_NAME];

	for (size_t i = 0; c && i < run->note_count; i++) {
		const struct run_note *note = &run->notes[i];
		const char *name = named_device(run, note, backend);
		if (!name)
			continue;
		const struct ceilings_device *found = ceilings_device_of(c, backend, name);
		if (!found && strcmp(note->key, "backend"))
			continue; /* some of these say more than the name */
		if (!found || (device && found != device))
			return NULL;
		device = found;
	}
	return device;
}

/* No honest measurement exceeds this: the best, and as much more as repetitions differed. */
static double limit(const struct ceilings_figure *figure)
{
	return figure->best * (1 + ceilings_spread(figure));
}

/* The lowest ceiling of arithmetic, from that of f32 on, that allows the rate; else the highest. */
static const struct ceilings_compute *choose_peak(
	const struct ceilings *c, uint32_t threads, double rate)
{
	const struct ceilings_compute *best = ceilings_peak(c, "f32", threads);

	if (!best)
		best = ceilings_peak(c, NULL, threads);
	while (best && rate > limit(&best->rate)) {
		const struct ceilings_compute *next = NULL;
		for (size_t i = 0; i < c->compute_count; i++) {
			const struct ceilings_compute *row = &c->compute[i];
			if (row->threads == threads && row->rate.best > best->rate.best &&
				(!next || row->rate.best < next->rate.best))
				next = row;
		}
		if (!next)
			break;
		best = next;
	}
	return best;
}

/* The level furthest away that allows the rate; else the fastest one. */
static const struct ceilings_bandwidth *choose_bandwidth(
	const struct ceilings *c, uint32_t threads, double rate)
{
	const struct ceilings_bandwidth *best = NULL;

	for (size_t i = c->level_count; i-- > 0;) {
		const struct ceilings_bandwidth *level =
			ceilings_fastest(c, c->levels[i].name, threads);
		if (!level || (best && level->rate.best <= best->rate.best))
			continue;
		best = level;
		if (rate <= limit(&level->rate))
			break;
	}
	return best;
}

/* The least time of an execution, however little it does. */
static double floor_of(
	const struct ceilings *c, const struct roofline_row *row, double pair_cost_ns)
{
	const struct ceilings_latency *least =
		row->on_device	   ? ceilings_latency_of(c, "kernel", "kernel", 1)
		: row->threads > 1 ? ceilings_latency_of(c, "threads", "barrier", row->roof_threads)
				   : NULL;

	return least ? least->ns.best : row->on_device ? 0 : pair_cost_ns;
}

static double at_least_zero(double value)
{
	return value < 0 ? 0 : value;
}

/* Place a row whose counts and times are filled in under the ceilings that its `can` says. */
static void roofline_place(struct roofline_row *row, double pair_cost_ns)
{
	const struct ceilings *c = row->can;
	double flops = at_least_zero(row->flops_per_ns), bytes = at_least_zero(row->bytes_per_ns);

	row->roof_flops_per_ns = row->roof_bytes_per_ns = row->distance = row->floor_ns = -1;
	if (!c || row->flags & ROOFLINE_AT_MOST || !row->wall_ns || row->flops_per_ns < 0 ||
		row->bytes_per_ns < 0)
		return;
	row->roof_threads = ceilings_threads_for(c, row->on_device ? 1 : row->threads);
	if (!row->on_device && row->roof_threads != row->threads)
		row->flags |= ROOFLINE_OTHER_THREADS;
	row->peak = choose_peak(c, row->roof_threads, flops);
	row->bandwidth = choose_bandwidth(c, row->roof_threads, bytes);
	if (!row->peak || !row->bandwidth || (!row->flops && !row->bytes))
		return;
	if (flops > limit(&row->peak->rate))
		row->flags |= ROOFLINE_ABOVE_COMPUTE;
	if (bytes > limit(&row->bandwidth->rate))
		row->flags |= ROOFLINE_ABOVE_BANDWIDTH;
	/* Whatever is wrong, the ceiling or the counts: this is not its roof. */
	if (row->flags & (ROOFLINE_ABOVE_COMPUTE | ROOFLINE_ABOVE_BANDWIDTH))
		return;
	/* Shares of what each ceiling allows: the greater one says which of them is the roof. */
	double of_peak = flops / row->peak->rate.best;
	double of_bandwidth = bytes / row->bandwidth->rate.best;
	double achieved = of_peak > of_bandwidth ? of_peak : of_bandwidth;
	row->bound = of_bandwidth >= of_peak ? ROOFLINE_MEMORY : ROOFLINE_COMPUTE;
	/* Within the spread the brick has shown the ceiling to be higher. */
	achieved = achieved > 1 ? 1 : achieved;
	row->distance = 1 - achieved;
	if (row->flops)
		row->roof_flops_per_ns = flops / achieved;
	if (row->bytes)
		row->roof_bytes_per_ns = bytes / achieved;
	row->floor_ns = floor_of(c, row, pair_cost_ns);
	if (achieved * row->mean_ns < row->floor_ns)
		row->bound = ROOFLINE_LATENCY;
}

static void fill_row(struct roofline_row *row, const struct work_account *account,
	const struct run *run, uint32_t brick, enum roofline_phase phase, int on_device)
{
	*row = (struct roofline_row){
		.name = run->bricks[brick].name,
		.category = run->categories[run->bricks[brick].category].name,
		.brick = brick,
		.phase = phase,
		.on_device = on_device,
		.count = account->count,
		.silent = account->silent,
		.wall_ns = account->wall_ns,
		.busy_ns = account->busy_ns,
		.flops = account->without_flops ? ANALYSIS_UNKNOWN : account->flops,
		.bytes = account->without_bytes ? ANALYSIS_UNKNOWN : account->bytes,
		.mean_ns = (double)account->told_ns / (double)account->count,
		.share = -1,
		.intensity = -1,
	};
	row->at_once = row->wall_ns ? (double)row->busy_ns / (double)row->wall_ns : 0;
	double threads = row->at_once + 1 - threads_slack;
	row->threads = threads < CEILINGS_THREADS ? (uint32_t)threads : CEILINGS_THREADS;
	row->threads += !row->threads;
	row->flops_per_ns = work_flops_per_ns(account);
	row->bytes_per_ns = work_bytes_per_ns(account);
	if (row->flops != ANALYSIS_UNKNOWN && row->bytes != ANALYSIS_UNKNOWN && row->bytes)
		row->intensity = (double)row->flops / (double)row->bytes;
	if (row->silent)
		row->flags |= ROOFLINE_NOT_ALL;
	if (account->at_most)
		row->flags |= ROOFLINE_AT_MOST;
}

COMPARATOR(compare_rows, struct roofline_row,
	ORDER(x->phase, y->phase) ?: ORDER(y->wall_ns, x->wall_ns) ?: ORDER(x->brick, y->brick)
		?: ORDER(x->on_device, y->on_device))

static double greatest_pair_cost_ns(const struct run *run)
{
	double most = 0;

	for (size_t i = 0; i < run->process_count; i++)
		if (run->processes[i].pair_cost_ns > most)
			most = run->processes[i].pair_cost_ns;
	return most;
}

/* [1]: with what a device did for a step after that had returned. */
static void time_of_phases(uint64_t phases_ns[ROOFLINE_PHASES][2], const struct run *run,
	const struct step_index *index)
{
	for (size_t i = 0; i < run->step_count; i++) {
		const struct run_step *step = &run->steps[i];
		if (!index->finished[i])
			continue;
		phases_ns[step->phase][0] += step->end_ns - step->begin_ns;
		phases_ns[step->phase][1] += index->tails[i].end_ns - step->begin_ns;
	}
}

/* The accounts take the samples. */
static int no_lane(void *context, uint32_t lane)
{
	return 0;
}

static void add_row(struct roofline *r, uint32_t brick, enum roofline_phase phase, int on_device,
	uint64_t phase_ns)
{
	const struct work_account *account = work_of_brick(r->work, brick, (int)phase, on_device);
	struct roofline_row *row = &r->rows[r->row_count];

	if (!account->count)
		return;
	fill_row(row, account, r->run, brick, phase, on_device);
	if (phase_ns)
		row->share = (double)row->wall_ns / (double)phase_ns;
	row->can = !on_device ? r->ceilings : r->device ? &r->device->can : NULL;
	roofline_place(row, greatest_pair_cost_ns(r->run));
	r->row_count++;
}

static int add_rows(void *context)
{
	struct roofline *r = context;
	uint64_t phases_ns[ROOFLINE_PHASES][2] = {{0}};

	r->rows = calloc(r->run->brick_count * ROOFLINE_PHASES * 2 + 1, sizeof(*r->rows));
	if (!r->rows)
		return -ENOMEM;
	time_of_phases(phases_ns, r->run, r->index);
	for (uint32_t b = 0; b < r->run->brick_count; b++)
		for (int i = 0; i < ROOFLINE_PHASES * 2; i++)
			add_row(r, b, (enum roofline_phase)(i / 2), i % 2, phases_ns[i / 2][i % 2]);
	qsort(r->rows, r->row_count, sizeof(*r->rows), compare_rows);
	work_accounts_put(r->work);
	r->work = NULL;
	return 0;
}

static const struct walk_ops ops = {.begin_lane = no_lane, .finish = add_rows};

int roofline_create_in(struct roofline **out, struct walk *walk, const struct ceilings *ceilings)
{
	struct roofline *r = calloc(1, sizeof(*r));

	if (r)
		r->work = work_accounts_get(walk, WORK_OF_BRICKS);
	if (!r || !r->work) {
		free(r);
		return -ENOMEM;
	}
	r->index = walk->index;
	r->run = walk->run;
	r->ceilings = ceilings;
	r->device = roofline_device(r->run, ceilings);
	walk_join(walk, &ops, r);
	*out = r;
	return 0;
}

int roofline_create(struct roofline **out, const struct run *run, const struct step_index *index,
	const struct ceilings *ceilings)
{
	struct roofline *r;
	struct walk walk;

	walk_init(&walk, run, index);
	int rc = roofline_create_in(&r, &walk, ceilings);
	if (rc < 0)
		return rc;
	rc = walk_run(&walk);
	if (rc < 0)
		roofline_destroy(r);
	else
		*out = r;
	return rc;
}

void roofline_destroy(struct roofline *r)
{
	if (!r)
		return;
	work_accounts_put(r->work);
	free(r->rows);
	free(r);
}
