/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums over the pieces of a GPU's time. A piece of a phase is cut at the begins of steps. What runs
 * at once is found by a sweep over begins and ends of commands.
 */
#include "analysis/devices/gpu_times.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/steps/step_times.h"
#include "base/order.h"
#include "base/scope.h"

/* Launching a kernel takes an operator some 10 us, and slow Python some 100. */
enum { GPU_GAP_NS = 500000 };

struct gpu_times_scope {
	const struct run *run;
	const struct step_index *index;
	int phase;
	uint32_t process;
	struct gpu_time *time;
	uint64_t (*idle_of_brick)[GPU_IDLE_CAUSES]; /* [brick_count] */
	/* the gap that pieces are taken of, so far: only work of the host is counted */
	uint64_t gap_end_ns, gap_ns;
	uint32_t gap; /* its number, from 1 on */
	/* [brick_count + 1]; the last: no brick */
	struct gpu_times_gap {
		uint64_t ns;	 /* in gaps that count */
		uint64_t gap_ns; /* in the gap of that number */
		uint32_t gap;
	} * gaps_of_brick;
};

/* The part of a time that is of the phase, in ns. */
static uint64_t gpu_times_part_ns(
	const struct gpu_times_scope *s, uint64_t begin_ns, uint64_t end_ns)
{
	const struct step_index *index = s->index;
	const struct run_step *steps = s->run->steps;
	uint32_t first = index->process_first[s->process];
	uint32_t end = index->process_first[s->process + 1];
	uint64_t ns = 0;

	if (s->phase < 0)
		return end_ns - begin_ns;
	uint32_t next =
		(uint32_t)BISECT(i, first, end, steps[index->by_process[i]].begin_ns <= begin_ns);
	for (uint64_t at_ns = begin_ns; at_ns < end_ns; next++) {
		uint64_t to_ns = next < end ? steps[index->by_process[next]].begin_ns : end_ns;
		to_ns = to_ns < end_ns ? to_ns : end_ns;
		if (next > first &&
			(int)step_phase_of(&steps[index->by_process[next - 1]]) == s->phase)
			ns += to_ns - at_ns;
		at_ns = to_ns;
	}
	return ns;
}

static void gpu_times_end_gap(struct gpu_times_scope *s)
{
	if (s->gap_ns >= GPU_GAP_NS) {
		s->time->gaps++;
		s->time->gaps_ns += s->gap_ns;
		for (uint32_t b = 0; b <= s->run->brick_count; b++)
			if (s->gaps_of_brick[b].gap == s->gap)
				s->gaps_of_brick[b].ns += s->gaps_of_brick[b].gap_ns;
	}
	s->gap_ns = 0;
	s->gap++;
}

static void gpu_times_take_idle(void *context, uint64_t begin_ns, uint64_t end_ns,
	enum gpu_idle_cause cause, uint32_t brick)
{
	struct gpu_times_scope *s = context;
	uint64_t ns = gpu_times_part_ns(s, begin_ns, end_ns);

	if (begin_ns != s->gap_end_ns)
		gpu_times_end_gap(s);
	s->gap_end_ns = end_ns;
	if (cause == GPU_IDLE_BETWEEN || cause == GPU_IDLE_WORK) {
		struct gpu_times_gap *of =
			&s->gaps_of_brick[brick == RUN_NONE ? s->run->brick_count : brick];
		of->gap_ns = of->gap == s->gap ? of->gap_ns + ns : ns;
		of->gap = s->gap;
		s->gap_ns += ns;
	}
	s->time->idle_ns += ns;
	s->time->idle_of_ns[cause] += ns;
	if (brick != RUN_NONE)
		s->idle_of_brick[brick][cause] += ns;
}

/* A command begins or ends. */
struct gpu_edge {
	uint64_t ns;
	uint32_t brick, work;
	int change;    /* 1 or -1 */
	bool is_asked; /* the command is of the phase */
};

COMPARATOR(gpu_edges_by_time, struct gpu_edge, ORDER(x->ns, y->ns) ?: ORDER(x->change, y->change))

/* What runs at some time. */
struct gpu_running {
	uint32_t *of_brick;  /* [brick_count]: commands that run */
	uint32_t *computing; /* [brick_count]: those of them that compute */
	uint32_t *asked;     /* [brick_count]: those of them that are of the phase */
	uint32_t *bricks;    /* [brick_count]: numbers of bricks that run, in any order */
	uint32_t brick_count, computing_bricks;
	uint32_t of_work[GPU_WORKS];
};

static void gpu_running_change(struct gpu_running *r, const struct gpu_edge *e)
{
	bool computes = e->work == GPU_COMPUTE;

	r->of_work[e->work] += (uint32_t)e->change;
	r->asked[e->brick] += e->is_asked ? (uint32_t)e->change : 0;
	if (e->change > 0) {
		if (!r->of_brick[e->brick]++)
			r->bricks[r->brick_count++] = e->brick;
		r->computing_bricks += computes && !r->computing[e->brick]++;
		return;
	}
	r->computing_bricks -= computes && !--r->computing[e->brick];
	if (--r->of_brick[e->brick])
		return;
	for (uint32_t i = 0; i < r->brick_count; i++)
		if (r->bricks[i] == e->brick) {
			r->bricks[i] = r->bricks[--r->brick_count];
			break;
		}
}

