/* SPDX-License-Identifier: Apache-2.0 */
/*
 * First the steps are chosen and sorted by series and context; then one walk adds the times of
 * bricks into a table of steps and bricks. Slopes are Theil's, of independent pairs: the steps of a
 * series, sorted by context, are cut in halves, and the i-th step of one half is paired with the
 * i-th of the other. So there is one slope for each pair, outliers do not move the median, and the
 * interval follows from the ranks of a median.
 */
#include "analysis/scaling/scaling.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/order.h"
#include "brick/error.h"
#include "brick/registry.h"

enum {
	MAX_CHOSEN = 4096, /* steps of a series that are looked at, evenly over its contexts */
	MIN_PAIR = 8,	   /* contexts of a pair differ by so many tokens at least ... */
	PAIR_SHARE = 8,	   /* ... and by an eighth of the span of contexts */
};

/* A step and its series. */
struct point {
	uint32_t process, model, batch, step;
	bool is_counted; /* as in scaling_series */
	double context;
};

COMPARATOR(by_series, struct point,
	ORDER(x->process, y->process) ?: ORDER(x->model, y->model) ?: ORDER(x->batch, y->batch) ?:
		ORDER(x->context, y->context) ?: ORDER(x->step, y->step))

static bool is_same_series(const struct point *a, const struct point *b)
{
	return a->process == b->process && a->model == b->model && a->batch == b->batch;
}

/*
 * Columns of a step's row: bricks on the thread, bricks on devices, the FFN on either, the whole
 * step.
 */
struct scaling_maker {
	const struct run *run;
	const struct step_index *index;
	struct scaling *made;
	struct point *points;
	size_t count;
	uint32_t *rows; /* [step_count]: index of the step's row + 1; 0: it has no row */
	double *table;	/* [rows][columns], ns */
	size_t columns;
	uint32_t wait_brick; /* brick_count: the run has none */
	double *x, *y, *scratch;
	size_t *by_time;
};

enum { FFN = 0, FFN_ON_DEVICE = 1, WHOLE = 2, SUMS = 3 };

static size_t sum_column(const struct scaling_maker *m, int which)
{
	return m->columns - SUMS + (size_t)which;
}

/* What a step's tokens attend to, from the recorded sequences. */
struct attended {
	uint64_t tokens, prompt;
	double context;	 /* sum over the step's tokens */
	bool is_unknown; /* the position of a sequence is not known */
};

static void attend(const struct scaling_maker *m, struct attended *steps)
{
	for (size_t i = 0; i < m->run->sequence_event_count; i++) {
		const struct run_sequence_event *e = &m->run->sequence_events[i];
		if (e->event != BRICK_SEQUENCE_TOKENS || e->step >= m->run->step_count)
			continue;
		struct attended *a = &steps[e->step];
		double n = e->tokens;
		a->tokens += e->tokens;
		a->prompt += e->prompt;
		a->is_unknown |= e->position < 0;
		a->context += n * e->position + n * (n + 1) / 2;
	}
}

/*
 * A process's context where no sequence is recorded; a prompt after a decoding step begins it anew.
 */
struct counted {
	uint64_t context; /* tokens evaluated so far */
	bool has_made;	  /* a step decoded since the prompt */
};

static struct counted *counter_of(const struct scaling_maker *m, struct counted *all, uint32_t step)
{
	return &all[m->run->lanes[m->run->steps[step].lane].process];
}

static bool scaling_count_tokens(struct counted *c, const struct run_step *s)
{
	bool decodes = s->phase == BRICK_PHASE_DECODE;

	if (s->phase == BRICK_PHASE_WARM_UP || s->is_draft)
		return false;
	if (!decodes && c->has_made)
		*c = (struct counted){0};
	c->has_made |= decodes;
	c->context += s->tokens;
	return decodes && s->tokens == 1;
}

static void scaling_choose_steps(
	struct scaling_maker *m, const struct attended *steps, struct counted *counters)
{
	const struct run *run = m->run;
	bool has_sequences = false;

