/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each setting is represented by its median run, chosen for each phase apart, so that one disturbed
 * run changes nothing. Intervals come from the median difference between runs of the same setting.
 */
#include "analysis/advise/advise.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/statistics/statistics.h"

enum { FREEDOM_MIN = 4 }; /* degrees of freedom; where runs give fewer, the rest is assumed */
static const double advise_processes = 0.05; /* assumed difference of identical runs, a share */
static const double advise_tails = 0.05;

/* A brick in one phase. */
struct brick {
	enum advise_phase phase;
	char *name;
};

/* One run of a setting. */
struct sample {
	ARRAY(double) bricks;	 /* by advise.bricks: ns of a token; missing or 0: not in the run */
	double ns[ADVISE_GOALS]; /* of a token, or of all; 0: the run has no such phase */
};

/* A setting that was measured. */
struct point {
	size_t *at; /* [axis_count] */
	ARRAY(struct sample) runs;
};

struct advise {
	struct advise_axis *axes;
	size_t axis_count;
	size_t *base;
	ARRAY(struct brick) bricks;
	ARRAY(struct point) points;
	double tokens[ADVISE_PHASES]; /* of the base: sums over its runs */
};

const char *advise_goal_name(enum advise_phase goal)
{
	static const char *const names[] = {"prefill", "decode", "mixed", "all"};

	return names[goal];
}

static int advise_copy(void *to, const void *from, size_t bytes)
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
	int rc = advise_copy(&a->axes, axes, a->axis_count * sizeof(*axes));

	for (size_t i = 0; rc == 0 && i < a->axis_count; i++)
		a->axes[i].numbers = NULL;
	for (size_t i = 0; rc == 0 && i < a->axis_count; i++)
		if (axes[i].numbers)
			rc = advise_copy(&a->axes[i].numbers, axes[i].numbers,
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
	if (advise_copy(&a->base, base, axis_count * sizeof(*base)) || copy_axes(a, axes)) {
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
		for (size_t k = 0; k < p->runs.count; k++)
			array_fini(&p->runs.items[k].bricks);
		array_fini(&p->runs);
		free(p->at);
	}
	array_fini(&a->bricks);
	array_fini(&a->points);
	free(a->base);
	free(a->axes);
	free(a);
}

/* Points. */

static bool advise_is_at(const struct advise *a, const struct point *point, const size_t *at)
{
	return !memcmp(point->at, at, a->axis_count * sizeof(*at));
}

static struct point *find_point(const struct advise *a, const size_t *at)
{
	for (size_t i = 0; i < a->points.count; i++)
		if (advise_is_at(a, &a->points.items[i], at))
			return &a->points.items[i];
	return NULL;
}

static struct point *make_point(struct advise *a, const size_t *at)
{
	struct point point = {0};
	struct point *found = find_point(a, at);

	if (found)
		return found;
	if (advise_copy(&point.at, at, a->axis_count * sizeof(*at)))
		return NULL;
	if (array_push(&a->points, point)) {
		free(point.at);
		return NULL;
	}
	return &a->points.items[a->points.count - 1];
}

/* Returns the brick's index; -ENOMEM. */
static int advise_brick_of(struct advise *a, enum advise_phase phase, const char *name)
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

static double *room_of(struct sample *sample, size_t brick)
{
	while (sample->bricks.count <= brick)
		if (array_push(&sample->bricks, 0.0))
			return NULL;
	return &sample->bricks.items[brick];
}

static int advise_phase_of(const char *name)
{
	for (int phase = 0; phase < ADVISE_PHASES; phase++)
		if (!strcmp(name, advise_goal_name((enum advise_phase)phase)))
			return phase;
	return -1;
}

static int advise_add_part(struct advise *a, struct sample *sample, const struct history_part *part)
{
	int phase = advise_phase_of(part->phase);
	bool is_brick = !strcmp(part->kind, "brick") || !strcmp(part->kind, "unattributed");

	if (phase < 0 || !is_brick || !part->typical_tokens)
		return 0;
	int brick = advise_brick_of(a, (enum advise_phase)phase, part->name);
	double *ns = brick < 0 ? NULL : room_of(sample, (size_t)brick);
	if (!ns)
		return -ENOMEM;
	*ns += (double)part->typical_ns / (double)part->typical_tokens;
	return 0;
}

/* The time of a token in a phase of a run; 0: the run has no such phase. */
static double step_ns(const struct history_run *run, enum advise_phase phase, double *tokens)
{
	const struct history_part *step = history_run_step(run, advise_goal_name(phase));

	*tokens = step ? (double)step->tokens : 0;
	return step && step->typical_tokens
		       ? (double)step->typical_ns / (double)step->typical_tokens
		       : 0;
}

static void fill_whole(
	struct advise *a, struct sample *sample, const struct history_run *run, bool is_base)
{
	double tokens;

