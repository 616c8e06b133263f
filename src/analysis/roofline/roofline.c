/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes rows of accounts, chooses the device whose ceilings apply, and finds the roof of each row.
 */
#include "analysis/roofline/roofline.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/statistics/unknown.h"
#include "base/order.h"

/* An average so much above a whole number of threads counts as the next number. */
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
 * A note that names a device with queues: "backend" with "vulkan NAME" for an attached library,
 * "vulkan.device" with "NAME" for a backend in the program. Returns the name, or NULL.
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

/*
 * The one device whose queues the run has, as its notes name it. NULL: it was not measured, or
 * there are several, and nobody knows which one ran what.
 */
static const struct ceilings_device *find_device(const struct run *run, const struct ceilings *c)
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
			continue; /* the values of some notes hold more than the name */
		if (!found || (device && found != device))
			return NULL;
		device = found;
	}
	return device;
}

enum {
	LEAST_EXECUTIONS = 16,	   /* of a row that may raise a ceiling ... */
	LEAST_NS = 1000000,	   /* ... and its team_ns */
	LEAST_STEAL_NS = 50000000, /* kernels count it in steps of 10 ms */
};

/* More than f32's peak by this factor is another type's; no measurement is so far off. */
static const double another_type = 1.25;
/* A brick that may not raise a ceiling counts as at its roof up to so much above it. */
static const double noise = 1.05;
/* A working set within this factor has the same bandwidth, or lies at a cache's edge. */
static const double smaller = 0.85, larger = 1.2, roofline_edge = 1.5;
static const double most_unknown = 0.1, most_off_cpu = 0.1;

/* The peak of f32, or of a faster type if the brick is faster than that. */
static const struct ceilings_compute *choose_peak(
	const struct ceilings *c, uint32_t threads, double rate)
{
	const struct ceilings_compute *best = ceilings_peak(c, "f32", threads);

	if (!best)
		best = ceilings_peak(c, NULL, threads);
	while (best && rate > another_type * ceilings_peak_at(c, best)) {
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

/* The level of memory that limits a brick. */
struct supply {
	size_t level;	     /* index in ceilings.levels */
	uint64_t distance;   /* reuse distance of the data from there, bytes */
	double share;	     /* of the brick's bytes that come from there or beyond */
	double bytes_per_ns; /* the ceiling */
	bool known;	     /* the ceiling may be used: see find_supply() */
	bool own;	     /* mostly the brick's own data: their distance is measured */
	bool wide;	     /* the ceiling was measured badly */
};

/* The median distance, by bytes, of parts whose bytes add up to `bytes`. */
static uint64_t middle_distance(const struct reuse_part *parts, size_t count, double bytes)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++) {
		sum += parts[i].bytes;
		if (2 * sum >= bytes)
			return parts[i].distance;
	}
	return parts[count - 1].distance;
}

/*
 * Fills in s->bytes_per_ns for s->distance. False: that is at the edge of a cache, or not measured.
 */
static bool find_bandwidth(const struct ceilings *c, uint32_t threads, struct supply *s)
{
	const struct ceilings_figure *figure, *ignored;
	double bytes = (double)s->distance;
	double after = ceilings_bandwidth_at(c, threads, (uint64_t)(bytes * larger), &ignored);

	s->bytes_per_ns = ceilings_bandwidth_at(c, threads, (uint64_t)(bytes * smaller), &figure);
	s->wide = figure && s->bytes_per_ns <= figure->best && ceilings_is_wide(figure);
	return s->bytes_per_ns > 0 && s->bytes_per_ns <= roofline_edge * after;
}

/* False for memory if too little of it was free to measure working sets larger than the caches. */
static bool roofline_is_measured(const struct ceilings *c, uint32_t threads, size_t level)
{
	return level + 1 < c->level_count || ceilings_fastest(c, c->levels[level].name, threads);
}

