/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collects executions of each kind of work into blocks, and adds up a block when it is full. Blocks
 * exist only for kinds that were executed, so memory grows with kinds, not with executions.
 */
#include "analysis/explain/repeats.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/statistics/percentile.h"
#include "base/hash.h"
#include "base/hashmap.h"
#include "base/number.h"
#include "base/order.h"

enum {
	LEAST = 8,	      /* fewer executions have no median that says much */
	LONGER_NS = 5000,     /* timer ticks and cold caches take less than that */
	LONG_WAIT_NS = 20000, /* a barrier's own time is far below */
};

struct repeats_block {
	uint32_t count, brick;
	uint32_t own_ns[REPEATS_BLOCK], wait_ns[REPEATS_BLOCK];
};

/* Where the sites of one kind are the same; layers and labels differ. */
static bool repeats_is_same(const struct run_site *a, const struct run_site *b)
{
	return a->brick == b->brick && a->flops == b->flops && a->bytes == b->bytes &&
	       a->elements == b->elements && a->flags == b->flags &&
	       text_is_same(a->operation, b->operation);
}

/*
 * One name of PyTorch's stands for executions of any size, where nobody asked for their inputs; and
 * so does a name of the libraries that its operators call.
 */
static bool repeats_is_sized(const struct run_site *site, bool is_torch)
{
	const char *name = site->operation ? site->operation : "";

	is_torch = is_torch || !strncmp(name, "aten::", 6) || strstr(name, "Backward");
	return !is_torch || site->flops || site->bytes || site->elements;
}

static int find_kinds(struct repeats *r)
{
	const struct run *run = r->run;
	bool is_torch = run_note_find(run, "torch.version") != NULL;
	struct hashmap last = {0}; /* of sites with that hash */
	uint32_t *before = calloc(run->site_count + 1, sizeof(*before));
	int rc = before ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < run->site_count && !rc; i++) {
		const struct run_site *site = &run->sites[i];
		uint64_t key =
			hash_u64(site->brick ^
				 hash_u64(site->flops ^ hash_u64(site->bytes ^ site->elements)));
		const char *brick = run->bricks[site->brick].name;
		bool is_alike = strcmp(brick, "Compilation") && strcmp(brick, "Recompilation");
		if (!is_alike || !repeats_is_sized(site, is_torch)) {
			r->kinds[i] = RUN_NONE; /* each may be of other work */
			continue;
		}
		uint64_t found = hashmap_get(&last, key);
		before[i] = found == HASHMAP_NONE ? RUN_NONE : (uint32_t)found;
		r->kinds[i] = i;
		for (uint32_t k = before[i]; k != RUN_NONE; k = before[k])
			if (repeats_is_same(&run->sites[k], site)) {
				r->kinds[i] = r->kinds[k];
				break;
			}
		if (r->kinds[i] == i)
			rc = hashmap_set(&last, key, i);
	}
	free(before);
	hashmap_fini(&last);
	return rc;
}

COMPARATOR(repeats_ascending, uint32_t, ORDER(*x, *y))

static uint32_t repeats_median(const uint32_t *values, uint32_t count)
{
	uint32_t sorted[REPEATS_BLOCK];

	memcpy(sorted, values, count * sizeof(*sorted));
	qsort(sorted, count, sizeof(*sorted), repeats_ascending);
	return sorted[(count - 1) / 2];
}

static void repeats_add_block(struct repeats_sums *sums, struct repeats_block *b)
{
	uint32_t count = b->count;

	b->count = 0;
	if (count < LEAST)
		return;
	uint32_t own = repeats_median(b->own_ns, count), wait = repeats_median(b->wait_ns, count);
	uint32_t usual = own / 2 > LONGER_NS ? own / 2 : LONGER_NS;
	sums->count += count;
	for (uint32_t i = 0; i < count; i++) {
		sums->own_ns += b->own_ns[i];
		sums->waits_ns += b->wait_ns[i];
		uint32_t more = b->own_ns[i] > own ? b->own_ns[i] - own : 0;
		sums->most_ns += more;
		if (more > usual) {
			sums->held_up++;
			sums->held_up_ns += more;
			sums->least_ns += more - usual;
		}
		if (b->wait_ns[i] > wait + LONG_WAIT_NS) {
			sums->long_waits++;
			sums->long_waits_ns += b->wait_ns[i] - wait;
		}
	}
}

/* Time for which any thread of the lane's process was preempted between two moments. */
static uint64_t repeats_preempted_ns(
	const struct run *run, uint32_t process, uint64_t begin_ns, uint64_t end_ns)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < run->lane_count; i++)
		if (run->lanes[i].process == process && run->lanes[i].off_cpu_count)
			ns += run_off_cpu_between(&run->lanes[i], begin_ns, end_ns).preempted_ns;
	return ns;
}

