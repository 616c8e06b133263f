/* SPDX-License-Identifier: Apache-2.0 */
/* Points hold sums over their runs, by brick and phase; intervals are of logarithms. */
#include "analysis/advise/advise.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/accounts/statistics.h"

enum { FREEDOM_MIN = 4 };	      /* what repeated runs lack of it is assumed */
static const double processes = 0.05; /* what identical ones differ by, where nobody knows */
static const double tails = 0.05;

struct brick {
	enum advise_phase phase;
	char *name;
};

struct point {
	size_t *at;
	size_t runs;
	ARRAY(double) ns;		  /* by brick, of a token, summed over the runs */
	ARRAY(double) logs[ADVISE_GOALS]; /* a value each run */
};

struct advise {
	struct advise_axis *axes;
	size_t axis_count;
	size_t *base;
	ARRAY(struct brick) bricks;
	ARRAY(struct point) points;
	double tokens[ADVISE_PHASES]; /* of the base, summed over its runs */
};

const char *advise_goal_name(enum advise_phase goal)
{
	static const char *const names[] = {"prefill", "decode", "mixed", "all"};

	return names[goal];
}

static int copy(void *to, const void *from, size_t bytes)
{
	void *made = malloc(bytes + 1);

	if (!made)
		return -ENOMEM;
	memcpy(made, from, bytes);
	memcpy(to, &made, sizeof(made));
	return 0;
}

static int copy_axes(struct advise *a, const struct advise_axis *axes)
{
	int rc = copy(&a->axes, axes, a->axis_count * sizeof(*axes));

	for (size_t i = 0; rc == 0 && i < a->axis_count; i++)
		a->axes[i].numbers = NULL;
	for (size_t i = 0; rc == 0 && i < a->axis_count; i++)
		if (axes[i].numbers)
			rc = copy(&a->axes[i].numbers, axes[i].numbers,
				axes[i].count * sizeof(double));
	return rc;
}

int advise_create(
	struct advise **out, const struct advise_axis *axes, size_t axis_count, const size_t *base)
{
	struct advise *a = calloc(1, sizeof(*a));

	if (!a)
		return -ENOMEM;
	a->axis_count = axis_count;
	if (copy(&a->base, base, axis_count * sizeof(*base)) || copy_axes(a, axes)) {
		advise_destroy(a);
		return -ENOMEM;
	}
	*out = a;
	return 0;
}

void advise_destroy(struct advise *a)
{
	if (!a)
		return;
	for (size_t i = 0; a->axes && i < a->axis_count; i++)
		free((void *)a->axes[i].numbers);
	for (size_t i = 0; i < a->bricks.count; i++)
		free(a->bricks.items[i].name);
	for (size_t i = 0; i < a->points.count; i++) {
		struct point *p = &a->points.items[i];
		for (int goal = 0; goal < ADVISE_GOALS; goal++)
			array_fini(&p->logs[goal]);
		array_fini(&p->ns);
		free(p->at);
	}
	array_fini(&a->bricks);
	array_fini(&a->points);
	free(a->base);
	free(a->axes);
	free(a);
}

/* Points. */

static bool is_at(const struct advise *a, const struct point *point, const size_t *at)
{
	return !memcmp(point->at, at, a->axis_count * sizeof(*at));
}

static struct point *find_point(const struct advise *a, const size_t *at)
{
	for (size_t i = 0; i < a->points.count; i++)
		if (is_at(a, &a->points.items[i], at))
			return &a->points.items[i];
	return NULL;
}

static struct point *make_point(struct advise *a, const size_t *at)
{
	struct point point = {0};
	struct point *found = find_point(a, at);

	if (found)
		return found;
	if (copy(&point.at, at, a->axis_count * sizeof(*at)))
		return NULL;
	if (array_push(&a->points, point)) {
		free(point.at);
		return NULL;
	}
	return &a->points.items[a->points.count - 1];
}

/* Its index; -ENOMEM. */
static int brick_of(struct advise *a, enum advise_phase phase, const char *name)
{
	struct brick brick = {phase, NULL};

	for (size_t i = 0; i < a->bricks.count; i++)
		if (a->bricks.items[i].phase == phase && !strcmp(a->bricks.items[i].name, name))
			return (int)i;
	brick.name = strdup(name);
	if (!brick.name || array_push(&a->bricks, brick)) {
		free(brick.name);
		return -ENOMEM;
	}
	return (int)a->bricks.count - 1;
}

static double *room_of(struct point *point, size_t brick)
{
	while (point->ns.count <= brick)
		if (array_push(&point->ns, 0.0))
			return NULL;
	return &point->ns.items[brick];
}

static int phase_of(const char *name)
{
	for (int phase = 0; phase < ADVISE_PHASES; phase++)
		if (!strcmp(name, advise_goal_name((enum advise_phase)phase)))
			return phase;
	return -1;
}

