/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Goes through windows of a run in the order of time. A tree of sums over places holds the own
 * bytes of each node at the place where it was last executed, so a distance is one sum.
 */
#include "analysis/roofline/reuse.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/accounts/work_accounts.h"
#include "base/order.h"
#include "base/scope.h"

enum {
	WINDOWS = 4,	    /* steps of each phase that are looked at */
	ACCESSES = 1 << 17, /* of a window, at most */
	STEPS_BACK = 64,    /* steps that are searched for the one before a window's */
	PASSED_OPERATIONS =
		8,   /* FLOPs for an element; with more, the result is a sum over own data */
	ELEMENT = 4, /* bytes of data that are passed on: engines compute in f32 */
};

/* An execution in a window. */
struct access {
	uint64_t begin_ns;
	uint32_t site;
	uint32_t thing;	 /* the number of its node: see find_things() */
	uint64_t own;	 /* bytes of its own data */
	uint64_t passed; /* bytes of data that pass through */
	bool counts;	 /* it goes into the result; false: it only comes before */
};

/* A step and the step before it, whose executions are gone through. */
struct window {
	const struct run *run;
	const uint32_t *things; /* [site_count]: as find_things() says */
	uint32_t process;
	uint8_t phase;
	bool on_device;
	uint64_t from_ns, begin_ns, end_ns; /* executions count from begin_ns on */
	uint64_t tokens;		    /* of the step */
	ARRAY(struct access) accesses;
	struct reuse *out;
};

/* Nodes. */

COMPARATOR(compare_sites, struct run_site *const, work_compare_nodes(*x, *y))

/* A number for each site, the same for sites of one node; the caller frees. NULL: no memory. */
static uint32_t *find_things(const struct run *run)
{
	SCOPED const struct run_site **sites = calloc(run->site_count + 1, sizeof(*sites));
	uint32_t *things = calloc(run->site_count + 1, sizeof(*things)), thing = 0;

	if (!sites || !things) {
		free(things);
		return NULL;
	}
	for (size_t i = 0; i < run->site_count; i++)
		sites[i] = &run->sites[i];
	qsort(sites, run->site_count, sizeof(*sites), compare_sites);
	for (size_t i = 0; i < run->site_count; i++) {
		thing += i && work_compare_nodes(sites[i - 1], sites[i]);
		things[sites[i] - run->sites] = thing;
	}
	return things;
}

/* True if executions of the site find the same data again: else it may stand for many nodes. */
static bool is_one_node(const struct run_site *site, uint32_t times_in_step)
{
	return site->layer >= 0 || site->label || times_in_step == 1;
}

/* The bytes of an execution that are its own data. */
static uint64_t own_bytes(const struct run_site *site, uint64_t tokens)
{
	uint64_t n = site->flags & BRICK_SITE_HAS_ELEMENTS ? site->elements : 0;

	if (!n)
		return site->bytes;
	if (!(site->flags & BRICK_SITE_HAS_FLOPS) || site->flops / n <= PASSED_OPERATIONS)
		return 0;
	/* The result, and for each token the vector that its elements are sums over. */
	double length = (double)site->flops / 2 / (double)n;
	double passed = ELEMENT * ((double)n + length * (double)(tokens ? tokens : 1));
	double half = (double)site->bytes / 2;

	return site->bytes - (uint64_t)(passed < half ? passed : half);
}

/* A window. */

COMPARATOR(compare_accesses, struct access, ORDER(x->begin_ns, y->begin_ns))

static int reuse_add_lane(struct window *w, const struct run_lane *lane)
{
	for (size_t i = run_sample_from(lane, w->from_ns); i < lane->sample_count; i++) {
		const struct run_sample *sample = &lane->samples[i];
		const struct run_site *site = &w->run->sites[sample->site];
		if (sample->begin_ns >= w->end_ns || w->accesses.count >= ACCESSES)
			return 0;
		if (!(site->flags & BRICK_SITE_HAS_BYTES) || sample->flags & RUN_SAMPLE_OPEN)
			continue;
		uint64_t own = own_bytes(site, w->tokens);
		if (array_push(&w->accesses,
			    (struct access){sample->begin_ns, sample->site, w->things[sample->site],
				    own, site->bytes - own, sample->begin_ns >= w->begin_ns}))
			return -ENOMEM;
	}
	return 0;
}

