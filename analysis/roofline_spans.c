/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cuts what is nested and the waits behind it out of each execution, and joins
 * what threads of one process did at the same time. Memory is that of the pieces of one process.
 * Called by roofline_create(), fed by its walk.
 */
#include "analysis/roofline_spans.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/launches.h"
#include "analysis/work_owner.h"
#include "base/array.h"

static int append(struct roofline_spans *s, uint64_t begin_ns, uint64_t end_ns)
{
	struct roofline_span *last = s->count ? &s->spans[s->count - 1] : NULL;

	if (last && begin_ns <= last->end_ns) {
		last->end_ns = end_ns > last->end_ns ? end_ns : last->end_ns;
		return 0;
	}
	struct roofline_span *spans =
		array_grow(s->spans, &s->capacity, s->count + 1, sizeof(*spans));
	if (!spans)
		return -ENOMEM;
	s->spans = spans;
	s->spans[s->count++] = (struct roofline_span){begin_ns, end_ns};
	return 0;
}

/* all becomes the union of both; lane becomes empty. */
static int unite(struct roofline_spans *all, struct roofline_spans *lane)
{
	struct roofline_spans both = {0}, none = *all;
	size_t i = 0, k = 0;
	int rc = 0;

	if (!all->count) {
		*all = *lane;
		*lane = none;
		return 0;
	}
	while (!rc && (i < all->count || k < lane->count)) {
		int ours = k == lane->count ||
			   (i < all->count && all->spans[i].begin_ns <= lane->spans[k].begin_ns);
		const struct roofline_span *next = ours ? &all->spans[i++] : &lane->spans[k++];
		rc = append(&both, next->begin_ns, next->end_ns);
	}
	free(all->spans);
	*all = both;
	lane->count = 0;
	return rc;
}

/* What a device did belongs to the step that launched it, as in the report. */
static enum roofline_phase phase_of(
	const struct roofline_accounts *a, const struct walk_frame *frame)
{
	uint32_t step = frame->step;

	if (a->run->lanes[a->lane].kind == BRICK_LANE_QUEUE)
		step = launches_step(a->run, a->index, a->lane, frame->index);
	if (step == RUN_NONE)
		return ROOFLINE_OUTSIDE;
	return (enum roofline_phase)a->run->steps[step].phase;
}

static struct roofline_account *account_of(
	struct roofline_accounts *a, const struct walk_frame *frame)
{
	size_t on_device = a->run->lanes[a->lane].kind == BRICK_LANE_QUEUE;
	size_t phase = phase_of(a, frame);

	return &a->accounts[(frame->brick * ROOFLINE_PHASES + phase) * 2 + on_device];
}

/*
 * What a device is given for one node may be several commands, of which the first tells of all the
 * work: those right behind it in its queue, of the same brick and layer, are parts of it.
 */
static enum work_owner owner_of(const struct roofline_accounts *a, const struct walk_frame *frame)
{
	const struct run_site *site = &a->run->sites[frame->sample->site];
	enum work_owner owner = a->owners[frame->sample->site];

	return owner == WORK_UNKNOWN && a->on_queue && a->told_brick == frame->brick &&
			       a->told_layer == site->layer
		       ? WORK_PART
		       : owner;
}

/* A command of a queue has begun: whose work goes on? */
static void tell_work(struct roofline_accounts *a, const struct walk_frame *frame)
{
	enum work_owner owner = owner_of(a, frame);

	a->told_brick = owner == WORK_UNKNOWN ? RUN_NONE : frame->brick;
	a->told_layer = a->run->sites[frame->sample->site].layer;
}

static int is_counted(const struct roofline_accounts *a, const struct walk_frame *frame)
{
	return a->index->kinds[frame->brick] == BRICK_KIND_WORK &&
	       owner_of(a, frame) != WORK_UNKNOWN && !a->run->sites[frame->sample->site].left_out &&
	       !(frame->sample->flags & RUN_SAMPLE_OPEN);
}

/* On its CPU. */
static void count_piece(struct roofline_accounts *a, struct roofline_account *account,
	const struct walk_frame *frame, uint64_t begin_ns, uint64_t end_ns)
{
	if (end_ns <= begin_ns)
		return;
	account->busy_ns += end_ns - begin_ns;
	if (owner_of(a, frame) == WORK_OWN)
		account->told_ns += end_ns - begin_ns;
	if (append(&account->lane, begin_ns, end_ns))
		a->failed = 1;
}

