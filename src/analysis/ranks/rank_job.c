/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first look at a recording finds when each rank came to each collective, the second cuts its
 * thread's time into segments of one brick each. A rank that came last is held against the mean of
 * the others, between two collectives.
 */
#include "analysis/ranks/rank_job.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/ranks/message_pairs.h"
#include "analysis/ranks/rank_late.h"
#include "analysis/ranks/rank_path.h"
#include "analysis/ranks/rank_steps.h"
#include "analysis/ranks/rank_strip.h"
#include "analysis/steps/step_times.h"
#include "analysis/walk/step_index.h"
#include "base/hash.h"
#include "base/hashmap.h"
#include "base/order.h"

COMPARATOR(rank_job_by_rank, struct rank_row,
	ORDER(x->rank, y->rank) ?: ORDER(y->calls.count, x->calls.count)
		?: ORDER(y->steps, x->steps) ?: ORDER(x->source, y->source))

void rank_job_init(struct rank_job *job)
{
	*job = (struct rank_job){.imbalance = -1, .step_imbalance = -1, .step_imbalance_most = -1};
}

void rank_job_fini(struct rank_job *job)
{
	for (uint32_t i = 0; i < job->count; i++) {
		rank_calls_fini(&job->rows[i].calls);
		free(job->rows[i].host);
		free(job->rows[i].over_ns);
		free(job->rows[i].longer);
		free(job->rows[i].on_path);
		free(job->rows[i].strip);
		array_fini(&job->rows[i].path);
		array_fini(&job->rows[i].debts);
	}
	rank_steps_fini(job);
	rank_strip_fini(&job->strip);
	free(job->rows);
	free(job->clocks);
	free(job->launcher);
	array_fini(&job->messages);
	array_fini(&job->passages);
	free(job->meetings);
	for (size_t i = 0; i < job->bricks.count; i++) {
		free(job->bricks.items[i].name);
		free(job->bricks.items[i].category);
	}
	array_fini(&job->bricks);
	hash_index_fini(&job->names);
	rank_job_init(job);
}

/* The job's number of a brick by its name, added if it is new; RUN_NONE: no memory. */
static uint32_t rank_job_brick(struct rank_job *job, const struct run *run, size_t brick)
{
	const char *name = run->bricks[brick].name;
	uint64_t hash = hash_bytes(name, strlen(name));
	struct hash_probe probe = hash_probe(hash);

	for (uint32_t i; (i = hash_index_next(&job->names, &probe)) != HASH_INDEX_NONE;)
		if (!strcmp(job->bricks.items[i].name, name))
			return i;
	if (hash_index_reserve(&job->names) || array_reserve(&job->bricks, 1))
		return RUN_NONE;
	uint32_t number = (uint32_t)job->bricks.count++;
	struct rank_brick *added = &job->bricks.items[number];
	added->name = strdup(name);
	added->category = strdup(run->categories[run->bricks[brick].category].name);
	if (!added->name || !added->category)
		return RUN_NONE;
	hash_index_add(&job->names, hash, number);
	return number;
}

/* Steps of the rank's process; of a recording of this rank alone also its rate. */
static int rank_job_count_steps(
	struct rank_row *row, const struct run *run, const struct step_index *index, bool is_alone)
{
	SCOPED_BY(step_times_fini) struct step_times times = {0};
	const struct step_phase_times *most = NULL;

	row->tokens = row->wall_ns = ANALYSIS_UNKNOWN;
	for (size_t i = 0; i < run->step_count; i++) {
		const struct run_step *step = &run->steps[i];
		row->steps += run->lanes[step->lane].process == row->calls.process && !step->open &&
			      !step->is_draft && step->phase != BRICK_PHASE_WARM_UP;
	}
	if (!is_alone || !row->steps)
		return 0;
	if (step_times_measure(&times, run, index) < 0)
		return -ENOMEM;
	for (int phase = 0; phase < STEP_PHASES; phase++) {
		const struct step_phase_times *p = &times.phases[phase];
		if (phase != STEP_WARM_UP && p->count && p->wall_ns != ANALYSIS_UNKNOWN &&
			(!most || p->wall_ns > most->wall_ns))
			most = p;
	}
	if (most && most->tokens) {
		row->tokens = most->tokens;
		row->wall_ns = most->wall_ns;
	}
	return 0;
}