static int add_lanes(struct window *w)
{
	size_t lanes = 0;

	w->accesses.count = 0;
	for (size_t i = 0; i < w->run->lane_count; i++) {
		const struct run_lane *lane = &w->run->lanes[i];
		size_t before = w->accesses.count;
		if (lane->process != w->process || (lane->kind == BRICK_LANE_QUEUE) != w->on_device)
			continue;
		if (reuse_add_lane(w, lane))
			return -ENOMEM;
		lanes += w->accesses.count > before;
	}
	if (lanes > 1)
		array_sort(&w->accesses, compare_accesses);
	return 0;
}

/* A Fenwick tree over places: tree[i] sums up places (i - (i & -i), i]. */
static void tree_add(uint64_t *tree, size_t count, size_t place, uint64_t bytes)
{
	for (size_t i = place + 1; i <= count; i += i & -i)
		tree[i] += bytes;
}

static uint64_t tree_below(const uint64_t *tree, size_t place)
{
	uint64_t sum = 0;

	for (size_t i = place; i; i -= i & -i)
		sum += tree[i];
	return sum;
}

static int reuse_add_part(struct window *w, const struct access *a, bool own, uint64_t distance)
{
	uint64_t bytes = own ? a->own : a->passed;
	struct reuse_part part = {.brick = w->run->sites[a->site].brick,
		.phase = w->phase,
		.on_device = w->on_device,
		.own = own,
		.distance = distance,
		.bytes = (double)bytes};

	return bytes ? array_push(&w->out->parts, part) : 0;
}

static int add_access(struct window *w, size_t i, uint64_t distance)
{
	const struct access *a = &w->accesses.items[i];
	const struct access *before = i ? a - 1 : NULL;
	uint64_t passed = a->own + a->passed + (before ? before->own + before->passed : 0);

	if (!a->counts)
		return 0;
	int rc = reuse_add_part(w, a, true, distance);
	return rc ? rc : reuse_add_part(w, a, false, passed);
}

static int go_through(struct window *w)
{
	const struct access *list = w->accesses.items;
	size_t count = w->accesses.count;
	uint64_t all = 0, passed = 0; /* the most of one access */
	for (size_t i = 0; i < count; i++)
		passed = list[i].passed > passed ? list[i].passed : passed;
	SCOPED uint64_t *tree = calloc(count + 1, sizeof(*tree));
	SCOPED size_t *last = calloc(w->run->site_count + 1, sizeof(*last)); /* + 1; 0: none */
	SCOPED uint32_t *times = calloc(w->run->site_count + 1, sizeof(*times));
	int rc = tree && last && times ? 0 : -ENOMEM;

	for (size_t i = 0; i < count && !rc; i++)
		times[list[i].thing] += list[i].counts && w->phase < STEP_PHASES;
	for (size_t i = 0; i < count && !rc; i++) {
		const struct access *a = &list[i];
		size_t place = last[a->thing];
		uint64_t distance = REUSE_UNKNOWN;
		if (place && is_one_node(&w->run->sites[a->site], times[a->thing]))
			distance = all - tree_below(tree, place) + a->own + passed;
		/* at the beginning of a run each node is executed for the first time */
		if (place || w->phase < STEP_PHASES)
			rc = add_access(w, i, distance);
		if (place) {
			tree_add(tree, count, place - 1, -list[place - 1].own);
			all -= list[place - 1].own;
		}
		tree_add(tree, count, i, a->own);
		all += a->own;
		last[a->thing] = i + 1;
	}
	return rc;
}

/* A decode that no step is before comes after one that was the same. */
static int reuse_repeat(struct window *w)
{
	size_t count = w->accesses.count;

	if (w->from_ns < w->begin_ns || w->phase != STEP_DECODE)
		return 0;
	if (array_reserve(&w->accesses, count))
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		w->accesses.items[count + i] = w->accesses.items[i];
		w->accesses.items[i].counts = false;
	}
	w->accesses.count = 2 * count;
	return 0;
}