	for (size_t i = 0; i < run->step_count; i++)
		has_sequences |= steps[i].tokens > 0;
	for (uint32_t i = 0; i < run->step_count; i++) {
		const struct run_step *s = &run->steps[i];
		const struct attended *a = &steps[i];
		struct counted *c = counter_of(m, counters, i);
		if (!step_index_is_evaluated(m->index, run, i))
			continue;
		bool can_count = !has_sequences && scaling_count_tokens(c, s);
		if (s->phase != BRICK_PHASE_DECODE || s->is_draft || s->drafts || s->checked)
			continue;
		bool is_known =
			a->tokens && !a->prompt && !a->is_unknown && a->tokens <= UINT32_MAX;
		if (!is_known && !can_count) {
			m->made->unknown_steps++;
			continue;
		}
		m->points[m->count++] = (struct point){.process = run->lanes[s->lane].process,
			.model = s->model,
			.batch = is_known ? (uint32_t)a->tokens : 1,
			.step = i,
			.is_counted = !is_known,
			.context = is_known ? a->context / (double)a->tokens : (double)c->context};
	}
}

static int choose_steps(struct scaling_maker *m)
{
	size_t steps = m->run->step_count;
	struct attended *attended = calloc(steps + 1, sizeof(*attended));
	struct counted *counters = calloc(m->run->process_count + 1, sizeof(*counters));
	int rc = attended && counters ? 0 : -ENOMEM;

	m->points = calloc(steps + 1, sizeof(*m->points));
	m->rows = calloc(steps + 1, sizeof(*m->rows));
	if (!m->points || !m->rows)
		rc = -ENOMEM;
	if (rc == 0) {
		attend(m, attended);
		scaling_choose_steps(m, attended, counters);
		if (m->count)
			qsort(m->points, m->count, sizeof(*m->points), by_series);
		else
			rc = BRICK_ENOTRECORDED;
	}
	free(attended);
	free(counters);
	return rc;
}

/* Makes the series; keeps at most MAX_CHOSEN points of each, and gives these points rows. */
static int scaling_thin(struct scaling_maker *m)
{
	size_t count = 0, series = 0;

	m->made->series = calloc(m->count, sizeof(*m->made->series));
	if (!m->made->series)
		return -ENOMEM;
	for (size_t first = 0, end; first < m->count; first = end) {
		for (end = first; end < m->count; end++)
			if (!is_same_series(&m->points[end], &m->points[first]))
				break;
		const struct point p = m->points[first];
		size_t n = end - first, kept = n < MAX_CHOSEN ? n : MAX_CHOSEN;
		m->made->series[series++] = (struct scaling_series){.process = p.process,
			.model = p.model,
			.batch = p.batch,
			.is_counted = p.is_counted,
			.steps = (uint32_t)n,
			.shortest = p.context,
			.longest = m->points[end - 1].context};
		for (size_t i = 0; i < kept; i++) {
			m->points[count] = m->points[first + i * n / kept];
			m->rows[m->points[count].step] = (uint32_t)count + 1;
			count++;
		}
	}
	m->count = count;
	m->made->count = series;
	return 0;
}

static bool is_of_ffn(const struct run *run, uint32_t brick)
{
	const char *category = run->categories[run->bricks[brick].category].name;

	return !strcmp(category, brick_category_name(BRICK_CATEGORY_FFN));
}

static void scaling_add(
	struct scaling_maker *m, double *row, uint32_t brick, bool on_device, double ns)
{
	row[brick + (on_device ? m->run->brick_count : 0)] += ns;
	if (is_of_ffn(m->run, brick))
		row[sum_column(m, on_device ? FFN_ON_DEVICE : FFN)] += ns;
}