/* The level that the brick waits for longest, of the levels in which its parts lie. */
static struct supply find_supply(
	const struct ceilings *c, uint32_t threads, const struct reuse_part *parts, size_t count)
{
	struct supply most = {0};
	double all = 0, sum = 0, longest = 0;
	size_t first = 0;

	for (size_t i = 0; i < count; i++)
		all += parts[i].bytes;
	while (first < count && parts[first].distance == REUSE_UNKNOWN)
		sum += parts[first++].bytes;
	if (first == count || sum > most_unknown * all)
		return most;
	for (size_t i = first, end; i < count; i = end) {
		struct supply s = {.level = ceilings_level_of(c, threads, parts[i].distance)};
		double bytes = 0, own = 0;
		for (end = i; end < count &&
			      ceilings_level_of(c, threads, parts[end].distance) == s.level;
			end++) {
			bytes += parts[end].bytes;
			own += parts[end].own ? parts[end].bytes : 0;
		}
		sum += bytes;
		s.share = sum / all;
		s.own = 2 * own > bytes;
		s.distance = middle_distance(parts + i, end - i, bytes);
		s.known =
			find_bandwidth(c, threads, &s) && roofline_is_measured(c, threads, s.level);
		if (s.bytes_per_ns > 0 && s.share / s.bytes_per_ns > longest) {
			longest = s.share / s.bytes_per_ns;
			most = s;
		}
	}
	return most;
}

/* The least time of an execution, however little it does. */
static double roofline_floor_of(
	const struct ceilings *c, const struct roofline_row *row, double pair_cost_ns)
{
	const struct ceilings_latency *least =
		row->on_device	   ? ceilings_latency_of(c, "kernel", "kernel", 1)
		: row->threads > 1 ? ceilings_latency_of(c, "threads", "barrier", row->roof_threads)
				   : NULL;

	return least ? least->ns.best : row->on_device ? 0 : pair_cost_ns;
}

static const struct ceilings *raised_for(const struct roofline *r, const struct roofline_row *row)
{
	return row->on_device ? row->can : &r->raised;
}

static struct supply supply_of(const struct roofline *r, const struct roofline_row *row)
{
	size_t count;
	const struct reuse_part *parts =
		reuse_parts(&r->reuse, row->brick, (int)row->phase, row->on_device, &count);

	return find_supply(raised_for(r, row), row->roof_threads, parts, count);
}

static bool has_rates(const struct roofline_row *row)
{
	return row->can && !(row->flags & (ROOFLINE_NO_WORK | ROOFLINE_AT_MOST | ROOFLINE_OFF_CPU |
						  ROOFLINE_CROWDED));
}

/* True if the row's rate is good enough to raise a ceiling. */
static bool may_raise(const struct roofline_row *row)
{
	return has_rates(row) && !row->on_device && row->count >= LEAST_EXECUTIONS &&
	       row->team_ns >= LEAST_NS &&
	       !(row->flags & (ROOFLINE_NOT_ALL | ROOFLINE_OTHER_THREADS)) &&
	       row->at_once <= 1.02 * row->threads;
}

/* A ceiling may have been measured much too low, but no level is faster than the one before it. */
static bool is_believed(
	const struct ceilings *c, const struct supply *s, uint32_t threads, double rate)
{
	const struct ceilings_bandwidth *nearer =
		s->level ? ceilings_fastest(c, c->levels[s->level - 1].name, threads) : NULL;

	return nearer ? rate <= nearer->rate.best : rate <= another_type * s->bytes_per_ns;
}

static int roofline_reach(struct roofline *r, const struct roofline_row *row, const char *level,
	uint64_t bytes, double rate)
{
	struct ceilings_reached reached = {.threads = row->roof_threads,
		.bytes = bytes,
		.unix_ns = r->run->start_unix_ns,
		.rate = {.best = rate, .median = rate, .worst = rate, .count = 1}};
	bool added;

	snprintf(reached.level, sizeof(reached.level), "%s", level);
	snprintf(reached.brick, sizeof(reached.brick), "%s", row->name);
	snprintf(reached.recording, sizeof(reached.recording), "%s",
		r->run->path ? r->run->path : "");
	return ceilings_reach(&r->raised, &reached, &added);
}

/* Raises ceilings that the row has exceeded. */
static int raise(struct roofline *r, const struct roofline_row *row)
{
	if (!may_raise(row) || r->doubt == CEILINGS_OTHER_CPU || r->doubt == CEILINGS_OTHER_HOST)
		return 0;
	const struct ceilings *c = &r->raised;
	struct supply s = supply_of(r, row);
	double rate = row->bytes_per_ns * s.share;
	int rc = 0;
	if (s.known && s.own && rate > s.bytes_per_ns &&
		is_believed(c, &s, row->roof_threads, rate))
		rc = roofline_reach(r, row, c->levels[s.level].name, s.distance, rate);
	const struct ceilings_compute *peak = choose_peak(c, row->roof_threads, row->flops_per_ns);
	double most = peak ? ceilings_peak_at(c, peak) : 0;
	if (!rc && row->flops_per_ns > most && row->flops_per_ns <= another_type * most)
		rc = roofline_reach(r, row, peak->type, 0, row->flops_per_ns);
	return rc;
}

