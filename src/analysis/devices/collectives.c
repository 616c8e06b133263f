/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Goes through each GPU's commands in the order of their begins, and holds the collectives against
 * the united times in which it computed.
 */
#include "analysis/devices/collectives.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/statistics/unknown.h"
#include "analysis/steps/step_times.h"
#include "base/array.h"
#include "base/order.h"
#include "base/scope.h"

struct computing {
	uint64_t begin_ns, end_ns;
};

/* What one GPU computed: united times, by begin. */
struct computings {
	struct computing *list;
	size_t count;
};

/* The factor from the algorithm's bandwidth to the bus's; ranks: 0: not known. */
static double collectives_bus_factor(const char *kind, uint32_t ranks)
{
	static const char *const parts[] = {"AllGather", "ReduceScatter", "AllToAll"};
	double n = ranks;

	if (!strcmp(kind, "AllReduce"))
		return ranks ? 2 * (n - 1) / n : -1;
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		if (!strcmp(kind, parts[i]))
			return ranks ? (n - 1) / n : -1;
	return strcmp(kind, "Collective") != 0 ? 1 : -1;
}

static void collectives_take_computing(struct computings *c, const struct gpu *gpu)
{
	c->count = 0;
	for (size_t i = 0; i < gpu->span_count; i++) {
		const struct gpu_span *s = &gpu->spans[i];
		if (s->work != GPU_COMPUTE || s->end_ns <= s->begin_ns)
			continue;
		struct computing *last = c->count ? &c->list[c->count - 1] : NULL;
		if (last && s->begin_ns <= last->end_ns)
			last->end_ns = s->end_ns > last->end_ns ? s->end_ns : last->end_ns;
		else
			c->list[c->count++] = (struct computing){s->begin_ns, s->end_ns};
	}
}

/* The collective of a command's kind and group, made if there is none; NULL: no memory. */
static struct collective *collectives_of(
	struct collectives *c, size_t *capacity, const struct run *run, const struct run_site *site)
{
	const char *group = site->label && strstr(site->label, " ranks") ? site->label : NULL;
	size_t i = 0;

	while (i < c->count &&
		(c->list[i].brick != site->brick ||
			strcmp(c->list[i].group ? c->list[i].group : "", group ? group : "") != 0))
		i++;
	if (i < c->count)
		return &c->list[i];
	struct collective *list = array_grow(c->list, capacity, c->count + 1, sizeof(*list));
	if (!list)
		return NULL;
	c->list = list;
	c->list[c->count] = (struct collective){.brick = site->brick,
		.group = group,
		.ranks = group ? (uint32_t)strtoul(group, NULL, 10) : 0,
		.waiter = RUN_NONE};
	return &c->list[c->count++];
}

static bool collectives_is_asked(
	const struct run *run, const struct step_index *index, const struct gpu_span *s, int phase)
{
	if (phase < 0)
		return true;
	uint32_t step = s->command == RUN_NONE
				? step_index_at(index, run, s->lane, s->begin_ns)
				: step_index_of_command(index, run, &run->commands[s->command]);
	return step != RUN_NONE && (int)step_phase_of(&run->steps[step]) == phase;
}

/* The first command after that place that computes and begins at `ns` or later; NULL: none. */
static const struct gpu_span *collectives_next_span(
	const struct gpu *gpu, size_t place, uint64_t ns)
{
	for (; place < gpu->span_count; place++)
		if (gpu->spans[place].work == GPU_COMPUTE && gpu->spans[place].begin_ns >= ns)
			return &gpu->spans[place];
	return NULL;
}

/* Adds the time that a brick's command waited for the end of a collective. */
struct waiting {
	uint32_t collective, brick;
	uint64_t ns;
};

COMPARATOR(collectives_by_waiter, struct waiting,
	ORDER(x->collective, y->collective) ?: ORDER(x->brick, y->brick))

COMPARATOR(collectives_by_exposed, struct collective,
	ORDER(y->exposed_ns, x->exposed_ns) ?: ORDER(y->time_ns, x->time_ns)
		?: ORDER(x->brick, y->brick))