/* What both looks at a recording need. */
struct rank_look {
	const struct run *run;
	uint8_t *sites;
	uint32_t *numbers; /* of steps */
	struct step_index index;
	struct gpu_spans gpus;
};

static void rank_look_fini(struct rank_look *look)
{
	free(look->sites);
	free(look->numbers);
	gpu_spans_fini(&look->gpus);
	step_index_fini(&look->index);
}

static int rank_look_init(struct rank_look *look, const struct run *run)
{
	*look = (struct rank_look){.run = run, .sites = rank_sites(run)};
	return !look->sites || step_index_init(&look->index, run) < 0 ||
			       gpu_spans_init(&look->gpus, run, &look->index) < 0 ||
			       !(look->numbers = step_number_list(run, &look->index))
		       ? -ENOMEM
		       : 0;
}

/* A collective is of the last step that had begun when the rank came to it. */
static void rank_job_number_steps(struct rank_row *row, const struct rank_look *look)
{
	const struct run *run = look->run;
	uint32_t number = 0;

	for (size_t i = 0, call = 0; i <= run->step_count && call < row->calls.count; i++) {
		const struct run_step *step = i < run->step_count ? &run->steps[i] : NULL;
		if (step && (run->lanes[step->lane].process != row->calls.process || step->open ||
				    step->is_draft || step->phase == BRICK_PHASE_WARM_UP))
			continue;
		while (call < row->calls.count &&
			(!step || row->calls.list[call].begin_ns < step->begin_ns))
			row->calls.list[call++].step = number;
		number = step ? look->numbers[i] : 0;
	}
}

static int rank_job_add_row(
	struct rank_job *job, const struct rank_look *look, uint32_t process, bool is_alone)
{
	const struct run *run = look->run;
	const struct run_process *p = &run->processes[process];
	struct rank_row *rows =
		array_grow(job->rows, &job->row_capacity, (size_t)job->count + 1, sizeof(*rows));

	if (!rows)
		return -ENOMEM;
	job->rows = rows;
	struct rank_row *row = &rows[job->count++];
	const char *host = p->host && *p->host ? p->host : run->host;
	*row = (struct rank_row){.rank = p->rank,
		.world = p->world,
		.pid = p->pid,
		.clock = job->sources,
		.source = job->sources,
		.host = host ? strdup(host) : NULL};
	if (rank_calls_find(&row->calls, run, look->sites, &look->gpus, process))
		return -ENOMEM;
	row->collectives = row->calls.count;
	row->bytes = row->calls.bytes;
	rank_job_number_steps(row, look);
	return rank_job_count_steps(row, run, &look->index, is_alone);
}

static int rank_job_add_messages(struct rank_job *job, const struct run *run, uint32_t rows)
{
	SCOPED bool *has_calls = calloc(run->lane_count + 1, sizeof(*has_calls));

	if (!has_calls)
		return -ENOMEM;
	for (uint32_t r = rows; r < job->count; r++)
		if (job->rows[r].calls.lane != RUN_NONE)
			has_calls[job->rows[r].calls.lane] = true;
	for (size_t i = 0; i < run->message_count; i++) {
		const struct run_message *m = &run->messages[i];
		if ((m->event != BRICK_MESSAGE_SENT && m->event != BRICK_MESSAGE_RECEIVED) ||
			m->is_uncertain) /* it may be another one */
			continue;
		const struct run_sample *call = message_call(run, m);
		bool is_received = m->event == BRICK_MESSAGE_RECEIVED;
		uint64_t key = message_key(run, m);
		if (!key || !call)
			continue;
		if (array_push(&job->messages,
			    (struct rank_message){key, call->begin_ns, call->end_ns,
				    run->processes[run->lanes[m->lane].process].rank, is_received,
				    !has_calls[m->lane]}))
			return -ENOMEM;
	}
	return 0;
}