	for (int phase = 0; phase < ADVISE_PHASES; phase++) {
		sample->ns[phase] = step_ns(run, (enum advise_phase)phase, &tokens);
		sample->ns[ADVISE_ALL] += sample->ns[phase] * tokens;
		a->tokens[phase] += is_base ? tokens : 0;
	}
}

int advise_add(struct advise *a, const size_t *at, const struct history_run *run)
{
	struct point *point = make_point(a, at);
	struct sample sample = {0};
	int rc = point ? 0 : -ENOMEM;

	for (size_t i = 0; i < run->parts.count && rc == 0; i++)
		rc = advise_add_part(a, &sample, &run->parts.items[i]);
	if (rc == 0)
		rc = array_reserve(&point->runs, 1);
	if (rc < 0) {
		array_fini(&sample.bricks);
		return rc;
	}
	fill_whole(a, &sample, run, advise_is_at(a, point, a->base));
	return array_push(&point->runs, sample);
}

double advise_tokens(const struct advise *a, enum advise_phase phase)
{
	const struct point *base = find_point(a, a->base);

	return base && base->runs.count ? a->tokens[phase] / (double)base->runs.count : 0;
}

/* Prediction. */

/* The setting's median run for a goal, the faster of two; NULL: no run has that phase. */
static const struct sample *typical(const struct point *point, int goal)
{
	size_t have = 0;

	for (size_t i = 0; i < point->runs.count; i++)
		have += point->runs.items[i].ns[goal] > 0;
	for (size_t i = 0; i < point->runs.count; i++) {
		const struct sample *one = &point->runs.items[i];
		size_t before = 0;
		for (size_t k = 0; k < point->runs.count; k++) {
			double ns = point->runs.items[k].ns[goal];
			before += ns > 0 && (ns < one->ns[goal] || (ns == one->ns[goal] && k < i));
		}
		if (one->ns[goal] > 0 && before == (have - 1) / 2)
			return one;
	}
	return NULL;
}

static double advise_brick_at(const struct advise *a, const struct point *point, size_t brick)
{
	const struct sample *run = typical(point, a->bricks.items[brick].phase);

	return run && brick < run->bricks.count ? run->bricks.items[brick] : 0;
}

/* The base with another value on one axis; NULL: not measured. */
static const struct point *advise_star(
	const struct advise *a, size_t *scratch, size_t axis, size_t value)
{
	memcpy(scratch, a->base, a->axis_count * sizeof(*scratch));
	scratch[axis] = value;
	const struct point *point = find_point(a, scratch);
	return point && point->runs.count ? point : NULL;
}

static double coordinate(const struct advise_axis *axis, size_t value)
{
	for (size_t i = 0; i < axis->count; i++)
		if (!(axis->numbers[i] > 0))
			return axis->numbers[value];
	return 1 / axis->numbers[value];
}

/* The measured points on both sides of a value on an axis, and its position between them. */
struct between {
	const struct point *low, *high;
	double part; /* 0: low, 1: high */
};

