/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cuts what is nested, the waits behind it and the time off the CPU out of each execution, and
 * joins what lanes of one process did at the same time. Memory is some bytes for each piece of one
 * process, and nothing where only one lane of it recorded. Fed by a walk, for summaries and
 * rooflines.
 */
#include "analysis/work_accounts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/launches.h"
#include "analysis/unknown.h"
#include "analysis/work_owner.h"

unsigned work_phase(const struct run *run, const struct step_index *index, uint32_t lane,
	const struct walk_frame *frame)
{
	uint32_t step = frame->step;

	if (run->lanes[lane].kind == BRICK_LANE_QUEUE)
		step = launches_step(run, index, lane, frame->index);
	return step == RUN_NONE ? STEP_PHASES : run->steps[step].phase;
}

/*
 * What a device is given for one node may be several commands, of which the first tells of all the
 * work: those right behind it in its queue, of the same brick and layer, are parts of it.
 */
static enum work_owner owner_of(const struct work_accounts *a, const struct walk_frame *frame)
{
	const struct run_site *site = &a->run->sites[frame->sample->site];
	enum work_owner owner = a->owners[frame->sample->site];

	return owner == WORK_UNKNOWN && a->told_brick == frame->brick &&
			       a->told_layer == site->layer
		       ? WORK_PART
		       : owner;
}

/* A command of a queue has ended: whose work goes on? */
static void tell_work(
	struct work_accounts *a, const struct walk_frame *frame, enum work_owner owner)
{
	if (a->run->lanes[a->lane].kind != BRICK_LANE_QUEUE)
		return;
	a->told_brick = owner == WORK_UNKNOWN ? RUN_NONE : frame->brick;
	a->told_layer = a->run->sites[frame->sample->site].layer;
}

static bool is_counted(const struct work_accounts *a, const struct walk_frame *frame)
{
	return a->index->kinds[frame->brick] == BRICK_KIND_WORK &&
	       !a->run->sites[frame->sample->site].left_out &&
	       !(frame->sample->flags & RUN_SAMPLE_OPEN);
}

/* A piece of time in which it ran, less the time off its CPU. */
static void add_span(
	struct work_accounts *a, struct work_account *account, uint64_t begin_ns, uint64_t end_ns)
{
	const struct run_lane *lane = &a->run->lanes[a->lane];
	size_t off = lane->off_cpu_count ? run_off_cpu_from(lane, begin_ns) : 0;

	for (; off < lane->off_cpu_count && lane->off_cpu[off].begin_ns < end_ns; off++) {
		if (begin_ns < lane->off_cpu[off].begin_ns &&
			work_spans_add(&account->lane, begin_ns, lane->off_cpu[off].begin_ns))
			a->failed = true;
		begin_ns = lane->off_cpu[off].end_ns;
	}
	if (begin_ns < end_ns && work_spans_add(&account->lane, begin_ns, end_ns))
		a->failed = true;
}

/* The frame was running since its piece began, and is not any more. */
static void close_piece(
	struct work_accounts *a, const struct walk_frame *frame, unsigned depth, uint64_t end_ns)
{
	uint64_t begin_ns = a->piece_begin_ns[depth];

	if (end_ns <= begin_ns || owner_of(a, frame) == WORK_UNKNOWN || !is_counted(a, frame))
		return;
	size_t key = a->key(a->context, a->lane, frame);
	if (key != SIZE_MAX)
		add_span(a, &a->accounts[key], begin_ns, end_ns);
}

static void on_begin(void *context, const struct walk_frame *frame, unsigned depth)
{
	struct work_accounts *a = context;

	if (depth > 1)
		close_piece(a, frame - 1, depth - 1, frame->begin_ns);
	a->piece_begin_ns[depth] = frame->begin_ns;
}

static void on_end_of_piece(void *context, const struct walk_frame *frame, unsigned depth)
{
	struct work_accounts *a = context;

	close_piece(a, frame, depth, frame->end_ns);
	if (depth > 1)
		a->piece_begin_ns[depth - 1] = frame->end_ns + frame->wait_ns;
}

static void count_work(struct work_account *account, const struct run_site *site, uint64_t ns)
{
	account->told_ns += ns;
	account->count++;
	account->flops += site->flops;
	account->bytes += site->bytes;
	account->without_flops += !(site->flags & BRICK_SITE_HAS_FLOPS);
	account->without_bytes += !(site->flags & BRICK_SITE_HAS_BYTES);
	account->at_most += (site->flags & BRICK_SITE_AT_MOST) != 0;
}