int rank_job_add(struct rank_job *job, const struct run *run)
{
	SCOPED_BY(rank_look_fini) struct rank_look look = {0};
	struct rank_clock *clocks = realloc(job->clocks, (job->sources + 1) * sizeof(*job->clocks));
	uint32_t rows = job->count;
	int32_t only = -1;
	bool is_alone = true;

	if (!clocks)
		return -ENOMEM;
	job->clocks = clocks;
	for (uint32_t i = 0; i < run->process_count; i++) {
		const struct run_process *p = &run->processes[i];
		if (p->rank < 0 || p->world < 2)
			continue;
		is_alone = is_alone && (only < 0 || only == p->rank);
		only = p->rank;
	}
	if (only >= 0 && rank_look_init(&look, run))
		return -ENOMEM;
	for (uint32_t i = 0; i < run->process_count; i++)
		if (run->processes[i].rank >= 0 && run->processes[i].world >= 2 &&
			rank_job_add_row(job, &look, i, is_alone))
			return -ENOMEM;
	if (rank_job_add_messages(job, run, rows))
		return -ENOMEM;
	for (size_t i = 0; i < run->brick_count && only >= 0; i++)
		if (rank_job_brick(job, run, i) == RUN_NONE)
			return -ENOMEM;
	const char *launcher = run_note_find(run, "launcher");
	if (launcher && !job->launcher && !(job->launcher = strdup(launcher)))
		return -ENOMEM;
	clocks[job->sources] = (struct rank_clock){.is_aligned = !job->sources,
		.bound_ns = job->sources ? INFINITY : 0,
		.residual_ns = NAN};
	job->clock_count = ++job->sources;
	return 0;
}

/* A rank's other processes, such as loaders of data, are no rows. */
static void rank_job_drop_helpers(struct rank_job *job)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < job->count; i++) {
		struct rank_row *row = &job->rows[i], *before = kept ? &job->rows[kept - 1] : NULL;
		bool is_same = before && before->rank == row->rank;
		if (is_same && row->calls.count)
			job->is_twice = true;
		if (is_same && !row->calls.count && row->source == before->source) {
			free(row->host);
			rank_calls_fini(&row->calls);
			continue;
		}
		job->rows[kept++] = *row;
	}
	job->count = kept;
}

/* Finds the meeting of a collective, the n-th that has no number; RUN_NONE: no memory. */
static uint32_t rank_job_meeting(struct rank_job *job, struct hashmap *known, size_t *capacity,
	const struct rank_call *call, uint64_t n)
{
	uint64_t key = (uint64_t)call->communicator << 32 | (call->number ? call->number : n);
	uint64_t at = hashmap_get(known, key);

	if (at != HASHMAP_NONE)
		return (uint32_t)at;
	struct rank_meeting *meetings =
		array_grow(job->meetings, capacity, job->meeting_count + 1, sizeof(*meetings));
	if (!meetings)
		return RUN_NONE;
	job->meetings = meetings;
	if (hashmap_set(known, key, job->meeting_count))
		return RUN_NONE;
	meetings[job->meeting_count] = (struct rank_meeting){.kind = call->kind,
		.joins = call->joins,
		.communicator = call->communicator,
		.step = call->step};
	return (uint32_t)job->meeting_count++;
}

/* A collective is whole if as many ranks came to it as to any other of its communicator. */
static int rank_job_find_whole(struct rank_job *job, uint32_t having)
{
	SCOPED_BY(hashmap_fini) struct hashmap sizes = {0};
	bool agrees = true;

	for (size_t i = 0; i < job->meeting_count; i++) {
		const struct rank_meeting *meeting = &job->meetings[i];
		uint64_t size = hashmap_get(&sizes, meeting->communicator);
		if ((size == HASHMAP_NONE || size < meeting->ranks) &&
			hashmap_set(&sizes, meeting->communicator, meeting->ranks))
			return -ENOMEM;
	}
	if (hashmap_get(&sizes, 0) != HASHMAP_NONE && hashmap_set(&sizes, 0, having))
		return -ENOMEM;
	for (size_t i = 0; i < job->meeting_count; i++) {
		struct rank_meeting *meeting = &job->meetings[i];
		meeting->is_whole = meeting->ranks > 1 &&
				    meeting->ranks == hashmap_get(&sizes, meeting->communicator);
		agrees = agrees && !(meeting->is_whole && meeting->differs);
	}
	for (size_t i = 0; i < job->meeting_count; i++)
		job->collectives += job->meetings[i].is_whole = job->meetings[i].is_whole && agrees;
	return 0;
}