static int add_part(struct advise *a, struct point *point, const struct history_part *part)
{
	int phase = phase_of(part->phase);
	bool is_brick = !strcmp(part->kind, "brick") || !strcmp(part->kind, "unattributed");

	if (phase < 0 || !is_brick || !part->typical_tokens)
		return 0;
	int brick = brick_of(a, (enum advise_phase)phase, part->name);
	double *ns = brick < 0 ? NULL : room_of(point, (size_t)brick);
	if (!ns)
		return -ENOMEM;
	*ns += (double)part->typical_ns / (double)part->typical_tokens;
	return 0;
}

/* What a token took in a phase of a run; 0: it has none. */
static double step_ns(const struct history_run *run, enum advise_phase phase, double *tokens)
{
	const struct history_part *step = history_run_step(run, advise_goal_name(phase));

	*tokens = step ? (double)step->tokens : 0;
	return step && step->typical_tokens
		       ? (double)step->typical_ns / (double)step->typical_tokens
		       : 0;
}

/* Whole times of the run, for what runs differ by. */
static int add_totals(struct advise *a, struct point *point, const struct history_run *run)
{
	bool is_base = is_at(a, point, a->base);
	double all = 0, tokens;
	int rc = 0;

	for (int phase = 0; phase < ADVISE_PHASES && rc == 0; phase++) {
		double ns = step_ns(run, (enum advise_phase)phase, &tokens);
		all += ns * tokens;
		a->tokens[phase] += is_base ? tokens : 0;
		if (ns > 0)
			rc = array_push(&point->logs[phase], log(ns));
	}
	return rc < 0 || all <= 0 ? rc : array_push(&point->logs[ADVISE_ALL], log(all));
}

int advise_add(struct advise *a, const size_t *at, const struct history_run *run)
{
	struct point *point = make_point(a, at);
	int rc = point ? add_totals(a, point, run) : -ENOMEM;

	for (size_t i = 0; i < run->parts.count && rc == 0; i++)
		rc = add_part(a, point, &run->parts.items[i]);
	if (rc == 0)
		point->runs++;
	return rc;
}

double advise_tokens(const struct advise *a, enum advise_phase phase)
{
	const struct point *base = find_point(a, a->base);

	return base && base->runs ? a->tokens[phase] / (double)base->runs : 0;
}

/* Prediction. */

static double mean_ns(const struct point *point, size_t brick)
{
	return brick < point->ns.count ? point->ns.items[brick] / (double)point->runs : 0;
}

/* The base with one axis elsewhere; NULL: not measured. */
static const struct point *star(const struct advise *a, size_t *scratch, size_t axis, size_t value)
{
	memcpy(scratch, a->base, a->axis_count * sizeof(*scratch));
	scratch[axis] = value;
	const struct point *point = find_point(a, scratch);
	return point && point->runs ? point : NULL;
}

static double coordinate(const struct advise_axis *axis, size_t value)
{
	for (size_t i = 0; i < axis->count; i++)
		if (!(axis->numbers[i] > 0))
			return axis->numbers[value];
	return 1 / axis->numbers[value];
}

/* What an axis does to the base: the measured points on both sides, and how far between them. */
struct between {
	const struct point *low, *high;
	double part; /* 0: low, 1: high */
};

static bool find_between(
	const struct advise *a, size_t *scratch, size_t axis, size_t value, struct between *out)
{
	const struct advise_axis *own = &a->axes[axis];
	double low = -INFINITY, high = INFINITY;

	*out = (struct between){.low = star(a, scratch, axis, value)};
	out->high = out->low;
	if (out->low || !own->numbers)
		return out->low != NULL;
	double x = coordinate(own, value);
	for (size_t i = 0; i < own->count; i++) {
		const struct point *point = star(a, scratch, axis, i);
		double at = coordinate(own, i);
		if (point && at <= x && at > low) {
			low = at;
			out->low = point;
		}
		if (point && at >= x && at < high) {
			high = at;
			out->high = point;
		}
	}
	out->part = high > low ? (x - low) / (high - low) : 0;
	return out->low && out->high;
}

static double between_ns(const struct between *b, size_t brick)
{
	return (1 - b->part) * mean_ns(b->low, brick) + b->part * mean_ns(b->high, brick);
}

static double brick_ns(
	const struct advise *a, const struct point *base, const struct between *axes, size_t brick)
{
	double at_base = mean_ns(base, brick), ratio = 1, sum = at_base;
	bool is_everywhere = at_base > 0;

	for (size_t i = 0; i < a->axis_count; i++) {
		double ns = between_ns(&axes[i], brick);
		is_everywhere &= ns > 0;
		ratio *= at_base > 0 ? ns / at_base : 1;
		sum += ns - at_base;
	}
	return is_everywhere ? at_base * ratio : fmax(sum, 0);
}

/* Intervals. */