/* The frame was running since its piece began, and is not any more. */
static void close_piece(struct roofline_accounts *a, const struct walk_frame *frame, unsigned depth,
	uint64_t end_ns)
{
	uint64_t begin_ns = a->piece_begin_ns[depth];
	struct roofline_account *account = account_of(a, frame);

	if (!is_counted(a, frame) || end_ns <= begin_ns)
		return;
	const struct run_lane *lane = &a->run->lanes[a->lane];
	size_t off = run_off_cpu_from(lane, begin_ns);
	for (; off < lane->off_cpu_count && lane->off_cpu[off].begin_ns < end_ns; off++) {
		count_piece(a, account, frame, begin_ns, lane->off_cpu[off].begin_ns);
		begin_ns = lane->off_cpu[off].end_ns;
	}
	count_piece(a, account, frame, begin_ns, end_ns);
}

static void on_begin(void *context, const struct walk_frame *frame, unsigned depth)
{
	struct roofline_accounts *a = context;

	if (depth > 1)
		close_piece(a, frame - 1, depth - 1, frame->begin_ns);
	a->piece_begin_ns[depth] = frame->begin_ns;
	if (a->on_queue)
		tell_work(a, frame);
}

static void count_work(struct roofline_account *account, const struct run_site *site)
{
	account->count++;
	account->flops += site->flops;
	account->bytes += site->bytes;
	account->without_flops += !(site->flags & BRICK_SITE_HAS_FLOPS);
	account->without_bytes += !(site->flags & BRICK_SITE_HAS_BYTES);
	account->at_most += (site->flags & BRICK_SITE_AT_MOST) != 0;
}

static void on_end(void *context, const struct walk_frame *frame, unsigned depth)
{
	struct roofline_accounts *a = context;
	struct roofline_account *account = account_of(a, frame);
	enum work_owner owner = owner_of(a, frame);

	close_piece(a, frame, depth, frame->end_ns);
	if (depth > 1)
		a->piece_begin_ns[depth - 1] = frame->end_ns + frame->wait_ns;
	if (a->index->kinds[frame->brick] != BRICK_KIND_WORK ||
		a->run->sites[frame->sample->site].left_out ||
		frame->sample->flags & RUN_SAMPLE_OPEN)
		return;
	if (owner == WORK_OWN)
		count_work(account, &a->run->sites[frame->sample->site]);
	else if (owner == WORK_UNKNOWN)
		account->silent++;
}

static int on_lane(void *context, uint32_t lane)
{
	struct roofline_accounts *a = context;
	a->lane = lane;
	a->on_queue = a->run->lanes[lane].kind == BRICK_LANE_QUEUE;
	a->told_brick = RUN_NONE;
	return 1;
}

static int on_lane_end(void *context, uint32_t lane)
{
	struct roofline_accounts *a = context;
	(void)lane;
	for (size_t i = 0; i < a->count; i++)
		if (a->accounts[i].lane.count && unite(&a->accounts[i].all, &a->accounts[i].lane))
			return -ENOMEM;
	return a->failed ? -ENOMEM : 0;
}

static int on_process_end(void *context, uint32_t process)
{
	struct roofline_accounts *a = context;
	(void)process;
	for (size_t i = 0; i < a->count; i++) {
		struct roofline_spans *all = &a->accounts[i].all;
		for (size_t k = 0; k < all->count; k++)
			a->accounts[i].wall_ns += all->spans[k].end_ns - all->spans[k].begin_ns;
		all->count = 0;
	}
	return 0;
}

static const struct walk_ops ops = {.begin_lane = on_lane,
	.begin = on_begin,
	.end = on_end,
	.end_lane = on_lane_end,
	.end_process = on_process_end};

int roofline_accounts_init(struct roofline_accounts *a, struct walk *walk)
{
	const struct run *run = walk->run;
	memset(a, 0, sizeof(*a));
	a->run = run;
	a->index = walk->index;
	a->count = run->brick_count * ROOFLINE_PHASES * 2;
	a->accounts = calloc(a->count + 1, sizeof(*a->accounts));
	a->owners = calloc(run->site_count + 1, 1);
	if (!a->accounts || !a->owners || work_owners(a->owners, run) < 0) {
		roofline_accounts_fini(a);
		return -ENOMEM;
	}
	walk_join(walk, &ops, a);
	return 0;
}

void roofline_accounts_fini(struct roofline_accounts *a)
{
	for (size_t i = 0; a->accounts && i < a->count; i++) {
		free(a->accounts[i].all.spans);
		free(a->accounts[i].lane.spans);
	}
	free(a->accounts);
	free(a->owners);
	memset(a, 0, sizeof(*a));
}