/* Only collectives that all came to stay in the lists. */
static void rank_job_keep_whole(struct rank_job *job)
{
	for (uint32_t r = 0; r < job->count; r++) {
		struct rank_calls *calls = &job->rows[r].calls;
		size_t kept = 0;
		for (size_t i = 0; i < calls->count; i++)
			if (calls->list[i].meeting != RUN_NONE &&
				job->meetings[calls->list[i].meeting].is_whole)
				calls->list[kept++] = calls->list[i];
		calls->count = kept;
	}
}

COMPARATOR(rank_message_order, struct rank_message,
	ORDER(x->key, y->key) ?: ORDER(x->is_received, y->is_received))

static uint32_t rank_job_row(const struct rank_job *job, int32_t rank)
{
	size_t at = BISECT(i, 0, job->count, job->rows[i].rank < rank);

	return at < job->count && job->rows[at].rank == rank ? (uint32_t)at : RUN_NONE;
}

/* Pairs the ends of messages; ends that are equal to others have no pair. */
static int rank_job_pair(struct rank_job *job)
{
	const struct rank_message *m = job->messages.items;

	array_sort(&job->messages, rank_message_order);
	for (size_t i = 0, end; i < job->messages.count; i = end) {
		for (end = i; end < job->messages.count && m[end].key == m[i].key; end++)
			;
		if (end != i + 2 || m[i].is_received || !m[i + 1].is_received)
			continue;
		const struct rank_message *got = &m[i + 1];
		const struct rank_passage passage = {rank_job_row(job, m[i].rank),
			rank_job_row(job, got->rank), m[i].begin_ns, got->begin_ns, got->ns,
			got->is_beside};
		if (passage.from != RUN_NONE && passage.to != RUN_NONE &&
			passage.from != passage.to && array_push(&job->passages, passage))
			return -ENOMEM;
	}
	array_fini(&job->messages);
	return 0;
}

int rank_job_match(struct rank_job *job)
{
	SCOPED_BY(hashmap_fini) struct hashmap known = {0};
	size_t capacity = 0;
	uint32_t having = 0;

	if (job->count)
		qsort(job->rows, job->count, sizeof(*job->rows), rank_job_by_rank);
	rank_job_drop_helpers(job);
	if (rank_job_pair(job))
		return -ENOMEM;
	for (uint32_t r = 0; r < job->count && !job->is_twice; r++) {
		struct rank_calls *calls = &job->rows[r].calls;
		uint64_t n = 0;
		for (size_t i = 0; i < calls->count; i++) {
			struct rank_call *call = &calls->list[i];
			call->meeting = rank_job_meeting(job, &known, &capacity, call, n);
			if (call->meeting == RUN_NONE)
				return -ENOMEM;
			n += !call->number;
			struct rank_meeting *meeting = &job->meetings[call->meeting];
			meeting->ranks++;
			meeting->differs |= meeting->kind != call->kind;
			meeting->joins &= call->joins;
		}
		having += n != 0;
	}
	if (rank_job_find_whole(job, having))
		return -ENOMEM;
	rank_job_keep_whole(job);
	return 0;
}