static uint32_t repeats_clip(uint64_t ns)
{
	return ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
}

static void repeats_on_end(void *context, const struct walk_frame *frame, unsigned depth)
{
	struct repeats *r = context;
	const struct run *run = r->run;

	(void)depth;
	if (frame->scope != WALK_IN_STEP || frame->is_step ||
		r->index->kinds[frame->brick] != BRICK_KIND_WORK ||
		run->sites[frame->sample->site].left_out ||
		!step_index_is_evaluated(r->index, run, frame->step))
		return;
	int phase = (int)step_phase_of(&run->steps[frame->step]);
	uint32_t kind = r->kinds[frame->sample->site];
	if (kind == RUN_NONE || frame->step == r->slow_first[phase])
		return;
	struct repeats_block **at = &r->blocks[(size_t)phase * run->site_count + kind];
	if (!*at && !(*at = calloc(1, sizeof(**at)))) {
		r->failed = true;
		return;
	}
	struct repeats_block *b = *at;
	uint64_t wait_ns = frame->inner_ns + frame->wait_ns;
	if (wait_ns > LONG_WAIT_NS)
		wait_ns = number_minus(wait_ns,
			repeats_preempted_ns(run, run->lanes[run->steps[frame->step].lane].process,
				frame->begin_ns, frame->end_ns + frame->wait_ns));
	b->brick = frame->brick;
	b->own_ns[b->count] = repeats_clip(
		number_minus(frame->self_ns, frame->off.preempted_ns + frame->off.blocked_ns));
	b->wait_ns[b->count] = repeats_clip(wait_ns);
	if (++b->count == REPEATS_BLOCK)
		repeats_add_block(&r->sums[(size_t)phase * run->brick_count + b->brick], b);
}

static int repeats_finish(void *context)
{
	struct repeats *r = context;

	for (size_t i = 0; i < STEP_PHASES * r->run->site_count; i++)
		if (r->blocks[i])
			repeats_add_block(&r->sums[i / r->run->site_count * r->run->brick_count +
						   r->blocks[i]->brick],
				r->blocks[i]);
	return r->failed ? -ENOMEM : 0;
}

static const struct walk_ops repeats_ops = {.end = repeats_on_end, .finish = repeats_finish};

/*
 * A step that is slow because it is the first makes what later steps find: kernels, buffers, warm
 * caches. It is no neighbour of theirs.
 */
static int find_slow_first(struct repeats *r)
{
	const struct run *run = r->run;
	uint64_t *ns = malloc((run->step_count + 1) * sizeof(*ns));

	if (!ns)
		return -ENOMEM;
	for (int phase = 0; phase < STEP_PHASES; phase++) {
		uint32_t first = RUN_NONE;
		size_t others = 0;
		for (uint32_t i = 0; i < run->step_count; i++) {
			const struct run_step *s = &run->steps[i];
			if ((int)step_phase_of(s) != phase ||
				!step_index_is_evaluated(r->index, run, i))
				continue;
			if (first == RUN_NONE)
				first = i;
			else
				ns[others++] = s->end_ns - s->begin_ns;
		}
		r->slow_first[phase] = RUN_NONE;
		percentile_sort(ns, others);
		if (others && run->steps[first].end_ns - run->steps[first].begin_ns >=
				      SLOW_STEP * ns[(others - 1) / 2])
			r->slow_first[phase] = first;
	}
	free(ns);
	return 0;
}

int repeats_create_in(struct repeats **out, struct walk *walk)
{
	struct repeats *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->run = walk->run;
	r->index = walk->index;
	r->kinds = calloc(r->run->site_count + 1, sizeof(*r->kinds));
	r->blocks = calloc(STEP_PHASES * r->run->site_count + 1, sizeof(struct repeats_block *));
	r->sums = calloc(STEP_PHASES * r->run->brick_count + 1, sizeof(*r->sums));
	if (!r->kinds || !r->blocks || !r->sums || find_kinds(r) || find_slow_first(r)) {
		repeats_destroy(r);
		return -ENOMEM;
	}
	walk_join(walk, &repeats_ops, r);
	*out = r;
	return 0;
}

void repeats_destroy(struct repeats *r)
{
	if (!r)
		return;
	for (size_t i = 0; r->blocks && i < STEP_PHASES * r->run->site_count; i++)
		free(r->blocks[i]);
	free(r->blocks);
	free(r->kinds);
	free(r->sums);
	free(r);
}
