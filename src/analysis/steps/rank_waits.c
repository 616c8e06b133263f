/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two passes: the first finds when each rank came to each collective, the second cuts its thread's
 * time into segments of one brick each. A rank that came last is held against the mean of the
 * others, between two collectives.
 */
#include "analysis/steps/rank_waits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/order.h"

/* A rank's collectives: of the lane that began most of them. */
struct rank_calls {
	int32_t rank;
	uint32_t process, lane;
	size_t count;
	uint32_t *samples; /* [count], on the lane */
};

struct rank_job {
	const struct run *run;
	struct rank_calls *ranks; /* by rank */
	uint32_t rank_count;
	size_t collectives; /* to which all came */
	uint64_t *over;	    /* [collectives]: when all had come to it and to those before */
	uint32_t *last;	    /* [collectives]: the rank that came last */
	double *longer;	    /* [rank_count][brick_count + 2]: by brick; in no brick; preempted */
	uint32_t wait, reduction; /* bricks */
	struct rank_waits_row *rows;
};

COMPARATOR(rank_order, struct rank_calls, ORDER(x->rank, y->rank))

static void rank_job_fini(struct rank_job *job)
{
	for (uint32_t i = 0; i < job->rank_count; i++)
		free(job->ranks[i].samples);
	free(job->ranks);
	free(job->over);
	free(job->last);
	free(job->longer);
	free(job->rows);
}

static bool is_collective(const struct run *run, const struct run_sample *sample)
{
	static const char functional[] = "_c10d_functional::";
	const char *name = run->sites[sample->site].operation;

	if (!name || strstr(name, "::send") || strstr(name, "::recv") || strstr(name, "::wait"))
		return false;
	return !strncmp(name, "c10d::", 6) || (!strncmp(name, functional, sizeof(functional) - 1) &&
						      name[sizeof(functional) - 1] != '_');
}

static int rank_find_calls(struct rank_calls *calls, const struct run *run)
{
	const struct run_lane *lane;

	for (uint32_t i = 0; i < run->lane_count; i++) {
		size_t count = 0;
		lane = &run->lanes[i];
		for (size_t k = 0; lane->process == calls->process && k < lane->sample_count; k++)
			count += is_collective(run, &lane->samples[k]);
		if (count > calls->count) {
			calls->count = count;
			calls->lane = i;
		}
	}
	calls->samples = malloc((calls->count + 1) * sizeof(*calls->samples));
	if (!calls->samples)
		return -ENOMEM;
	lane = &run->lanes[calls->lane];
	for (uint32_t k = 0, n = 0; n < calls->count; k++)
		if (is_collective(run, &lane->samples[k]))
			calls->samples[n++] = k;
	return 0;
}

/* Processes of a rank that has collectives, in the order of ranks. */
static int rank_job_find_ranks(struct rank_job *job)
{
	const struct run *run = job->run;

	job->ranks = calloc(run->process_count + 1, sizeof(*job->ranks));
	if (!job->ranks)
		return -ENOMEM;
	for (uint32_t i = 0; i < run->process_count; i++) {
		struct rank_calls *calls = &job->ranks[job->rank_count];
		if (run->processes[i].rank < 0 || run->processes[i].world < 2)
			continue;
		*calls = (struct rank_calls){.rank = run->processes[i].rank, .process = i};
		if (rank_find_calls(calls, run))
			return -ENOMEM;
		if (calls->count)
			job->rank_count++;
		else
			free(calls->samples);
	}
	qsort(job->ranks, job->rank_count, sizeof(*job->ranks), rank_order);
	return 0;
}

static const struct run_sample *rank_call(
	const struct rank_job *job, const struct rank_calls *calls, size_t n)
{
	return &job->run->lanes[calls->lane].samples[calls->samples[n]];
}

/* False unless each rank is one process, and all have the same collectives, as far as they got. */
static bool rank_job_agrees(struct rank_job *job)
{
	if (job->rank_count < 2)
		return false;
	job->collectives = job->ranks[0].count;
	for (uint32_t r = 1; r < job->rank_count; r++) {
		if (job->ranks[r].rank == job->ranks[r - 1].rank)
			return false;
		if (job->ranks[r].count < job->collectives)
			job->collectives = job->ranks[r].count;
	}
	for (uint32_t r = 1; r < job->rank_count; r++)
		for (size_t n = 0; n < job->collectives; n++)
			if (!text_is_same(job->run->sites[rank_call(job, &job->ranks[0], n)->site]
						  .operation,
				    job->run->sites[rank_call(job, &job->ranks[r], n)->site]
					    .operation))
				return false;
	return true;
}

static int rank_job_find_last(struct rank_job *job)
{
	job->over = malloc((job->collectives + 1) * sizeof(*job->over));
	job->last = calloc(job->collectives + 1, sizeof(*job->last));
	job->longer = calloc(job->rank_count * (job->run->brick_count + 2), sizeof(*job->longer));
	job->rows = calloc(job->rank_count, sizeof(*job->rows));
	if (!job->over || !job->last || !job->longer || !job->rows)
		return -ENOMEM;
	for (size_t n = 0; n < job->collectives; n++) {
		uint64_t latest = 0;
		for (uint32_t r = 0; r < job->rank_count; r++) {
			uint64_t begin = rank_call(job, &job->ranks[r], n)->begin_ns;
			if (begin > latest) {
				latest = begin;
				job->last[n] = r;
			}
		}
		job->over[n] = n && job->over[n - 1] > latest ? job->over[n - 1] : latest;
		job->rows[job->last[n]].last++;
	}
	return 0;
}