int rank_job_order(struct rank_job *job)
{
	job->ordered_bricks = (uint32_t)job->bricks.count;
	for (size_t i = 0; i < job->meeting_count; i++) {
		job->meetings[i].latest_ns = INT64_MIN;
		job->meetings[i].last = RUN_NONE;
	}
	for (uint32_t r = 0; r < job->count; r++) {
		const struct rank_row *row = &job->rows[r];
		const struct rank_clock *clock = &job->clocks[row->clock];
		for (size_t i = 0; i < row->calls.count && clock->is_aligned; i++) {
			const struct rank_call *call = &row->calls.list[i];
			struct rank_meeting *meeting = &job->meetings[call->meeting];
			int64_t came = rank_clock_time(clock, call->begin_ns);
			meeting->aligned++;
			if (call->root < 0 ? came > meeting->latest_ns : call->root == row->rank) {
				meeting->latest_ns = came;
				meeting->last = r;
			}
		}
	}
	for (size_t i = 0; i < job->meeting_count; i++)
		job->compared += job->meetings[i].aligned > 1;
	for (size_t i = 0; i < job->meeting_count; i++)
		if (job->meetings[i].aligned < 2) {
			job->meetings[i].latest_ns = INT64_MIN;
			job->meetings[i].last = RUN_NONE;
		}
	for (uint32_t r = 0; r < job->count; r++) {
		struct rank_row *row = &job->rows[r];
		int64_t over = INT64_MIN;
		row->over_ns = malloc((row->calls.count + 1) * sizeof(*row->over_ns));
		row->longer = calloc(job->bricks.count + 2, sizeof(*row->longer));
		row->on_path = calloc(job->bricks.count + 1, sizeof(*row->on_path));
		if (!row->over_ns || !row->longer || !row->on_path)
			return -ENOMEM;
		for (size_t i = 0; i < row->calls.count; i++) {
			struct rank_meeting *meeting = &job->meetings[row->calls.list[i].meeting];
			const struct rank_clock *clock = &job->clocks[row->clock];
			if (meeting->last != RUN_NONE && clock->is_aligned)
				meeting->early_ns +=
					fmax(0, (double)meeting->latest_ns -
							(double)rank_clock_time(clock,
								row->calls.list[i].begin_ns));
			over = over > meeting->latest_ns ? over : meeting->latest_ns;
			row->over_ns[i] = over;
			row->last += meeting->last == r;
		}
	}
	return rank_steps_choose(job);
}

/* What is known while a rank's thread is cut. */
struct rank_cut {
	struct rank_job *job;
	struct rank_row *row;
	const struct run_lane *lane; /* NULL: of a GPU */
	const struct rank_look *look;
	const uint32_t *bricks; /* the job's, by the run's */
	double *work_ns;	/* [calls]: before each */
	double *busy_ns;	/* [calls]: ... without time that the thread was preempted */
	size_t stretch, debt;	/* the first that are not passed */
	struct rank_strip_cut strip;
};

/* A rank waits for whoever was the last to come to the first collective that not all had come to.
 */
static void rank_cut_wait(struct rank_cut *cut, uint64_t from_ns, uint64_t to_ns)
{
	struct rank_row *row = cut->row;
	const struct rank_clock *clock = &cut->job->clocks[row->clock];
	int64_t from = rank_clock_time(clock, from_ns), to = rank_clock_time(clock, to_ns);
	uint32_t own = (uint32_t)(row - cut->job->rows);

	row->exposed_ns += to_ns - from_ns;
	for (size_t n = BISECT(i, 0, row->calls.count, row->over_ns[i] <= from);
		n < row->calls.count && from < to; n++) {
		if (row->calls.list[n].begin_ns >= to_ns)
			return;
		int64_t end = row->over_ns[n] < to ? row->over_ns[n] : to;
		const struct rank_meeting *meeting =
			&cut->job->meetings[row->calls.list[n].meeting];
		uint32_t last = meeting->last;
		uint64_t waited = (uint64_t)end - (uint64_t)from;
		if (last != own && last != RUN_NONE) {
			row->waited_ns += waited;
			cut->job->rows[last].caused_ns += waited;
			rank_steps_wait(cut->job, meeting, waited);
		}
		from = end;
	}
}