static void scaling_on_end(void *context, const struct walk_frame *frame, unsigned depth)
{
	struct scaling_maker *m = context;
	bool in_wall = frame->scope == WALK_IN_STEP || frame->scope == WALK_AFTER;

	(void)depth;
	if (!in_wall || frame->step == RUN_NONE || !m->rows[frame->step])
		return;
	double *row = m->table + (m->rows[frame->step] - 1) * m->columns;
	double self = (double)(frame->counted.self_ns - frame->off.preempted_ns);
	double wait = (double)(frame->counted.inner_ns + frame->counted.wait_ns) -
		      (double)(frame->inner_off.preempted_ns + frame->wait_off.preempted_ns);
	if (frame->counted.self_ns < frame->off.preempted_ns)
		self = 0;
	if (wait < 0)
		wait = 0;
	if (m->index->kinds[frame->brick] != BRICK_KIND_STEP)
		scaling_add(m, row, frame->brick, false, self);
	if (m->wait_brick < m->run->brick_count)
		scaling_add(m, row, m->wait_brick, false, wait);
	row[sum_column(m, WHOLE)] += self + wait;
}

static void scaling_add_commands(struct scaling_maker *m)
{
	const struct run *run = m->run;

	for (size_t i = 0; i < run->command_count; i++) {
		const struct run_command *c = &run->commands[i];
		const struct run_sample *s = run_command_sample(run, c);
		uint32_t step = step_index_of_command(m->index, run, c);
		if (step != RUN_NONE && m->rows[step])
			scaling_add(m, m->table + (m->rows[step] - 1) * m->columns,
				run->sites[s->site].brick, true, (double)(s->end_ns - s->begin_ns));
	}
}

