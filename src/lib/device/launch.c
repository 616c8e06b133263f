/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host's side of a command: the call that launches it, which is a brick on the thread, and the
 * wait for it. This runs around every launch of a program, so nothing here locks once "Launch" is
 * registered.
 */
#include "brick/attach.h"

#include <stdbool.h>
#include "brick/queue.h"
#include "lib/session/registry_tables.h"
#include "lib/probe/ring.h"
#include "lib/probe/sample.h"
#include "lib/sys/ticks.h"
#include "lib/session/session_lanes.h"
#include "lib/probe/waits.h"

__thread uint32_t brick__in_backend __attribute__((tls_model("initial-exec")));

static __thread const struct brick_launch_owner *thread_owner
	__attribute__((tls_model("initial-exec")));

static __thread int owner_is_new __attribute__((tls_model("initial-exec")));
static uint64_t launch_last_number;
static uint32_t launch_brick; /* id; 0: not registered yet (0 itself is RmsNorm) */

uint64_t brick_launch_number(void)
{
	return __atomic_add_fetch(&launch_last_number, 1, __ATOMIC_RELAXED);
}

/* Without an entry for it the calls are phases of the engine's computation. */
static uint32_t register_launch(void)
{
	int id = brick__register("Launch", BRICK_CATEGORY_ENGINE);
	uint32_t brick = id > 0 ? (uint32_t)id : BRICK_GRAPH_COMPUTE;

	__atomic_store_n(&launch_brick, brick, __ATOMIC_RELAXED);
	return brick;
}

static bool launch_is_work(uint32_t brick)
{
	uint32_t category = brick_category_of(brick);
	return category != BRICK_CATEGORY_STEP && category != BRICK_CATEGORY_WAIT &&
	       category != BRICK_CATEGORY_ENGINE && category != BRICK_CATEGORY_TILE;
}

/* The innermost open brick that computes something; NULL: there is none. */
static const struct brick_frame *find_work(const struct brick_lane *lane)
{
	for (uint32_t i = brick_lane_open(lane); i > 0; i--)
		if (launch_is_work(lane->frames[i - 1].brick))
			return &lane->frames[i - 1];
	return NULL;
}

/* Finds the brick that the command works for. */
static void find_parent(struct brick_launch *launch, const struct brick_lane *lane)
{
	const struct brick_frame *frame = find_work(lane);

	launch->brick = frame ? frame->brick : thread_owner ? thread_owner->brick : BRICK_NONE;
	launch->layer = frame	       ? frame->layer
			: thread_owner ? thread_owner->layer
				       : (int32_t)(lane->default_layer - 1);
}

const struct brick_launch_owner *brick_launch_owner_set(const struct brick_launch_owner *owner)
{
	const struct brick_launch_owner *was = thread_owner;

	thread_owner = owner;
	owner_is_new = 1;
	return was;
}

const struct brick_launch_owner *brick_launch_owner(void)
{
	return thread_owner && !brick_thread_ready() && !find_work(brick__thread.lane)
		       ? thread_owner
		       : NULL;
}

const struct brick_launch_owner *brick_launch_work(void)
{
	const struct brick_launch_owner *owner = owner_is_new ? brick_launch_owner() : NULL;

	if (owner)
		owner_is_new = 0;
	return owner;
}

void brick_launch_parent(struct brick_launch *launch)
{
	*launch = (struct brick_launch){.brick = BRICK_NONE, .layer = -1};
	if (brick_enabled() && !brick_thread_ready())
		find_parent(launch, brick__thread.lane);
}

void brick_launch_begin(struct brick_launch *launch)
{
	*launch = (struct brick_launch){.brick = BRICK_NONE, .layer = -1};
	if (!brick_enabled() || brick__in_backend || brick_thread_ready())
		return;
	uint32_t brick = __atomic_load_n(&launch_brick, __ATOMIC_RELAXED);
	if (BRICK_UNLIKELY(!brick))
		brick = register_launch();
	const struct brick__thread *self = &brick__thread;
	launch->number = brick_launch_number();
	launch->session = self->number;
	launch->lane = brick__lane_index(self) + 1;
	find_parent(launch, self->lane);
	launch->span = brick__begin_layer(brick, launch->layer);
	launch->begin =
		launch->span ? self->lane->frames[(launch->span & 0xff) - 1].begin : brick__now();
}

/* `end` holds the number of further commands. It is set and read only later. */
void brick_launch_many(struct brick_launch *launch, uint32_t count)
{
	if (!launch->number || count < 2)
		return;
	launch->number =
		__atomic_add_fetch(&launch_last_number, count, __ATOMIC_RELAXED) - count + 1;
	launch->end = count - 1;
}

void brick_launch_end(struct brick_launch *launch)
{
	if (!launch->number)
		return;
	uint32_t further = (uint32_t)launch->end;
	launch->end = brick__now();
	if (!launch->span)
		return;
	const struct brick_record flow = {
		.begin = launch->begin,
		.ticks = further,
		.kind = BRICK_RECORD_FLOW,
		.layer = -1,
		.elements = launch->number,
	};
	brick__close_with(launch->span, launch->end, &flow);
	launch->span = 0;
}

/*
 * True if the program has a brick of its own around the wait: that one is recorded, with the
 * command that it waited for.
 */
static bool is_in_own_wait(struct brick__thread *self, uint64_t number)
{
	struct brick_lane *lane = self->lane;
	uint32_t depth = brick_lane_open(lane);
	struct brick_frame *frame = depth ? &lane->frames[depth - 1] : NULL;

	if (!frame || frame->brick != BRICK_SYNCHRONIZE)
		return false;
	if (number) {
		open_parents(self);
		frame->flags |= BRICK_FRAME_WAITED;
		frame->tokens = number;
	}
	return true;
}

uint64_t brick__recording_place(void)
{
	enum { DEPTH_BITS = 8 };

	if (!brick_enabled() || brick__in_backend || brick_thread_ready())
		return 0;
	const struct brick_lane *lane = brick__thread.lane;
	return (lane->head + lane->ledger.dropped + 1) << DEPTH_BITS | brick_lane_open(lane);
}

void brick__record_waits(uint64_t begin, uint64_t end, const struct brick__waits *waits)
{
	uint64_t newest = 0;
	struct brick_record after[BRICK__WAIT_LINKS];

	for (uint32_t i = 0; i < waits->count; i++) {
		after[i] = (struct brick_record){.begin = end,
			.kind = BRICK_RECORD_AFTER,
			.layer = -1,
			.elements = waits->numbers[i]};
		newest = waits->numbers[i] > newest ? waits->numbers[i] : newest;
	}
	if (!brick_enabled() || brick__in_backend)
		return;
	/* brick_thread_ready() would record the making of a lane, which began after the wait */
	struct brick__thread *self = &brick__thread;
	bool has_lane = lane_is_current(self);
	if (has_lane && is_in_own_wait(self, newest))
		return;
	const struct brick_sample sample = {
		.begin = begin,
		.end = end,
		.brick = BRICK_SYNCHRONIZE,
		.layer = has_lane ? (int32_t)(self->lane->default_layer - 1) : -1,
		.source = BRICK_SOURCE_TSC,
	};
	brick__sample_with(&sample, after, waits->count);
}

void brick_record_wait(uint64_t begin, uint64_t end, uint64_t number)
{
	brick__record_waits(begin, end, &(struct brick__waits){{number}, number != 0});
}