/* A rank waits for whoever was the last to come to the first collective that not all had come to.
 */
static void rank_add_wait(struct rank_job *job, uint32_t rank, uint64_t from, uint64_t to)
{
	struct rank_waits_row *row = &job->rows[rank];

	row->exposed_ns += to - from;
	for (size_t n = BISECT(i, 0, job->collectives, job->over[i] <= from);
		n < job->collectives && from < to; n++) {
		if (rank_call(job, &job->ranks[rank], n)->begin_ns >= to)
			return;
		uint64_t end = job->over[n] < to ? job->over[n] : to;
		if (job->last[n] != rank) {
			row->waited_ns += end - from;
			job->rows[job->last[n]].caused_ns += end - from;
		}
		from = end;
	}
}

/* Part of the time between two collectives, in one brick; RUN_NONE: in none. */
static void rank_add_segment(
	struct rank_job *job, uint32_t rank, uint64_t from, uint64_t to, uint32_t brick)
{
	const struct rank_calls *calls = &job->ranks[rank];
	const struct run_lane *lane = &job->run->lanes[calls->lane];
	size_t bricks = job->run->brick_count;

	if (brick != RUN_NONE && (brick == job->wait || brick == job->reduction)) {
		rank_add_wait(job, rank, from, to);
		return;
	}
	for (size_t n = BISECT(i, 0, job->collectives, rank_call(job, calls, i)->begin_ns <= from);
		n && n < job->collectives && from < to; n++) {
		uint64_t begin = rank_call(job, calls, n)->begin_ns;
		uint64_t end = begin < to ? begin : to;
		uint64_t preempted = run_off_cpu_between(lane, from, end).preempted_ns;
		double part = job->last[n] == rank ? 1 : -1.0 / (job->rank_count - 1);
		double *longer = &job->longer[job->last[n] * (bricks + 2)];
		longer[brick == RUN_NONE ? bricks : brick] +=
			part * (double)(end - from - preempted);
		longer[bricks + 1] += part * (double)preempted;
		from = end;
	}
}

static void rank_cut(struct rank_job *job, uint32_t rank)
{
	const struct run_lane *lane = &job->run->lanes[job->ranks[rank].lane];
	struct {
		uint64_t end_ns;
		uint32_t brick;
	} open[256] = {{UINT64_MAX, RUN_NONE}};
	size_t depth = 1;
	uint64_t at = lane->start_ns;

	for (size_t i = 0; i <= lane->sample_count; i++) {
		const struct run_sample *s = i < lane->sample_count ? &lane->samples[i] : NULL;
		uint64_t next = s ? s->begin_ns : lane->end_ns;
		while (depth > 1 && (!s || open[depth - 1].end_ns <= next)) {
			depth--;
			if (open[depth].end_ns > at) {
				rank_add_segment(
					job, rank, at, open[depth].end_ns, open[depth].brick);
				at = open[depth].end_ns;
			}
		}
		if (next > at) {
			rank_add_segment(job, rank, at, next, open[depth - 1].brick);
			at = next;
		}
		if (s && depth < sizeof(open) / sizeof(*open)) {
			open[depth].end_ns = s->end_ns;
			open[depth++].brick = job->run->sites[s->site].brick;
		}
	}
}

static void rank_job_finish(struct rank_job *job)
{
	size_t places = job->run->brick_count + 2;

	for (uint32_t r = 0; r < job->rank_count; r++) {
		const struct rank_calls *calls = &job->ranks[r];
		const double *longer = &job->longer[r * places];
		struct rank_waits_row *row = &job->rows[r];
		size_t most = 0;
		row->process = calls->process;
		row->collectives = calls->count;
		for (size_t n = 0; n < calls->count; n++) {
			const struct run_site *site =
				&job->run->sites[rank_call(job, calls, n)->site];
			row->bytes += site->flags & BRICK_SITE_HAS_BYTES ? site->bytes : 0;
		}
		for (size_t i = 1; i < places; i++)
			most = longer[i] > longer[most] ? i : most;
		row->longer_ns = longer[most] > 0 ? (uint64_t)longer[most] : 0;
		row->was_preempted = most == places - 1;
		row->brick = most < places - 2 ? (uint32_t)most : RUN_NONE;
	}
}

int rank_waits_of_run(struct rank_waits *waits, const struct run *run)
{
	SCOPED_BY(rank_job_fini)
	struct rank_job job = {.run = run,
		.wait = run_brick_find(run, "CollectiveWait"),
		.reduction = run_brick_find(run, "GradientReduction")};

	*waits = (struct rank_waits){0};
	if (rank_job_find_ranks(&job))
		return -ENOMEM;
	if (!rank_job_agrees(&job))
		return 0;
	if (rank_job_find_last(&job))
		return -ENOMEM;
	for (uint32_t r = 0; r < job.rank_count; r++)
		rank_cut(&job, r);
	rank_job_finish(&job);
	*waits = (struct rank_waits){job.rows, job.rank_count, job.collectives};
	job.rows = NULL;
	return 0;
}

void rank_waits_fini(struct rank_waits *waits)
{
	free(waits->rows);
	*waits = (struct rank_waits){0};
}
