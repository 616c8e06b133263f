/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collectives are known by their operations (PyTorch's, which return at once) or by the names of
 * their bricks (all others, which block). A wait is for the only collective that has begun and was
 * not waited for; where there are several, none of them is known to be over.
 */
#include "analysis/ranks/rank_calls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "analysis/statistics/unknown.h"
#include "base/hash.h"
#include "base/hashmap.h"
#include "base/scope.h"

static bool rank_name_is_of(const char *name, const char *const *names)
{
	while (*names && strcmp(name, *names) != 0)
		names++;
	return *names != NULL;
}

static enum rank_site rank_site_of(const struct run *run, const struct run_site *site)
{
	static const char functional[] = "_c10d_functional::";
	static const char *const names[] = {"AllGather", "AllReduce", "AllToAll", "Barrier",
		"Broadcast", "Gather", "Reduce", "ReduceScatter", "Scatter", NULL};
	const struct run_brick *brick = &run->bricks[site->brick];
	const char *name = site->operation;

	if (!strcmp(brick->name, "CollectiveWait"))
		return name && !strcmp(name, "MPI_Waitall") ? RANK_SITE_WAITS_FOR_ALL
							    : RANK_SITE_WAITS;
	if (!strcmp(brick->name, "GradientReduction"))
		return RANK_SITE_WAITS_FOR_ALL;
	if (name &&
		(!strncmp(name, "c10d::", 6) || !strncmp(name, functional, sizeof(functional) - 1)))
		return strstr(name, "::send") || strstr(name, "::recv") || strstr(name, "::wait") ||
				       strstr(name, "functional::_")
			       ? RANK_SITE_OTHER
			       : RANK_SITE_BEGINS;
	if (!rank_name_is_of(brick->name, names) ||
		(name && !strncmp(name, "gloo:", 5)) || /* on gloo's own threads: the transfer */
		strcmp(run->categories[brick->category].name, "Communication") != 0)
		return RANK_SITE_OTHER;
	/* NCCL's calls put work into a stream, MPI's of these kinds begin it */
	const char *kind = name ? strrchr(name, '_') : NULL;
	return name && (!strncmp(name, "nccl", 4) || !strcmp(name, "NCCL") ||
			       !strncmp(name, "MPI_I", 5) || (kind && !strcmp(kind, "_init")))
		       ? RANK_SITE_BEGINS
		       : RANK_SITE_BLOCKS;
}

uint8_t *rank_sites(const struct run *run)
{
	uint8_t *sites = malloc(run->site_count + 1);

	for (size_t i = 0; sites && i < run->site_count; i++)
		sites[i] = (uint8_t)rank_site_of(run, &run->sites[i]);
	return sites;
}

static bool rank_site_is_call(uint8_t site)
{
	return site == RANK_SITE_BEGINS || site == RANK_SITE_BLOCKS;
}

/*
 * A rank waits for those alone that give it something: not where nobody gives anything, and not
 * where ranks give parts of different sizes, some of which may be empty. bytes: ANALYSIS_UNKNOWN
 * if they are not known.
 */
static bool rank_call_joins(const struct run *run, const struct run_site *site, uint64_t bytes)
{
	static const char *const names[] = {
		"AllGather", "AllReduce", "AllToAll", "ReduceScatter", NULL};
	static const char *const of_parts[] = {"MPI_Allgatherv", "MPI_Iallgatherv", "MPI_Alltoallv",
		"MPI_Ialltoallv", "MPI_Alltoallw", "MPI_Ialltoallw", "MPI_Reduce_scatter",
		"MPI_Ireduce_scatter", "MPI_Allgatherv_init", "MPI_Alltoallv_init",
		"MPI_Alltoallw_init", "MPI_Reduce_scatter_init", "c10d::alltoall_",
		"c10d::alltoall_base_", "_c10d_functional::all_to_all_single", NULL};
	const char *name = run->bricks[site->brick].name;

	if (!strcmp(name, "Barrier"))
		return true;
	return bytes && rank_name_is_of(name, names) &&
	       !(site->operation && rank_name_is_of(site->operation, of_parts));
}

/* The rank that the others wait for, and for no other one. */
static int32_t rank_call_root(
	const struct run *run, const struct run_site *site, const struct run_message *m)
{
	static const char *const names[] = {"Broadcast", "Scatter", NULL};

	return m && rank_name_is_of(run->bricks[site->brick].name, names) ? m->peer : -1;
}

static uint64_t rank_call_kind(const struct run *run, const struct run_site *site)
{
	const char *name = site->operation ? site->operation : run->bricks[site->brick].name;

	return hash_bytes(name, strlen(name));
}

/* Waits of a lane, for the collectives that it has begun. */
struct rank_pending {
	size_t first;  /* the earliest call that may not be over; all before it are */
	bool is_mixed; /* a wait was for one of several */
};

static void rank_calls_take_wait(struct rank_calls *calls, struct rank_pending *pending,
	const struct run_sample *s, bool all)
{
	size_t open = calls->count - pending->first;

	if (!open)
		return;
	if (all || (open == 1 && !pending->is_mixed)) {
		for (size_t i = pending->first; i < calls->count; i++)
			calls->list[i].end_ns = s->end_ns + s->wait_ns;
		pending->first = calls->count;
		pending->is_mixed = false;
		return;
	}
	pending->is_mixed = true;
	pending->first++; /* some one of them */
	if (pending->first == calls->count)
		pending->is_mixed = false;
}

static bool rank_message_is_call(const struct run *run, size_t i, uint32_t lane)
{
	return i < run->message_count && run->messages[i].lane == lane && run->messages[i].number &&
	       run->messages[i].event == BRICK_MESSAGE_COLLECTIVE;
}

/* By sample of the lane: the first message that says which collective it was. */
static int rank_calls_numbers(struct hashmap *numbers, const struct run *run, uint32_t lane)
{
	for (size_t i = 0; i < run->message_count; i++)
		if (rank_message_is_call(run, i, lane) &&
			hashmap_get(numbers, run->messages[i].sample) == HASHMAP_NONE &&
			hashmap_set(numbers, run->messages[i].sample, i))
			return -ENOMEM;
	return 0;
}

/* A hold inside of the one before is a part of it. */
static int rank_calls_hold(struct rank_calls *calls, uint64_t begin_ns, uint64_t end_ns)
{
	size_t count = calls->holds.count;

	if (begin_ns >= end_ns || (count && end_ns <= calls->holds.items[count - 1].end_ns))
		return 0;
	return array_push(&calls->holds, (struct rank_hold){begin_ns, end_ns});
}

/* The calls of one lane. Those inside of another call are parts of it. */
static int rank_calls_take(
	struct rank_calls *calls, const struct run *run, const uint8_t *sites, size_t room)
{
	SCOPED_BY(hashmap_fini) struct hashmap numbers = {0};
	const struct run_lane *lane = &run->lanes[calls->lane];
	struct rank_pending pending = {0};
	uint64_t inside_ns = 0;

	if (rank_calls_numbers(&numbers, run, calls->lane))
		return -ENOMEM;
	for (size_t i = 0; i < lane->sample_count; i++) {
		run_lane_passed(lane, i);
		const struct run_sample *s = &lane->samples[i];
		const struct run_site *site = &run->sites[s->site];
		uint8_t kind = sites[s->site];
		if (kind == RANK_SITE_WAITS || kind == RANK_SITE_WAITS_FOR_ALL)
			rank_calls_take_wait(calls, &pending, s, kind == RANK_SITE_WAITS_FOR_ALL);
		if (kind != RANK_SITE_OTHER && kind != RANK_SITE_BEGINS &&
			rank_calls_hold(calls, s->begin_ns, s->end_ns))
			return -ENOMEM;
		if (!rank_site_is_call(kind) || (s->begin_ns < inside_ns && s->depth) ||
			calls->count >= room)
			continue;
		inside_ns = s->end_ns;
		bool blocks = kind == RANK_SITE_BLOCKS;
		if (blocks && pending.first == calls->count)
			pending.first++;
		size_t at = hashmap_get(&numbers, i);
		do { /* one call may begin several persistent collectives */
			const struct run_message *m =
				at == HASHMAP_NONE ? NULL : &run->messages[at];
			uint64_t bytes = m				      ? m->bytes
					 : site->flags & BRICK_SITE_HAS_BYTES ? site->bytes
									      : ANALYSIS_UNKNOWN;
			calls->bytes += bytes == ANALYSIS_UNKNOWN ? 0 : bytes;
			calls->list[calls->count++] = (struct rank_call){.begin_ns = s->begin_ns,
				.communicator = m ? m->communicator : 0,
				.number = m ? m->number : 0,
				.end_ns = blocks && !(s->flags & RUN_SAMPLE_OPEN)
						  ? s->end_ns + s->wait_ns
						  : 0,
				.kind = rank_call_kind(run, site),
				.meeting = RUN_NONE,
				.root = rank_call_root(run, site, m),
				.joins = rank_call_joins(run, site, bytes)};
		} while (at != HASHMAP_NONE && calls->count < room &&
			 rank_message_is_call(run, ++at, calls->lane) &&
			 run->messages[at].sample == i);
	}
	return 0;
}

/* A rank without collectives has the calls of the thread with most messages. */
static int rank_calls_of_messages(struct rank_calls *calls, const struct run *run)
{
	SCOPED uint32_t *counts = calloc(run->lane_count + 1, sizeof(*counts));

	if (!counts)
		return -ENOMEM;
	for (size_t i = 0; i < run->message_count; i++) {
		uint32_t lane = run->messages[i].lane;
		if (run->lanes[lane].process == calls->process &&
			++counts[lane] > (calls->lane == RUN_NONE ? 0 : counts[calls->lane]))
			calls->lane = lane;
	}
	return 0;
}

/* The thread that began most. 0 or -ENOMEM. */
static int rank_calls_of_thread(
	struct rank_calls *calls, const struct run *run, const uint8_t *sites)
{
	size_t most = 0;

	for (uint32_t i = 0; i < run->lane_count; i++) {
		const struct run_lane *lane = &run->lanes[i];
		size_t count = 0;
		if (lane->process != calls->process || lane->kind == BRICK_LANE_QUEUE)
			continue;
		for (size_t k = 0; k < lane->sample_count; k++) {
			run_lane_passed(lane, k);
			count += rank_site_is_call(sites[lane->samples[k].site]);
		}
		if (count > most) {
			most = count;
			calls->lane = i;
		}
	}
	if (!most)
		return rank_calls_of_messages(calls, run);
	for (size_t i = 0; i < run->message_count; i++)
		most += rank_message_is_call(run, i, calls->lane);
	calls->list = malloc(most * sizeof(*calls->list));
	if (!calls->list)
		return -ENOMEM;
	return rank_calls_take(calls, run, sites, most);
}

/* A collective of all ranks on a GPU: not of a part of them, as its label tells, nor a message. */
static bool rank_span_is_call(const struct run *run, const struct gpu_span *s, int32_t world)
{
	const struct run_site *site = &run->sites[s->site];
	const char *name = run->bricks[s->brick].name;

	if (s->work != GPU_COLLECTIVE || strstr(name, "Send") || strstr(name, "Receive"))
		return false;
	return !site->label || !strstr(site->label, " ranks") ||
	       strtoul(site->label, NULL, 10) == (unsigned long)world;
}

/* The GPU is held while nothing but a collective runs, at the end of that. */
static int rank_calls_hold_gpu(struct rank_calls *calls, const struct gpu *gpu)
{
	size_t first = 0; /* hold that may not be over */
	uint64_t computes_ns = 0;

	for (size_t i = 0; i < gpu->span_count; i++) {
		const struct gpu_span *s = &gpu->spans[i];
		struct rank_hold *holds = calls->holds.items;
		size_t count = calls->holds.count;
		if (s->work == GPU_COLLECTIVE) {
			uint64_t begin = s->begin_ns > computes_ns ? s->begin_ns : computes_ns;
			if (rank_calls_hold(calls, begin, s->end_ns))
				return -ENOMEM;
			continue;
		}
		computes_ns = s->end_ns > computes_ns ? s->end_ns : computes_ns;
		while (first < count && holds[first].end_ns <= s->begin_ns)
			first++;
		for (size_t h = first; h < count; h++)
			if (holds[h].begin_ns < s->end_ns)
				holds[h].begin_ns = s->end_ns;
	}
	size_t kept = 0;
	for (size_t h = 0; h < calls->holds.count; h++)
		if (calls->holds.items[h].begin_ns < calls->holds.items[h].end_ns)
			calls->holds.items[kept++] = calls->holds.items[h];
	calls->holds.count = kept;
	return 0;
}

/* A kernel of a collective begins when its rank comes, and ends when it is let go. */
static int rank_calls_of_gpu(
	struct rank_calls *calls, const struct run *run, const struct gpu_spans *gpus)
{
	int32_t world = run->processes[calls->process].world;
	size_t most = 0;

	for (uint32_t g = 0; g < gpus->count; g++) {
		const struct gpu *gpu = &gpus->list[g];
		size_t count = 0;
		for (size_t i = 0; i < gpu->span_count && gpu->process == calls->process; i++)
			count += rank_span_is_call(run, &gpu->spans[i], world);
		if (count > most) {
			most = count;
			calls->gpu = g;
		}
	}
	if (!most)
		return 0;
	calls->list = malloc(most * sizeof(*calls->list));
	if (!calls->list)
		return -ENOMEM;
	const struct gpu *gpu = &gpus->list[calls->gpu];
	for (size_t i = 0; i < gpu->span_count; i++) {
		const struct gpu_span *s = &gpu->spans[i];
		const char *name = run->bricks[s->brick].name;
		if (!rank_span_is_call(run, s, world))
			continue;
		calls->bytes += s->command == RUN_NONE ? 0 : run->commands[s->command].bytes;
		calls->list[calls->count++] = (struct rank_call){.begin_ns = s->begin_ns,
			.end_ns = s->end_ns,
			.kind = hash_bytes(name, strlen(name)),
			.meeting = RUN_NONE,
			.root = -1,
			.joins = rank_call_joins(run, &run->sites[s->site], ANALYSIS_UNKNOWN)};
	}
	return rank_calls_hold_gpu(calls, gpu);
}

int rank_calls_find(struct rank_calls *calls, const struct run *run, const uint8_t *sites,
	const struct gpu_spans *gpus, uint32_t process)
{
	*calls = (struct rank_calls){.process = process, .lane = RUN_NONE, .gpu = RUN_NONE};
	if (rank_calls_of_gpu(calls, run, gpus))
		return -ENOMEM;
	return calls->count ? 0 : rank_calls_of_thread(calls, run, sites);
}

void rank_calls_fini(struct rank_calls *calls)
{
	free(calls->list);
	array_fini(&calls->holds);
	*calls = (struct rank_calls){0};
}