/* Part of the time between two collectives, in one brick; RUN_NONE: in none. */
static void rank_cut_work(struct rank_cut *cut, uint64_t from, uint64_t to, uint32_t brick)
{
	const struct rank_calls *calls = &cut->row->calls;
	size_t bricks = cut->job->ordered_bricks;
	uint32_t own = (uint32_t)(cut->row - cut->job->rows);

	for (size_t n = BISECT(i, 0, calls->count, calls->list[i].begin_ns <= from);
		n && n < calls->count && from < to; n++) {
		const struct rank_meeting *meeting = &cut->job->meetings[calls->list[n].meeting];
		uint64_t begin = calls->list[n].begin_ns, end = begin < to ? begin : to;
		uint64_t preempted =
			cut->lane ? run_off_cpu_between(cut->lane, from, end).preempted_ns : 0;
		if (meeting->last != RUN_NONE) {
			double part = meeting->last == own ? 1 : -1.0 / (meeting->aligned - 1);
			double *sums[] = {cut->job->rows[meeting->last].longer,
				rank_steps_longer(cut->job, meeting)};
			for (int i = 0; i < 2 && sums[i]; i++) {
				sums[i][brick == RUN_NONE ? bricks : brick] +=
					part * (double)(end - from - preempted);
				sums[i][bricks + 1] += part * (double)preempted;
			}
		}
		cut->job->has_preempted |= preempted > 0;
		cut->work_ns[n] += (double)(end - from);
		cut->busy_ns[n] += (double)(end - from - preempted);
		from = end;
	}
}

/* A rank that waits for another one to send does not work. */
static void rank_cut_debts(struct rank_cut *cut, uint64_t from, uint64_t to, uint32_t brick)
{
	struct rank_row *row = cut->row;
	const struct rank_debt *debts = row->debts.items;

	while (cut->debt < row->debts.count && debts[cut->debt].to_ns <= from)
		cut->debt++;
	for (size_t i = cut->debt; i < row->debts.count && debts[i].from_ns < to; i++) {
		uint64_t begin = debts[i].from_ns > from ? debts[i].from_ns : from;
		uint64_t end = debts[i].to_ns < to ? debts[i].to_ns : to;
		if (begin >= end)
			continue;
		rank_cut_work(cut, from, begin, brick);
		row->exposed_ns += end - begin;
		row->waited_ns += end - begin;
		cut->job->rows[debts[i].source].caused_ns += end - begin;
		from = end;
	}
	rank_cut_work(cut, from, to, brick);
}

enum rank_state { RANK_WORKS, RANK_WAITS };

/* A wait on the path is for nobody: all had come. */
static void rank_cut_path(
	struct rank_cut *cut, uint64_t from, uint64_t to, uint32_t brick, enum rank_state state)
{
	struct rank_row *row = cut->row;
	const struct rank_stretch *path = row->path.items;

	while (cut->stretch < row->path.count && path[cut->stretch].to_ns <= from)
		cut->stretch++;
	for (size_t i = cut->stretch; i < row->path.count && path[i].from_ns < to; i++) {
		uint64_t begin = path[i].from_ns > from ? path[i].from_ns : from;
		uint64_t end = path[i].to_ns < to ? path[i].to_ns : to;
		if (state == RANK_WAITS)
			cut->job->exchange_ns += (double)(end - begin);
		rank_strip_cut_add(&cut->strip, begin, end, brick, state == RANK_WORKS);
		if (state == RANK_WAITS)
			continue;
		row->path_ns += end - begin;
		row->on_path[brick == RUN_NONE ? cut->job->ordered_bricks : brick] +=
			(double)(end - begin);
	}
}

static void rank_cut_segment(
	struct rank_cut *cut, uint64_t from, uint64_t to, uint32_t brick, enum rank_state state)
{
	rank_cut_path(cut, from, to, brick, state);
	if (state == RANK_WAITS)
		rank_cut_wait(cut, from, to);
	else
		rank_cut_debts(cut, from, to, brick);
}