static void on_end(void *context, const struct walk_frame *frame, unsigned depth)
{
	struct work_accounts *a = context;
	enum work_owner owner = owner_of(a, frame);
	uint64_t ns = frame->self_ns - frame->off.preempted_ns - frame->off.blocked_ns;

	(void)depth;
	tell_work(a, frame, owner);
	if (!is_counted(a, frame))
		return;
	size_t key = a->key(a->context, a->lane, frame);
	if (key == SIZE_MAX)
		return;
	struct work_account *account = &a->accounts[key];
	if (owner == WORK_UNKNOWN) {
		account->silent++;
		return;
	}
	account->busy_ns += ns;
	if (a->alone)
		account->alone_ns += ns;
	if (owner == WORK_OWN)
		count_work(account, &a->run->sites[frame->sample->site], ns);
}

/* Whether all other lanes of its process that have samples are of another kind. */
static bool is_alone(const struct run *run, uint32_t lane)
{
	for (uint32_t i = 0; i < run->lane_count; i++)
		if (i != lane && run->lanes[i].process == run->lanes[lane].process &&
			run->lanes[i].kind == run->lanes[lane].kind && run->lanes[i].sample_count)
			return false;
	return true;
}

static int on_lane(void *context, uint32_t lane)
{
	struct work_accounts *a = context;

	a->lane = lane;
	a->told_brick = RUN_NONE;
	a->alone = a->by_lane || is_alone(a->run, lane);
	return 1;
}

/* Alone, what it did at the same time as others needs no look. */
static int on_lane_of_spans(void *context, uint32_t lane)
{
	const struct work_accounts *a = context;

	(void)lane;
	return !a->alone;
}

static int on_lane_end(void *context, uint32_t lane)
{
	struct work_accounts *a = context;

	(void)lane;
	for (size_t i = 0; i < a->count; i++) {
		struct work_account *account = &a->accounts[i];
		struct work_spans none = account->all;
		if (!account->lane.end_ns)
			continue;
		if (!account->all.end_ns) {
			account->all = account->lane;
			account->lane = none;
		} else if (work_spans_unite(&account->all, &account->lane)) {
			return -ENOMEM;
		}
		work_spans_clear(&account->lane);
	}
	return a->failed ? -ENOMEM : 0;
}

/* Bricks, then categories: each has one for all phases behind those of its phases. */
static size_t key_of(size_t thing, int phase, int on_device)
{
	return (thing * (WORK_PHASES + 1) + (size_t)phase) * 2 + (on_device != 0);
}

static size_t category_thing(const struct run *run, uint32_t category)
{
	return run->brick_count + 1 + category;
}

/* The time of a brick in all phases. */
static int sum_brick(struct work_accounts *a, uint32_t brick, int on_device)
{
	struct work_spans all = {0};
	int rc = 0;

	for (int phase = 0; phase < WORK_PHASES && !rc; phase++) {
		const struct work_spans *spans = &a->accounts[key_of(brick, phase, on_device)].all;
		if (spans->end_ns)
			rc = work_spans_unite(&all, spans);
	}
	a->accounts[key_of(brick, WORK_ALL_PHASES, on_device)].wall_ns +=
		work_spans_length_ns(&all);
	free(all.spans);
	return rc;
}

/* The time of a category in one phase, and that in all. */
static int sum_category(struct work_accounts *a, uint32_t category, int phase, int on_device,
	struct work_spans *all)
{
	size_t thing = category_thing(a->run, category);
	struct work_spans of_phase = {0};
	int rc = 0;

	for (uint32_t b = 0; b < a->run->brick_count && !rc; b++) {
		const struct work_spans *spans = &a->accounts[key_of(b, phase, on_device)].all;
		if (a->run->bricks[b].category == category && spans->end_ns)
			rc = work_spans_unite(&of_phase, spans);
	}
	a->accounts[key_of(thing, phase, on_device)].wall_ns += work_spans_length_ns(&of_phase);
	if (!rc && of_phase.end_ns)
		rc = work_spans_unite(all, &of_phase);
	free(of_phase.spans);
	return rc;
}

static int sum_spans(struct work_accounts *a, int on_device)
{
	int rc = 0;

	for (uint32_t b = 0; b < a->run->brick_count && !rc; b++)
		rc = sum_brick(a, b, on_device);
	for (uint32_t c = 0; c < a->run->category_count && !rc; c++) {
		size_t key = key_of(category_thing(a->run, c), WORK_ALL_PHASES, on_device);
		struct work_spans all = {0};
		for (int phase = 0; phase < WORK_PHASES && !rc; phase++)
			rc = sum_category(a, c, phase, on_device, &all);
		a->accounts[key].wall_ns += work_spans_length_ns(&all);
		free(all.spans);
	}
	return rc;
}