static double middle_of(const double *sorted, size_t n)
{
	return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

/* The median of n values, which it sorts, with a 95 % interval that is `wider` times as wide in
 * ranks. */
static struct scaling_value scaling_median_of(double *values, size_t n, double wider)
{
	qsort(values, n, sizeof(*values), order_doubles);
	double spread = 0.98 * sqrt((double)n) * wider, middle = (double)n / 2;
	double low = floor(middle - spread) - 1, high = ceil(middle + spread);

	return (struct scaling_value){middle_of(values, n), values[low < 0 ? 0 : (size_t)low],
		values[high > (double)(n - 1) ? n - 1 : (size_t)high]};
}

/*
 * The factor by which noise that lasts over several steps widens an interval: then n steps say less
 * than n independent ones. It follows from how often a step and the next lie on the same side of
 * the line.
 */
static double widening(struct scaling_maker *m, size_t n, double slope, double at)
{
	size_t same = 0, pairs = 0;

	for (size_t i = 1; i < n; i++) {
		double a = m->y[m->by_time[i - 1]] - slope * m->x[m->by_time[i - 1]] - at;
		double b = m->y[m->by_time[i]] - slope * m->x[m->by_time[i]] - at;
		pairs += a * b != 0;
		same += a * b > 0;
	}
	if (!pairs)
		return 1;
	double alike = sin(M_PI / 2 * (2 * (double)same / (double)pairs - 1));
	if (alike <= 0)
		return 1;
	return alike > 0.98 ? 10 : sqrt((1 + alike) / (1 - alike));
}

/* Puts the slopes of n steps from `first` on into scratch; returns their number. */
static size_t slopes(struct scaling_maker *m, size_t first, size_t n)
{
	const double *x = m->x + first, *y = m->y + first;
	double span = x[n - 1] - x[0], least = fmax(MIN_PAIR, span / PAIR_SHARE);
	size_t half = n / 2, count = 0;

	for (size_t i = 0; i < half; i++) {
		size_t k = i + n - half;
		if (x[k] - x[i] >= least)
			m->scratch[count++] = (y[k] - y[i]) / (x[k] - x[i]);
	}
	return count;
}

/* True if the intervals of the slopes of both halves of n steps do not overlap. */
static bool is_bent(struct scaling_maker *m, size_t n, double wider)
{
	size_t half = n / 2, low = slopes(m, 0, half);

	if (low < SCALING_MIN_STEPS)
		return false;
	struct scaling_value before = scaling_median_of(m->scratch, low, wider);
	size_t high = slopes(m, half, n - half);
	if (high < SCALING_MIN_STEPS)
		return false;
	struct scaling_value behind = scaling_median_of(m->scratch, high, wider);
	return before.high < behind.low || behind.high < before.low;
}

/* Fills in the line's points: medians of neighbours, equally many for each. */
static void scaling_add_points(struct scaling_maker *m, size_t n, struct scaling_line *line)
{
	size_t count = n < SCALING_POINTS ? n : SCALING_POINTS;

	for (size_t i = 0; i < count; i++) {
		size_t first = i * n / count, end = (i + 1) * n / count;
		memcpy(m->scratch, m->y + first, (end - first) * sizeof(*m->y));
		qsort(m->scratch, end - first, sizeof(*m->scratch), order_doubles);
		line->points[i] = (struct scaling_point){
			middle_of(m->x + first, end - first), middle_of(m->scratch, end - first)};
	}
	line->point_count = (uint32_t)count;
}

/* Draws a line through m->x, in ascending order, and m->y. */
static struct scaling_line scaling_draw(struct scaling_maker *m, size_t n)
{
	struct scaling_line line = {0};

	memcpy(m->scratch, m->y, n * sizeof(*m->y));
	line.median_ns = scaling_median_of(m->scratch, n, 1).value;
	scaling_add_points(m, n, &line);
	if (n < SCALING_MIN_STEPS || m->x[n - 1] < SCALING_MIN_SPAN * m->x[0])
		return line;
	size_t pairs = slopes(m, 0, n);
	if (pairs < SCALING_MIN_STEPS / 2)
		return line;
	double slope = scaling_median_of(m->scratch, pairs, 1).value;
	for (size_t i = 0; i < n; i++)
		m->scratch[i] = m->y[i] - slope * m->x[i];
	double wider = widening(m, n, slope, scaling_median_of(m->scratch, n, 1).value);
	pairs = slopes(m, 0, n);
	line.slope = scaling_median_of(m->scratch, pairs, wider);
	line.middle = middle_of(m->x, n);
	for (size_t i = 0; i < n; i++)
		m->scratch[i] = m->y[i] - slope * (m->x[i] - line.middle);
	line.at = scaling_median_of(m->scratch, n, wider);
	line.bends = is_bent(m, n, wider);
	line.is_known = true;
	return line;
}

static struct scaling_line draw_column(
	struct scaling_maker *m, const struct point *points, size_t n, size_t column)
{
	for (size_t i = 0; i < n; i++) {
		m->x[i] = points[i].context;
		m->y[i] = m->table[(m->rows[points[i].step] - 1) * m->columns + column];
	}
	return scaling_draw(m, n);
}

struct timed {
	uint32_t step;
	size_t at;
};

COMPARATOR(by_step, struct timed, ORDER(x->step, y->step))

static int order_by_time(struct scaling_maker *m, const struct point *points, size_t n)
{
	struct timed *list = calloc(n, sizeof(*list));

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		list[i] = (struct timed){points[i].step, i};
	qsort(list, n, sizeof(*list), by_step);
	for (size_t i = 0; i < n; i++)
		m->by_time[i] = list[i].at;
	free(list);
	return 0;
}

COMPARATOR(scaling_by_length, struct scaling_brick,
	ORDER(y->line.median_ns, x->line.median_ns) ?: ORDER(x->brick, y->brick) ?:
		ORDER(x->on_device, y->on_device))

/* Bricks without time in most steps have no line: they are left out. */
static int scaling_fill_series(
	struct scaling_maker *m, struct scaling_series *s, const struct point *points, size_t n)
{
	size_t bricks = m->run->brick_count;
	uint32_t attention = RUN_NONE;

	s->bricks = calloc(2 * bricks + 1, sizeof(*s->bricks));
	if (!s->bricks || order_by_time(m, points, n) < 0)
		return -ENOMEM;
	s->step = draw_column(m, points, n, sum_column(m, WHOLE));
	for (size_t i = 0; i < 2 * bricks; i++) {
		struct scaling_brick b = {
			.brick = (uint32_t)(i % bricks), .on_device = i >= bricks};
		b.line = draw_column(m, points, n, i);
		if (b.line.median_ns > 0)
			s->bricks[s->brick_count++] = b;
	}
	qsort(s->bricks, s->brick_count, sizeof(*s->bricks), scaling_by_length);
	for (uint32_t b = 0; b < bricks; b++)
		if (m->run->bricks[b].well_known == BRICK_FLASH_ATTENTION)
			attention = b;
	while (s->attention < s->brick_count && s->bricks[s->attention].brick != attention)
		s->attention++;
	struct scaling_line host = draw_column(m, points, n, sum_column(m, FFN));
	struct scaling_line device = draw_column(m, points, n, sum_column(m, FFN_ON_DEVICE));
	s->ffn_on_device = s->attention < s->brick_count ? s->bricks[s->attention].on_device
							 : device.median_ns > host.median_ns;
	s->ffn = s->ffn_on_device ? device : host;
	if (s->ffn.is_known && s->ffn.median_ns > 0 && !scaling_is_level(&s->ffn))
		s->drift = s->ffn.slope.value * (s->longest - s->shortest) / s->ffn.median_ns;
	return 0;
}

static int scaling_fill(struct scaling_maker *m)
{
	size_t first = 0;

	m->x = calloc(MAX_CHOSEN, sizeof(*m->x));
	m->y = calloc(MAX_CHOSEN, sizeof(*m->y));
	m->scratch = calloc(MAX_CHOSEN, sizeof(*m->scratch));
	m->by_time = calloc(MAX_CHOSEN, sizeof(*m->by_time));
	if (!m->x || !m->y || !m->scratch || !m->by_time)
		return -ENOMEM;
	for (size_t i = 0; i < m->made->count; i++) {
		struct scaling_series *s = &m->made->series[i];
		size_t n = s->steps < MAX_CHOSEN ? s->steps : MAX_CHOSEN;
		int rc = scaling_fill_series(m, s, &m->points[first], n);
		if (rc < 0)
			return rc;
		first += n;
	}
	return 0;
}

static void maker_destroy(struct scaling_maker *m)
{
	if (!m)
		return;
	free(m->points);
	free(m->rows);
	free(m->table);
	free(m->x);
	free(m->y);
	free(m->scratch);
	free(m->by_time);
	free(m);
}

static int on_finish(void *context)
{
	struct scaling_maker *m = context;

	if (m->run->command_count)
		scaling_add_commands(m);
	int rc = scaling_fill(m);
	m->made->maker = NULL;
	maker_destroy(m);
	return rc;
}

int scaling_create_in(struct scaling **out, struct walk *walk)
{
	static const struct walk_ops ops = {.end = scaling_on_end, .finish = on_finish};
	struct scaling_maker *m = calloc(1, sizeof(*m));

	*out = calloc(1, sizeof(**out));
	if (!m || !*out) {
		free(m);
		return -ENOMEM;
	}
	*m = (struct scaling_maker){.run = walk->run, .index = walk->index, .made = *out};
	(*out)->maker = m;
	int rc = choose_steps(m);
	if (rc == 0)
		rc = scaling_thin(m);
	if (rc < 0)
		return rc;
	m->columns = 2 * m->run->brick_count + SUMS;
	m->wait_brick = walk_wait_brick(m->run);
	m->table = calloc(m->count * m->columns, sizeof(*m->table));
	if (!m->table)
		return -ENOMEM;
	walk_join(walk, &ops, m);
	return 0;
}

int scaling_create(struct scaling **out, const struct run *run, const struct step_index *index)
{
	struct scaling *made;
	struct walk walk;

	walk_init(&walk, run, index);
	int rc = scaling_create_in(&made, &walk);
	if (rc == 0)
		rc = walk_run(&walk);
	if (rc == 0)
		*out = made;
	else
		scaling_destroy(made);
	return rc;
}

void scaling_destroy(struct scaling *scaling)
{
	for (size_t i = 0; scaling && i < scaling->count; i++)
		free(scaling->series[i].bricks);
	if (scaling) {
		free(scaling->series);
		maker_destroy(scaling->maker);
	}
	free(scaling);
}

struct scaling_value scaling_at(const struct scaling_line *line, double context)
{
	const struct scaling_value *at = &line->at, *slope = &line->slope;
	double away = context - line->middle;

	return (struct scaling_value){fmax(0, at->value + slope->value * away),
		fmax(0, at->low + fmin(slope->low * away, slope->high * away)),
		fmax(0, at->high + fmax(slope->low * away, slope->high * away))};
}