static void rank_cut_lane(struct rank_cut *cut)
{
	const struct run_lane *lane = cut->lane;
	struct {
		uint64_t end_ns;
		uint32_t brick;
		enum rank_state state;
	} open[256] = {{UINT64_MAX, RUN_NONE, RANK_WORKS}};
	size_t depth = 1;
	uint64_t at = lane->start_ns;

	for (size_t i = 0; i <= lane->sample_count; i++) {
		const struct run_sample *s = i < lane->sample_count ? &lane->samples[i] : NULL;
		uint64_t next = s ? s->begin_ns : lane->end_ns;
		if (s)
			run_lane_passed(lane, i);
		while (depth > 1 && (!s || open[depth - 1].end_ns <= next)) {
			depth--;
			if (open[depth].end_ns > at) {
				rank_cut_segment(cut, at, open[depth].end_ns, open[depth].brick,
					open[depth].state);
				at = open[depth].end_ns;
			}
		}
		if (next > at) {
			rank_cut_segment(
				cut, at, next, open[depth - 1].brick, open[depth - 1].state);
			at = next;
		}
		if (s && depth < sizeof(open) / sizeof(*open)) {
			uint8_t site = cut->look->sites[s->site];
			bool waits = site == RANK_SITE_BLOCKS || site == RANK_SITE_WAITS ||
				     site == RANK_SITE_WAITS_FOR_ALL ||
				     open[depth - 1].state == RANK_WAITS;
			open[depth].end_ns = s->end_ns;
			open[depth].brick = cut->bricks[cut->look->run->sites[s->site].brick];
			open[depth++].state = waits ? RANK_WAITS : RANK_WORKS;
		}
	}
}

/* Commands that run on a GPU, in the order of their begins: the last ends of each kind of work. */
struct rank_running {
	uint64_t compute_ns, call_ns;
	uint32_t brick;
};

/* A GPU works while something computes, waits while only collectives run, and else is idle. */
static void rank_cut_running(
	struct rank_cut *cut, const struct rank_running *r, uint64_t from, uint64_t to)
{
	while (from < to) {
		bool computes = r->compute_ns > from, waits = !computes && r->call_ns > from;
		uint64_t end = computes ? r->compute_ns : waits ? r->call_ns : to;
		end = end < to ? end : to;
		rank_cut_segment(cut, from, end, computes ? r->brick : RUN_NONE,
			waits ? RANK_WAITS : RANK_WORKS);
		from = end;
	}
}

static void rank_cut_gpu(struct rank_cut *cut, const struct gpu *gpu)
{
	struct rank_running running = {0};
	uint64_t at = gpu->span_count ? gpu->spans[0].begin_ns : 0, end = at;

	for (size_t i = 0; i < gpu->span_count; i++) {
		const struct gpu_span *s = &gpu->spans[i];
		rank_cut_running(cut, &running, at, s->begin_ns);
		at = s->begin_ns > at ? s->begin_ns : at;
		end = s->end_ns > end ? s->end_ns : end;
		if (s->work == GPU_COLLECTIVE && s->end_ns > running.call_ns)
			running.call_ns = s->end_ns;
		if (s->work != GPU_COLLECTIVE && s->end_ns > running.compute_ns) {
			running.compute_ns = s->end_ns;
			running.brick = cut->bricks[s->brick];
		}
	}
	rank_cut_running(cut, &running, at, end);
}