static int on_process_end(void *context, uint32_t process)
{
	struct work_accounts *a = context;
	int rc = a->sums ? sum_spans(a, 0) : 0;

	(void)process;
	if (a->sums && !rc)
		rc = sum_spans(a, 1);
	for (size_t i = 0; i < a->count; i++) {
		if (!a->accounts[i].all.end_ns)
			continue;
		a->accounts[i].wall_ns += work_spans_length_ns(&a->accounts[i].all);
		work_spans_clear(&a->accounts[i].all);
	}
	return rc;
}

/* All but the time, of which some may have been at the same time. */
static void add_account(struct work_account *to, const struct work_account *from)
{
	to->alone_ns += from->alone_ns;
	to->busy_ns += from->busy_ns;
	to->told_ns += from->told_ns;
	to->count += from->count;
	to->silent += from->silent;
	to->flops += from->flops;
	to->bytes += from->bytes;
	to->without_flops += from->without_flops;
	to->without_bytes += from->without_bytes;
	to->at_most += from->at_most;
}

static void sum_work(struct work_accounts *a, uint32_t brick, int phase, int on_device)
{
	const struct work_account *from = &a->accounts[key_of(brick, phase, on_device)];
	size_t category = category_thing(a->run, a->run->bricks[brick].category);

	add_account(&a->accounts[key_of(brick, WORK_ALL_PHASES, on_device)], from);
	add_account(&a->accounts[key_of(category, phase, on_device)], from);
	add_account(&a->accounts[key_of(category, WORK_ALL_PHASES, on_device)], from);
}

static int finish(void *context)
{
	struct work_accounts *a = context;

	for (uint32_t b = 0; b < a->run->brick_count && a->sums; b++)
		for (int phase = 0; phase < WORK_PHASES; phase++) {
			sum_work(a, b, phase, 0);
			sum_work(a, b, phase, 1);
		}
	for (size_t i = 0; i < a->count; i++)
		a->accounts[i].wall_ns += a->accounts[i].alone_ns;
	return 0;
}

static const struct walk_ops ops = {.begin_lane = on_lane, .end = on_end, .finish = finish};
static const struct walk_ops span_ops = {.begin_lane = on_lane_of_spans,
	.begin = on_begin,
	.end = on_end_of_piece,
	.end_lane = on_lane_end,
	.end_process = on_process_end};

int work_accounts_init(
	struct work_accounts *a, struct walk *walk, size_t count, work_key_fn key, void *context)
{
	const struct run *run = walk->run;

	memset(a, 0, sizeof(*a));
	a->run = run;
	a->index = walk->index;
	a->count = count;
	a->key = key;
	a->context = context;
	a->accounts = calloc(a->count + 1, sizeof(*a->accounts));
	a->owners = calloc(run->site_count + 1, 1);
	if (!a->accounts || !a->owners || work_owners(a->owners, run) < 0) {
		work_accounts_fini(a);
		return -ENOMEM;
	}
	walk_join(walk, &ops, a);
	walk_join(walk, &span_ops, a);
	return 0;
}

void work_accounts_fini(struct work_accounts *a)
{
	for (size_t i = 0; a->accounts && i < a->count; i++) {
		free(a->accounts[i].all.spans);
		free(a->accounts[i].lane.spans);
	}
	free(a->accounts);
	free(a->owners);
	memset(a, 0, sizeof(*a));
}

const struct work_account *work_of_brick(
	const struct work_accounts *a, uint32_t brick, int phase, int on_device)
{
	return &a->accounts[key_of(brick, phase, on_device)];
}

const struct work_account *work_of_category(
	const struct work_accounts *a, uint32_t category, int phase, int on_device)
{
	return &a->accounts[key_of(category_thing(a->run, category), phase, on_device)];
}

static size_t shared_key(void *context, uint32_t lane, const struct walk_frame *frame)
{
	const struct work_accounts *a = context;
	int on_device = a->run->lanes[lane].kind == BRICK_LANE_QUEUE;

	return key_of(frame->brick, (int)work_phase(a->run, a->index, lane, frame), on_device);
}

struct work_accounts *work_accounts_get(struct walk *walk, bool sums)
{
	size_t things = category_thing(walk->run, (uint32_t)walk->run->category_count + 1);
	struct work_accounts *a = walk->work;

	if (!a) {
		a = malloc(sizeof(*a));
		if (!a || work_accounts_init(a, walk, key_of(things, 0, 0), shared_key, a) < 0) {
			free(a);
			return NULL;
		}
		walk->work = a;
	}
	a->sums |= sums;
	a->users++;
	return a;
}

void work_accounts_put(struct work_accounts *a)
{
	if (!a || --a->users)
		return;
	work_accounts_fini(a);
	free(a);
}