static bool advise_find_between(
	const struct advise *a, size_t *scratch, size_t axis, size_t value, struct between *out)
{
	const struct advise_axis *own = &a->axes[axis];
	double low = -INFINITY, high = INFINITY;

	*out = (struct between){.low = advise_star(a, scratch, axis, value)};
	out->high = out->low;
	if (out->low || !own->numbers)
		return out->low != NULL;
	double x = coordinate(own, value);
	for (size_t i = 0; i < own->count; i++) {
		const struct point *point = advise_star(a, scratch, axis, i);
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

static double brick_ns(
	const struct advise *a, const struct point *base, const struct between *axes, size_t brick)
{
	double at_base = advise_brick_at(a, base, brick), ratio = 1, sum = at_base;
	bool is_everywhere = at_base > 0;

	for (size_t i = 0; i < a->axis_count; i++) {
		const struct between *b = &axes[i];
		double ns = (1 - b->part) * advise_brick_at(a, b->low, brick) +
			    b->part * advise_brick_at(a, b->high, brick);
		is_everywhere &= ns > 0;
		ratio *= at_base > 0 ? ns / at_base : 1;
		sum += ns - at_base;
	}
	return is_everywhere ? at_base * ratio : fmax(sum, 0);
}

/* Intervals. */

/* Differences between runs of the same setting, each once; how many of the runs are repeated. */
static size_t differences(const struct advise *a, int goal, double *out, size_t *repeated)
{
	size_t n = 0;

	*repeated = 0;
	for (size_t i = 0; i < a->points.count; i++) {
		const struct point *p = &a->points.items[i];
		size_t have = 0;
		for (size_t k = 0; k < p->runs.count; k++) {
			double ns = p->runs.items[k].ns[goal];
			for (size_t m = 0; m < k && ns > 0; m++)
				if (p->runs.items[m].ns[goal] > 0)
					out[n++] = fabs(log(ns / p->runs.items[m].ns[goal]));
			have += ns > 0;
		}
		*repeated += have > 1 ? have - 1 : 0;
	}
	return n;
}

/* The standard deviation of the logarithm of a single run. -ENOMEM. */
static int advise_spread_of(const struct advise *a, int goal, double *spread, unsigned *freedom)
{
	static const double normal = 0.953872; /* the median difference of two, in sigmas */
	static const double efficiency = 0.4;  /* of a median against a mean of squares */
	size_t pairs = 0, repeated;

	for (size_t i = 0; i < a->points.count; i++)
		pairs += a->points.items[i].runs.count * a->points.items[i].runs.count / 2;
	SCOPED double *values = calloc(pairs + 1, sizeof(*values));
	if (!values)
		return -ENOMEM;
	size_t n = differences(a, goal, values, &repeated);
	*spread = n ? statistics_median(values, n) / normal : advise_processes;
	*freedom = (unsigned)(efficiency * (double)repeated);
	if (*freedom < FREEDOM_MIN) {
		double squares = *freedom * *spread * *spread +
				 (FREEDOM_MIN - *freedom) * advise_processes * advise_processes;
		*spread = sqrt(squares / FREEDOM_MIN);
		*freedom = FREEDOM_MIN;
	}
	return 0;
}

/* The variance of the median of n runs, in units of the variance of one. */
static double advise_weight_of(const struct point *point)
{
	return point->runs.count < 2 ? 1 : 1.4 / (double)point->runs.count;
}

struct asking {
	const struct advise *advise;
	struct advise_answer *out;
	double spread[ADVISE_GOALS];
	unsigned freedom[ADVISE_GOALS];
};

static void advise_set_time(struct asking *ask, int goal, double ns, double weight)
{
	double half = ask->spread[goal] * sqrt(weight) *
		      statistics_t_bound(advise_tails, ask->freedom[goal]);

	if (ns > 0)
		ask->out->times[goal] = (struct advise_time){ns, ns * exp(-half), ns * exp(half)};
}

/* All tokens, by the phases. */
static void set_all(struct asking *ask, double weight)
{
	double all = 0;

	for (int phase = 0; phase < ADVISE_PHASES; phase++) {
		double tokens = advise_tokens(ask->advise, (enum advise_phase)phase);
		all += tokens > 0 ? ask->out->times[phase].ns * tokens : 0;
	}
	advise_set_time(ask, ADVISE_ALL, all, weight);
}

static void set_measured(struct asking *ask, const struct point *point)
{
	ask->out->runs = point->runs.count;
	for (int phase = 0; phase < ADVISE_PHASES; phase++) {
		const struct sample *run = typical(point, phase);
		if (run)
			advise_set_time(ask, phase, run->ns[phase], advise_weight_of(point));
	}
	set_all(ask, advise_weight_of(point));
}

static void set_predicted(
	struct asking *ask, const struct point *base, const struct between *axes, const size_t *at)
{
	const struct advise *a = ask->advise;
	double ns[ADVISE_PHASES] = {0}, weight = 0, changed = 0;

	for (size_t i = 0; i < a->bricks.count; i++)
		ns[a->bricks.items[i].phase] += brick_ns(a, base, axes, i);
	for (size_t i = 0; i < a->axis_count; i++) {
		if (at[i] == a->base[i])
			continue;
		changed++;
		weight += fmax(advise_weight_of(axes[i].low), advise_weight_of(axes[i].high));
	}
	weight += (changed - 1) * (changed - 1) * advise_weight_of(base);
	for (int phase = 0; phase < ADVISE_PHASES; phase++)
		advise_set_time(ask, phase, ns[phase], weight);
	set_all(ask, weight);
}

static int predict(struct asking *ask, const struct point *base, const size_t *at)
{
	const struct advise *a = ask->advise;
	SCOPED size_t *scratch = calloc(a->axis_count + 1, sizeof(*scratch));
	SCOPED struct between *axes = calloc(a->axis_count + 1, sizeof(*axes));

	if (!scratch || !axes)
		return -ENOMEM;
	for (size_t i = 0; i < a->axis_count; i++)
		if (!advise_find_between(a, scratch, i, at[i], &axes[i]))
			return 0;
	set_predicted(ask, base, axes, at);
	return 0;
}

int advise_ask(const struct advise *a, const size_t *at, struct advise_answer *out)
{
	const struct point *own = find_point(a, at), *base = find_point(a, a->base);
	struct asking ask = {.advise = a, .out = out};
	int rc = 0;

	*out = (struct advise_answer){0};
	for (int goal = 0; goal < ADVISE_GOALS && rc == 0; goal++) {
		out->times[goal] = (struct advise_time){NAN, NAN, NAN};
		rc = advise_spread_of(a, goal, &ask.spread[goal], &ask.freedom[goal]);
	}
	if (rc < 0 || !base || !base->runs.count)
		return rc;
	if (!own || !own->runs.count)
		return predict(&ask, base, at);
	set_measured(&ask, own);
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