int rank_job_cut(struct rank_job *job, const struct run *run, uint32_t source)
{
	SCOPED_BY(rank_look_fini) struct rank_look look = {0};
	bool has_rows = false;
	SCOPED uint32_t *bricks = malloc((run->brick_count + 1) * sizeof(*bricks));

	for (uint32_t r = 0; r < job->count; r++)
		has_rows = has_rows || job->rows[r].source == source;
	if (!has_rows)
		return 0;
	if (rank_look_init(&look, run) || !bricks)
		return -ENOMEM;
	for (size_t i = 0; i < run->brick_count; i++) {
		bricks[i] = rank_job_brick(job, run, i);
		if (bricks[i] == RUN_NONE)
			return -ENOMEM;
		if (bricks[i] >= job->ordered_bricks) /* the file has changed meanwhile */
			bricks[i] = RUN_NONE;
	}
	for (uint32_t r = 0; r < job->count; r++) {
		struct rank_row *row = &job->rows[r];
		bool is_gpu = row->calls.gpu != RUN_NONE; /* files can change meanwhile */
		if (row->source != source ||
			(!row->calls.count && !row->path.count && !row->debts.count) ||
			!job->clocks[row->clock].is_aligned ||
			(is_gpu ? row->calls.gpu >= look.gpus.count
				: row->calls.lane >= run->lane_count))
			continue;
		SCOPED double *work_ns = calloc(2 * row->calls.count + 1, sizeof(*work_ns));
		double *busy_ns = work_ns ? work_ns + row->calls.count : NULL;
		struct rank_cut cut = {job, row, is_gpu ? NULL : &run->lanes[row->calls.lane],
			&look, bricks, work_ns, busy_ns, 0, 0, {0}};
		if (!work_ns || rank_strip_cut_begin(&cut.strip, job, row))
			return -ENOMEM;
		if (is_gpu)
			rank_cut_gpu(&cut, &look.gpus.list[row->calls.gpu]);
		else
			rank_cut_lane(&cut);
		rank_strip_cut_end(&cut.strip);
		for (size_t i = 1; i < row->calls.count; i++) {
			struct rank_meeting *meeting = &job->meetings[row->calls.list[i].meeting];
			row->work_ns += rank_job_ns(work_ns[i]);
			row->calls.list[i].work_ns = (float)work_ns[i];
			row->calls.list[i].busy_ns = (float)busy_ns[i];
			meeting->work_ns += work_ns[i];
			meeting->busy_ns += busy_ns[i];
			meeting->lacks_busy |= is_gpu || !run_off_cpu_is_known(run,
								 row->calls.list[i - 1].begin_ns,
								 row->calls.list[i].begin_ns);
			if (work_ns[i] > meeting->work_most_ns)
				meeting->work_most_ns = work_ns[i];
		}
	}
	return 0;
}

/* The bricks of ranks that are most of the critical path. */
static void rank_job_find_parts(struct rank_job *job)
{
	size_t bricks = job->ordered_bricks;

	for (uint32_t r = 0; r < job->count; r++) {
		const struct rank_row *row = &job->rows[r];
		for (size_t b = 0; b <= bricks && row->path_ns; b++) {
			const struct rank_part part = {r,
				b < bricks ? job->bricks.items[b].name : NULL,
				rank_job_ns(row->on_path[b])};
			uint32_t at = job->part_count;
			while (at && job->parts[at - 1].ns < part.ns)
				at--;
			if (!part.ns || at == RANK_PATH_PARTS)
				continue;
			job->part_count += job->part_count < RANK_PATH_PARTS;
			memmove(&job->parts[at + 1], &job->parts[at],
				(job->part_count - 1 - at) * sizeof(part));
			job->parts[at] = part;
		}
	}
}

void rank_job_finish(struct rank_job *job)
{
	size_t places = (size_t)job->ordered_bricks + 2;
	double most_ns = 0, mean_ns = 0;

	rank_late_judge(job);
	for (uint32_t r = 0; r < job->count && job->collectives; r++) {
		struct rank_row *row = &job->rows[r];
		size_t most = 0, judged = places - row->is_late_busy;
		for (size_t i = 1; i < judged; i++)
			most = row->longer[i] > row->longer[most] ? i : most;
		row->longer_ns = rank_job_ns(row->longer[most]);
		row->preempted_ns = rank_job_ns(row->longer[places - 1]);
		row->was_preempted = row->longer_ns && most == places - 1;
		row->brick =
			row->longer_ns && most < places - 2 ? job->bricks.items[most].name : NULL;
	}
	for (size_t i = 0; i < job->meeting_count; i++)
		if (job->meetings[i].is_whole && job->meetings[i].aligned > 1) {
			most_ns += job->meetings[i].work_most_ns;
			mean_ns += job->meetings[i].work_ns / job->meetings[i].aligned;
		}
	job->imbalance = mean_ns > 0 ? most_ns / mean_ns - 1 : -1;
	rank_steps_finish(job);
	rank_job_find_parts(job);
}

int rank_job_of_run(struct rank_job *job, const struct run *run)
{
	rank_job_init(job);
	if (rank_job_add(job, run) || rank_job_match(job) || rank_job_order(job) ||
		rank_path_find(job) || rank_job_cut(job, run, 0)) {
		rank_job_fini(job);
		return -ENOMEM;
	}
	rank_job_finish(job);
	return 0;
}