static void tell_level(const struct ceilings *c, struct roofline_row *row, const struct supply *s)
{
	if (!s->known) {
		row->flags |= ROOFLINE_NO_LEVEL;
		return;
	}
	row->level = c->levels[s->level].name;
	row->reuse_bytes = s->distance;
	row->level_share = s->share;
	row->bandwidth_per_ns = s->bytes_per_ns;
}

/* The share of bandwidth that it reached; where no level is known, of memory's, the slowest. */
static double part_of_bandwidth(
	const struct ceilings *c, const struct roofline_row *row, const struct supply *s)
{
	const struct ceilings_figure *figure;
	double slowest = ceilings_bandwidth_at(c, row->roof_threads, REUSE_UNKNOWN, &figure);

	if (s->known)
		return row->bytes_per_ns * s->share / s->bytes_per_ns;
	return slowest > 0 ? row->bytes_per_ns / slowest : 0;
}

static bool exceeds(const struct roofline *r, const struct roofline_row *row, const char *level)
{
	for (size_t i = 0; i < r->raised.reached_count; i++) {
		const struct ceilings_reached *reached = &r->raised.reached[i];
		if (!strcmp(reached->level, level) && !strcmp(reached->brick, row->name) &&
			reached->threads == row->roof_threads && r->run->path &&
			!strncmp(reached->recording, r->run->path, sizeof(reached->recording) - 1))
			return true;
	}
	return false;
}

/* Places a row under the ceilings in its `can`; its counts and times are filled in. */
static void roofline_place(const struct roofline *r, struct roofline_row *row, double pair_cost_ns)
{
	const struct ceilings *c = raised_for(r, row);

	row->flags |= ROOFLINE_NO_CEILINGS;
	if (!row->can || !row->roof_threads)
		return;
	const struct supply s = supply_of(r, row);
	tell_level(c, row, &s);
	row->peak = choose_peak(c, row->roof_threads, row->flops_per_ns);
	row->peak_per_ns = row->peak ? ceilings_peak_at(c, row->peak) : 0;
	if (!row->peak)
		return;
	row->flags &= ~(uint32_t)ROOFLINE_NO_CEILINGS;
	if (!has_rates(row))
		return;
	double of_memory = part_of_bandwidth(c, row, &s);
	double of_peak = row->flops_per_ns / row->peak_per_ns;
	bool by_memory = of_memory >= of_peak;
	double achieved = by_memory ? of_memory : of_peak;
	bool wide = by_memory ? s.wide
			      : row->peak_per_ns <= row->peak->rate.best &&
					ceilings_is_wide(&row->peak->rate);
	if (!s.known && by_memory)
		return;
	if (r->doubt || wide) {
		row->flags |= ROOFLINE_DOUBTED;
		return;
	}
	if (achieved > noise) {
		row->flags |= by_memory ? ROOFLINE_ABOVE_BANDWIDTH : ROOFLINE_ABOVE_COMPUTE;
		return;
	}
	if (achieved >= 1 && exceeds(r, row, by_memory ? row->level : row->peak->type))
		row->flags |= ROOFLINE_RAISED;
	achieved = achieved > 1 ? 1 : achieved;
	row->bound = by_memory ? ROOFLINE_MEMORY : ROOFLINE_COMPUTE;
	row->distance = 1 - achieved;
	if (row->flops)
		row->roof_flops_per_ns = row->flops_per_ns / achieved;
	if (row->bytes)
		row->roof_bytes_per_ns = row->bytes_per_ns / achieved;
	row->floor_ns = roofline_floor_of(row->can, row, pair_cost_ns);
	if (achieved * row->mean_ns < row->floor_ns)
		row->bound = ROOFLINE_LATENCY;
}