static void collectives_finish(
	struct collectives *c, const struct run *run, struct waiting *waits, size_t wait_count)
{
	if (wait_count)
		qsort(waits, wait_count, sizeof(*waits), collectives_by_waiter);
	for (size_t i = 0, end; i < wait_count; i = end) {
		struct collective *one = &c->list[waits[i].collective];
		uint64_t ns = 0;
		for (end = i; end < wait_count && !collectives_by_waiter(&waits[i], &waits[end]);
			end++)
			ns += waits[end].ns;
		if (ns > one->waiter_ns) {
			one->waiter = waits[i].brick;
			one->waiter_ns = ns;
		}
	}
	for (size_t i = 0; i < c->count; i++) {
		struct collective *one = &c->list[i];
		double factor = collectives_bus_factor(run->bricks[one->brick].name, one->ranks);
		one->bytes_per_s = one->bytes ? known_ratio(one->bytes, one->sized_ns) * 1e9 : -1;
		one->bus_bytes_per_s =
			one->bytes_per_s >= 0 && factor >= 0 ? one->bytes_per_s * factor : -1;
	}
	if (c->count > 1)
		qsort(c->list, c->count, sizeof(*c->list), collectives_by_exposed);
}

int collectives_init(struct collectives *c, const struct run *run, const struct step_index *index,
	const struct gpu_spans *gpus, int phase)
{
	ARRAY(struct waiting) waits = {0};
	size_t capacity = 0, most = 0;
	int rc = 0;

	*c = (struct collectives){0};
	for (size_t g = 0; g < gpus->count; g++)
		most = gpus->list[g].span_count > most ? gpus->list[g].span_count : most;
	SCOPED struct computing *room = malloc((most + 1) * sizeof(*room));
	struct computings computing = {room, 0};
	if (!room)
		return -ENOMEM;
	for (size_t g = 0; g < gpus->count && rc == 0; g++) {
		const struct gpu *gpu = &gpus->list[g];
		size_t at = 0;
		collectives_take_computing(&computing, gpu);
		for (size_t i = 0; i < gpu->span_count && rc == 0; i++) {
			const struct gpu_span *s = &gpu->spans[i];
			if (s->work != GPU_COLLECTIVE ||
				!collectives_is_asked(run, index, s, phase))
				continue;
			struct collective *one =
				collectives_of(c, &capacity, run, &run->sites[s->site]);
			if (!one) {
				rc = -ENOMEM;
				break;
			}
			uint64_t length_ns = s->end_ns - s->begin_ns, hidden_ns = 0;
			uint64_t free_ns = s->begin_ns; /* nothing computed from then to the end */
			while (at < computing.count && computing.list[at].end_ns <= s->begin_ns)
				at++;
			for (size_t k = at;
				k < computing.count && computing.list[k].begin_ns < s->end_ns;
				k++) {
				const struct computing *with = &computing.list[k];
				uint64_t from_ns =
					with->begin_ns > s->begin_ns ? with->begin_ns : s->begin_ns;
				free_ns = with->end_ns < s->end_ns ? with->end_ns : s->end_ns;
				hidden_ns += free_ns - from_ns;
			}
			one->count++;
			one->time_ns += length_ns;
			one->exposed_ns += length_ns - hidden_ns;
			uint64_t bytes =
				s->command == RUN_NONE ? 0 : run->commands[s->command].bytes;
			one->bytes += bytes;
			one->sized_ns += bytes ? length_ns : 0;
			const struct gpu_span *next =
				free_ns < s->end_ns ? collectives_next_span(gpu, i + 1, s->end_ns)
						    : NULL;
			if (next)
				rc = array_push(&waits, (struct waiting){(uint32_t)(one - c->list),
								next->brick, s->end_ns - free_ns});
		}
	}
	if (rc == 0)
		collectives_finish(c, run, waits.items, waits.count);
	else
		collectives_fini(c);
	array_fini(&waits);
	return rc;
}

void collectives_fini(struct collectives *c)
{
	free(c->list);
	*c = (struct collectives){0};
}