static int take_window(struct window *w)
{
	int rc = 0;

	for (int device = 0; device < 2 && !rc; device++) {
		w->on_device = device;
		rc = add_lanes(w);
		if (!rc)
			rc = reuse_repeat(w);
		if (!rc)
			rc = go_through(w);
	}
	return rc;
}

/* The steps to look at. */

/* The step of its process before it, of the same model; the step itself: there is none. */
static uint32_t reuse_step_before(
	const struct run *run, const struct step_index *index, uint32_t step)
{
	uint32_t process = run->lanes[run->steps[step].lane].process;
	uint32_t first = index->process_first[process], place = first;

	while (place < index->process_first[process + 1] && index->by_process[place] != step)
		place++;
	for (uint32_t back = 1; back <= STEPS_BACK && place >= first + back; back++) {
		uint32_t before = index->by_process[place - back];
		if (run->steps[before].is_draft == run->steps[step].is_draft &&
			run->steps[before].begin_ns < run->steps[step].begin_ns)
			return before;
	}
	return step;
}

static int take_phase(struct window *w, const struct step_index *index, int phase)
{
	const struct run *run = w->run;
	SCOPED uint32_t *steps = calloc(run->step_count + 1, sizeof(*steps));
	size_t count = 0, last = SIZE_MAX;
	int rc = steps ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < run->step_count && !rc; i++)
		if (step_index_is_evaluated(index, run, i) && (int)run->steps[i].phase == phase)
			steps[count++] = i;
	for (size_t i = 0; i < WINDOWS && count && !rc; i++) {
		size_t at = (2 * i + 1) * count / (2 * WINDOWS);
		if (at == last)
			continue;
		last = at;
		uint32_t step = steps[at];
		const struct run_step *of = &w->run->steps[step];
		w->process = w->run->lanes[of->lane].process;
		w->phase = (uint8_t)of->phase;
		w->from_ns = w->run->steps[reuse_step_before(w->run, index, step)].begin_ns;
		w->begin_ns = of->begin_ns;
		w->end_ns = index->tails[step].end_ns;
		w->tokens = of->tokens;
		rc = take_window(w);
	}
	return rc;
}

static int take_beginning(struct window *w)
{
	int rc = 0;

	w->phase = STEP_PHASES;
	w->end_ns = UINT64_MAX;
	for (uint32_t i = 0; i < w->run->process_count && !rc; i++) {
		w->process = i;
		rc = take_window(w);
	}
	return rc;
}

COMPARATOR(reuse_compare_parts, struct reuse_part,
	ORDER(x->brick, y->brick) ?: ORDER(x->phase, y->phase) ?: ORDER(x->on_device, y->on_device)
		?: ORDER(y->distance, x->distance))

int reuse_init(struct reuse *reuse, const struct run *run, const struct step_index *index)
{
	SCOPED uint32_t *things = find_things(run);
	struct window w = {.run = run, .things = things, .out = reuse};
	int rc = things ? 0 : -ENOMEM;

	*reuse = (struct reuse){0};
	for (int phase = 0; phase < STEP_PHASES && !rc; phase++)
		rc = take_phase(&w, index, phase);
	if (!run->step_count && !rc)
		rc = take_beginning(&w);
	array_fini(&w.accesses);
	if (rc)
		reuse_fini(reuse);
	else
		array_sort(&reuse->parts, reuse_compare_parts);
	return rc;
}

void reuse_fini(struct reuse *reuse)
{
	array_fini(&reuse->parts);
}

static int reuse_compare_key(const struct reuse_part *p, uint32_t brick, int phase, bool on_device)
{
	return ORDER(p->brick, brick) ?: ORDER(p->phase, phase) ?: ORDER(p->on_device, on_device);
}

const struct reuse_part *reuse_parts(
	const struct reuse *reuse, uint32_t brick, int phase, bool on_device, size_t *count)
{
	const struct reuse_part *list = reuse->parts.items;
	size_t first = BISECT(
		i, 0, reuse->parts.count, reuse_compare_key(&list[i], brick, phase, on_device) < 0);
	size_t end = BISECT(i, first, reuse->parts.count,
		reuse_compare_key(&list[i], brick, phase, on_device) <= 0);

	*count = end - first;
	return *count ? list + first : NULL;
}