/* True if others took a tenth of the threads' time on the CPU, as far as anybody counted. */
static bool is_crowded(const struct run *run)
{
	const struct off_cpu_account *off = &run->off_cpu;
	const struct machine_use *use = &run->machine;
	double queued = (double)off->queued_ns, steal = (double)use->steal_ns;

	return queued > most_off_cpu * ((double)off->ran_ns + queued) ||
	       (use->steal_ns >= LEAST_STEAL_NS &&
		       steal > most_off_cpu * ((double)use->busy_ns + steal));
}

COMPARATOR(roofline_compare_rows, struct roofline_row,
	ORDER(x->phase, y->phase) ?: ORDER(y->team_ns, x->team_ns) ?: ORDER(x->brick, y->brick)
		?: ORDER(x->on_device, y->on_device))

/* Adds to the brick's part of the wall time, as in a report of the phase. */
static void roofline_on_end(void *context, const struct walk_frame *frame, unsigned depth)
{
	struct roofline *r = context;
	bool in_step = frame->scope == WALK_IN_STEP || frame->scope == WALK_AFTER;

	if (in_step && !r->run->sites[frame->sample->site].left_out)
		r->wall_ns[r->run->steps[frame->step].phase * r->run->brick_count + frame->brick] +=
			walk_shares(r->index, frame).own_ns;
}

static void roofline_add_row(struct roofline *r, uint32_t brick, enum roofline_phase phase,
	int on_device, uint64_t phase_ns)
{
	const struct work_account *account = work_of_brick(r->work, brick, (int)phase, on_device);
	struct roofline_row *row = &r->rows[r->row_count];

	if (!account->count)
		return;
	const struct run *run = r->run;
	*row = (struct roofline_row){
		.name = run->bricks[brick].name,
		.category = run->categories[run->bricks[brick].category].name,
		.brick = brick,
		.phase = phase,
		.on_device = on_device,
		.count = account->count,
		.silent = account->silent,
		.wall_ns = ANALYSIS_UNKNOWN,
		.team_ns = account->wall_ns,
		.busy_ns = account->busy_ns,
		.flops = account->without_flops ? ANALYSIS_UNKNOWN : account->flops,
		.bytes = account->without_bytes ? ANALYSIS_UNKNOWN : account->bytes,
		.mean_ns = (double)account->told_ns / (double)account->count,
		.share = -1,
		.intensity = -1,
		.floor_ns = -1,
		.roof_flops_per_ns = -1,
		.roof_bytes_per_ns = -1,
		.distance = -1,
	};
	row->at_once = row->team_ns ? (double)row->busy_ns / (double)row->team_ns : 0;
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
	double off_ns = (double)(account->preempted_ns + account->blocked_ns);
	if (off_ns > most_off_cpu * (off_ns + (double)account->busy_ns))
		row->flags |= ROOFLINE_OFF_CPU;
	if (!on_device && is_crowded(run))
		row->flags |= ROOFLINE_CROWDED;
	if (!row->team_ns || row->flops_per_ns < 0 || row->bytes_per_ns < 0 ||
		row->flops_per_ns + row->bytes_per_ns <= 0)
		row->flags |= ROOFLINE_NO_WORK;
	if (phase < ROOFLINE_OUTSIDE && !on_device)
		row->wall_ns = r->wall_ns[phase * r->run->brick_count + brick];
	if (phase_ns)
		row->share = (double)(on_device ? row->team_ns : row->wall_ns) / (double)phase_ns;
	row->can = !on_device ? r->ceilings : r->device ? &r->device->can : NULL;
	if (row->can)
		row->roof_threads = ceilings_threads_for(row->can, on_device ? 1 : row->threads);
	if (!on_device && row->roof_threads && row->roof_threads != row->threads)
		row->flags |= ROOFLINE_OTHER_THREADS;
	r->row_count++;
}

static int place_all(struct roofline *r)
{
	const struct run *run = r->run;
	double pair_cost_ns = 0;

	for (size_t i = 0; i < run->process_count; i++)
		if (run->processes[i].pair_cost_ns > pair_cost_ns)
			pair_cost_ns = run->processes[i].pair_cost_ns;
	int rc = r->ceilings ? reuse_init(&r->reuse, r->run, r->index) : 0;

	for (size_t i = 0; i < r->row_count && !rc; i++)
		rc = raise(r, &r->rows[i]);
	for (size_t i = 0; i < r->row_count && !rc; i++)
		roofline_place(r, &r->rows[i], pair_cost_ns);
	return rc;
}