/* What runs of the same setting differ by. */
static double spread_of(const struct advise *a, int goal, unsigned *freedom)
{
	double squares = 0;

	*freedom = 0;
	for (size_t i = 0; i < a->points.count; i++) {
		const struct point *p = &a->points.items[i];
		size_t n = p->logs[goal].count;
		double mean = 0;
		for (size_t k = 0; k < n; k++)
			mean += p->logs[goal].items[k] / (double)n;
		for (size_t k = 0; k < n; k++)
			squares += pow(p->logs[goal].items[k] - mean, 2);
		*freedom += n > 1 ? (unsigned)n - 1 : 0;
	}
	if (*freedom < FREEDOM_MIN) {
		squares += (double)(FREEDOM_MIN - *freedom) * processes * processes;
		*freedom = FREEDOM_MIN;
	}
	return sqrt(squares / *freedom);
}

/* weight: the variance in units of that of one run. */
static struct advise_time time_of(const struct advise *a, int goal, double ns, double weight)
{
	unsigned freedom;
	double spread = spread_of(a, goal, &freedom);
	double half = spread * sqrt(weight) * statistics_t_bound(tails, freedom);

	return ns > 0 ? (struct advise_time){ns, ns * exp(-half), ns * exp(half)}
		      : (struct advise_time){NAN, NAN, NAN};
}

static void fill_all(const struct advise *a, struct advise_answer *out, double weight)
{
	double all = 0;

	for (int phase = 0; phase < ADVISE_PHASES; phase++)
		if (advise_tokens(a, (enum advise_phase)phase) > 0)
			all += out->times[phase].ns * advise_tokens(a, (enum advise_phase)phase);
	out->times[ADVISE_ALL] = time_of(a, ADVISE_ALL, all, weight);
}

static void fill_measured(const struct advise *a, const struct point *p, struct advise_answer *out)
{
	double weight = 1 / (double)p->runs;

	out->runs = p->runs;
	for (int phase = 0; phase < ADVISE_PHASES; phase++) {
		double sum = 0;
		for (size_t i = 0; i < p->logs[phase].count; i++)
			sum += p->logs[phase].items[i];
		size_t n = p->logs[phase].count;
		out->times[phase] = time_of(a, phase, n ? exp(sum / (double)n) : 0, weight);
	}
	fill_all(a, out, weight);
}

static void fill_predicted(const struct advise *a, const struct point *base,
	const struct between *axes, const size_t *at, struct advise_answer *out)
{
	double ns[ADVISE_PHASES] = {0}, weight = 0, changed = 0;

	for (size_t i = 0; i < a->bricks.count; i++)
		ns[a->bricks.items[i].phase] += brick_ns(a, base, axes, i);
	for (size_t i = 0; i < a->axis_count; i++) {
		if (at[i] == a->base[i])
			continue;
		changed++;
		weight += 1 / fmin((double)axes[i].low->runs, (double)axes[i].high->runs);
	}
	weight += (changed - 1) * (changed - 1) / (double)base->runs;
	for (int phase = 0; phase < ADVISE_PHASES; phase++)
		out->times[phase] = time_of(a, phase, ns[phase], weight);
	fill_all(a, out, weight);
}

int advise_ask(const struct advise *a, const size_t *at, struct advise_answer *out)
{
	const struct point *own = find_point(a, at), *base = find_point(a, a->base);
	SCOPED size_t *scratch = calloc(a->axis_count + 1, sizeof(*scratch));
	SCOPED struct between *axes = calloc(a->axis_count + 1, sizeof(*axes));
	bool is_known = base && base->runs;

	*out = (struct advise_answer){0};
	for (int goal = 0; goal < ADVISE_GOALS; goal++)
		out->times[goal] = (struct advise_time){NAN, NAN, NAN};
	if (!scratch || !axes)
		return -ENOMEM;
	if (own && own->runs) {
		fill_measured(a, own, out);
		return 0;
	}
	for (size_t i = 0; i < a->axis_count && is_known; i++)
		is_known = find_between(a, scratch, i, at[i], &axes[i]);
	if (is_known)
		fill_predicted(a, base, axes, at, out);
	return 0;
}

void advise_plan(const struct advise_axis *axis, size_t base, bool *is_measured)
{
	size_t least = base, most = base, middle = base;

	for (size_t i = 0; i < axis->count; i++) {
		is_measured[i] = !axis->numbers || i == base;
		if (!axis->numbers)
			continue;
		least = axis->numbers[i] < axis->numbers[least] ? i : least;
		most = axis->numbers[i] > axis->numbers[most] ? i : most;
	}
	if (!axis->numbers)
		return;
	is_measured[least] = is_measured[most] = true;
	double goal = (coordinate(axis, least) + coordinate(axis, most)) / 2;
	for (size_t i = 0; i < axis->count; i++)
		if (fabs(coordinate(axis, i) - goal) < fabs(coordinate(axis, middle) - goal))
			middle = i;
	is_measured[middle] = true;
}