static void gpu_times_take_busy(struct gpu_times *t, const struct gpu_times_scope *s,
	const struct gpu *gpu, const struct gpu_running *r, uint64_t begin_ns, uint64_t end_ns)
{
	for (uint32_t i = 0; i < r->brick_count; i++) {
		uint32_t brick = r->bricks[i];
		if (r->asked[brick] && r->computing_bricks == (r->computing[brick] != 0))
			t->exposed_ns[brick] += end_ns - begin_ns;
	}
	begin_ns = begin_ns > gpu->begin_ns ? begin_ns : gpu->begin_ns;
	end_ns = end_ns < gpu->end_ns ? end_ns : gpu->end_ns;
	if (end_ns <= begin_ns)
		return;
	uint64_t ns = gpu_times_part_ns(s, begin_ns, end_ns);
	s->time->busy_ns += ns;
	s->time->alone_ns[r->of_work[GPU_COMPUTE]      ? GPU_COMPUTE
			  : r->of_work[GPU_COLLECTIVE] ? GPU_COLLECTIVE
						       : GPU_TRANSFER] += ns;
}

static bool gpu_times_is_asked(const struct gpu_times_scope *s, const struct gpu_span *span)
{
	if (s->phase < 0)
		return true;
	uint32_t step =
		span->command == RUN_NONE
			? step_index_at(s->index, s->run, span->lane, span->begin_ns)
			: step_index_of_command(s->index, s->run, &s->run->commands[span->command]);
	return step != RUN_NONE && (int)step_phase_of(&s->run->steps[step]) == s->phase;
}

static int gpu_times_sweep(
	struct gpu_times *t, const struct gpu_times_scope *s, const struct gpu *gpu)
{
	size_t bricks = s->run->brick_count + 1, count = 0;
	SCOPED struct gpu_edge *edges = malloc((2 * gpu->span_count + 1) * sizeof(*edges));
	SCOPED uint32_t *room = calloc(4 * bricks, sizeof(*room));
	struct gpu_running r = {.of_brick = room};

	if (!edges || !room)
		return -ENOMEM;
	r.computing = room + bricks;
	r.asked = r.computing + bricks;
	r.bricks = r.asked + bricks;
	for (size_t i = 0; i < gpu->span_count; i++) {
		const struct gpu_span *span = &gpu->spans[i];
		if (span->end_ns <= span->begin_ns)
			continue;
		struct gpu_edge edge = {
			span->begin_ns, span->brick, span->work, 1, gpu_times_is_asked(s, span)};
		edges[count++] = edge;
		edge.ns = span->end_ns;
		edge.change = -1;
		edges[count++] = edge;
	}
	qsort(edges, count, sizeof(*edges), gpu_edges_by_time);
	for (size_t i = 0; i < count; i++) {
		if (r.brick_count && edges[i].ns > edges[i - 1].ns)
			gpu_times_take_busy(t, s, gpu, &r, edges[i - 1].ns, edges[i].ns);
		gpu_running_change(&r, &edges[i]);
	}
	return 0;
}

int gpu_times_init(
	struct gpu_times *t, const struct run *run, const struct step_index *index, int phase)
{
	*t = (struct gpu_times){0};
	if (run->has_statistics_only)
		return 0;
	int rc = gpu_spans_init(&t->spans, run, index);
	if (rc < 0 || !t->spans.count)
		return rc;
	t->list = calloc(t->spans.count, sizeof(*t->list));
	t->exposed_ns = calloc(run->brick_count + 1, sizeof(*t->exposed_ns));
	SCOPED uint64_t(*idle_of_brick)[GPU_IDLE_CAUSES] =
		malloc((run->brick_count + 1) * sizeof(*idle_of_brick));
	SCOPED struct gpu_times_gap *gaps_of_brick =
		malloc((run->brick_count + 1) * sizeof(*gaps_of_brick));
	rc = t->list && t->exposed_ns && idle_of_brick && gaps_of_brick ? 0 : -ENOMEM;
	for (size_t i = 0; i < t->spans.count && rc == 0; i++) {
		const struct gpu *gpu = &t->spans.list[i];
		struct gpu_time *time = &t->list[i];
		struct gpu_times_scope scope = {.run = run,
			.index = index,
			.phase = phase,
			.process = gpu->process,
			.time = time,
			.idle_of_brick = idle_of_brick,
			.gaps_of_brick = gaps_of_brick,
			.gap = 1};
		memset(gaps_of_brick, 0, (run->brick_count + 1) * sizeof(*gaps_of_brick));
		memset(idle_of_brick, 0, (run->brick_count + 1) * sizeof(*idle_of_brick));
		time->commands = gpu->span_count;
		rc = gpu_times_sweep(t, &scope, gpu);
		if (rc == 0)
			rc = gpu_idle_explain(run, index, gpu, gpu_times_take_idle, &scope);
		gpu_times_end_gap(&scope);
		time->gaps_most = RUN_NONE;
		for (uint32_t b = 0; b <= run->brick_count; b++)
			if (gaps_of_brick[b].ns > time->gaps_most_ns) {
				time->gaps_most = b == run->brick_count ? RUN_NONE : b;
				time->gaps_most_ns = gaps_of_brick[b].ns;
			}
		time->wall_ns = time->busy_ns + time->idle_ns;
		for (size_t cause = 0; cause < GPU_IDLE_CAUSES; cause++) {
			time->most[cause] = RUN_NONE;
			for (uint32_t b = 0; b < run->brick_count; b++)
				if (idle_of_brick[b][cause] > time->most_ns[cause]) {
					time->most[cause] = b;
					time->most_ns[cause] = idle_of_brick[b][cause];
				}
		}
	}
	if (rc < 0)
		gpu_times_fini(t);
	return rc;
}

void gpu_times_fini(struct gpu_times *t)
{
	gpu_spans_fini(&t->spans);
	free(t->list);
	free(t->exposed_ns);
	*t = (struct gpu_times){0};
}

uint64_t gpu_idle_of_host_ns(const struct gpu_time *time)
{
	uint64_t ns = 0;

	for (int cause = 0; cause < GPU_IDLE_OF_HOST; cause++)
		ns += time->idle_of_ns[cause];
	return ns;
}