static int roofline_add_rows(void *context)
{
	struct roofline *r = context;
	r->rows = calloc(r->run->brick_count * ROOFLINE_PHASES * 2 + 1, sizeof(*r->rows));
	if (!r->rows)
		return -ENOMEM;
	for (uint32_t b = 0; b < r->run->brick_count; b++)
		for (int i = 0; i < ROOFLINE_PHASES * 2; i++)
			roofline_add_row(r, b, (enum roofline_phase)(i / 2), i % 2,
				i / 2 < STEP_PHASES ? r->times.phases[i / 2].total_ns : 0);
	qsort(r->rows, r->row_count, sizeof(*r->rows), roofline_compare_rows);
	work_accounts_put(r->work);
	r->work = NULL;
	return place_all(r);
}

static const struct walk_ops roofline_ops = {.end = roofline_on_end, .finish = roofline_add_rows};

static enum ceilings_doubt doubt_of(const struct ceilings *c, const struct run *run)
{
	if (run->cpu && *run->cpu && strcmp(c->cpu, run->cpu))
		return CEILINGS_OTHER_CPU;
	if (run->host && *run->host && strcmp(c->host, run->host))
		return CEILINGS_OTHER_HOST;
	if (run->cpus && run->cpus != c->cpus)
		return CEILINGS_OTHER_CPUS;
	return ceilings_noisy(c) ? CEILINGS_NOISY : CEILINGS_TRUSTED;
}

/* Borrows the ceilings, with a list of its own of rates that were reached. */
static int borrow(struct roofline *r, const struct ceilings *c)
{
	if (!c)
		return 0;
	r->ceilings = c;
	r->doubt = doubt_of(c, r->run);
	r->raised = *c;
	r->raised.reached = calloc(c->reached_count + 1, sizeof(*c->reached));
	if (r->raised.reached && c->reached_count)
		memcpy(r->raised.reached, c->reached, c->reached_count * sizeof(*c->reached));
	return r->raised.reached ? 0 : -ENOMEM;
}

int roofline_create_in(struct roofline **out, struct walk *walk, const struct ceilings *ceilings)
{
	struct roofline *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->index = walk->index;
	r->run = walk->run;
	r->work = work_accounts_get(walk, WORK_OF_BRICKS);
	r->wall_ns = calloc(STEP_PHASES * r->run->brick_count + 1, sizeof(*r->wall_ns));
	if (!r->work || !r->wall_ns || step_times_init(&r->times, walk) < 0 ||
		borrow(r, ceilings)) {
		roofline_destroy(r);
		return -ENOMEM;
	}
	r->device = find_device(r->run, ceilings);
	walk_join(walk, &roofline_ops, r);
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
	step_times_fini(&r->times);
	free(r->wall_ns);
	reuse_fini(&r->reuse);
	free(r->raised.reached);
	free(r->rows);
	free(r);
}

const struct roofline_row *roofline_find(
	const struct roofline *r, uint32_t brick, enum roofline_phase phase, bool on_device)
{
	for (size_t i = 0; i < r->row_count; i++)
		if (r->rows[i].brick == brick && r->rows[i].phase == phase &&
			(bool)r->rows[i].on_device == on_device)
			return &r->rows[i];
	return NULL;
}

enum roofline_flags roofline_why_none(const struct roofline_row *row)
{
	static const enum roofline_flags why[] = {ROOFLINE_NO_CEILINGS, ROOFLINE_NO_WORK,
		ROOFLINE_AT_MOST, ROOFLINE_OFF_CPU, ROOFLINE_CROWDED, ROOFLINE_ABOVE_COMPUTE,
		ROOFLINE_ABOVE_BANDWIDTH, ROOFLINE_DOUBTED, ROOFLINE_NO_LEVEL};

	for (size_t i = 0; row->distance < 0 && i < sizeof(why) / sizeof(*why); i++)
		if (row->flags & why[i])
			return why[i];
	return 0;
}

int roofline_learn(struct ceilings *kept, const struct roofline *r)
{
	int any = 0;

	for (size_t i = 0; i < r->raised.reached_count; i++) {
		bool added;
		if (ceilings_reach(kept, &r->raised.reached[i], &added))
			return -ENOMEM;
		any |= added;
	}
	return any;
}
