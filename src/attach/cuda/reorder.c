/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A heap of held commands by begin (reorder.h). When it is full the earliest go out, whatever may
 * still come: then the queue's own ledger shows what did not fit.
 */
#include "attach/cuda/reorder.h"

#include <errno.h>
#include <stdlib.h>
#include "attach/cuda/cuda_events.h"
#include "attach/cuda/host_clock.h"
#include "attach/cuda/cuda_launches.h"
#include "attach/cuda/nodes.h"
#include "brick/probe.h"

enum { MAX_HELD = 1 << 16 };

static struct held_command *heap;
static uint32_t count;
struct reorder_counts reorder_counts;

int reorder_prepare(void)
{
	heap = calloc(MAX_HELD, sizeof *heap);
	return heap ? 0 : -ENOMEM;
}

static void swap(uint32_t a, uint32_t b)
{
	struct held_command other = heap[a];
	heap[a] = heap[b];
	heap[b] = other;
}

static void rise(uint32_t i)
{
	for (; i && heap[i].begin < heap[(i - 1) / 2].begin; i = (i - 1) / 2)
		swap(i, (i - 1) / 2);
}

static void sink(uint32_t i)
{
	for (;;) {
		uint32_t least = i, left = 2 * i + 1, right = left + 1;
		if (left < count && heap[left].begin < heap[least].begin)
			least = left;
		if (right < count && heap[right].begin < heap[least].begin)
			least = right;
		if (least == i)
			return;
		swap(i, least);
		i = least;
	}
}

/* The launch of a command, its brick and layer from the graph node if it was made by one. */
static void find_launch(const struct held_command *held, struct brick_launch *launch,
	const struct brick_launch_owner **work)
{
	*work = NULL;
	if (!held->correlation || !launches_take(held->correlation, launch, work)) {
		*launch = (struct brick_launch){
			.number = brick_launch_number(),
			.session = __atomic_load_n(&brick__on, __ATOMIC_RELAXED),
			.brick = BRICK_NONE,
			.layer = -1,
		};
		reorder_counts.without_launch++;
	}
	if (!held->graph_node)
		return;
	launch->brick = BRICK_NONE;
	launch->layer = -1;
	*work = NULL;
	reorder_counts.without_node +=
		!nodes_find(held->graph_node, &launch->brick, &launch->layer, work);
}

static uint64_t or_unknown(uint64_t device_ns)
{
	return device_ns ? host_clock_ns(device_ns) : 0;
}

/* Nothing begins before the call that launched it. */
static void begin_behind_launch(struct brick_command *command)
{
	uint64_t launch = command->launch.begin ? host_clock_of_ticks(command->launch.begin) : 0;

	if (command->begin_ns >= launch)
		return;
	uint64_t by = host_clock_moved(launch - command->begin_ns);
	command->begin_ns += by;
	command->end_ns += by;
	command->residual_ns += (uint32_t)by;
}

static void record(const struct held_command *held)
{
	uint64_t after[MAX_EVENTS_AFTER];
	struct brick_command command = {
		.size = sizeof command,
		.kernel = held->kernel,
		.source = BRICK_SOURCE_DEVICE_ACTIVITY,
		.queued_ns = or_unknown(held->queued),
		.submitted_ns = or_unknown(held->submitted),
		.begin_ns = host_clock_ns(held->begin),
		.end_ns = host_clock_ns(held->end),
		.bytes = held->bytes,
		.residual_ns = host_clock_residual_ns(),
		.after_count = events_after(held->correlation, after),
		.after = after,
	};

	const struct brick_launch_owner *work;
	find_launch(held, &command.launch, &work);
	if (work) {
		command.bytes = __atomic_load_n(&work->bytes, __ATOMIC_RELAXED);
		command.flops = __atomic_load_n(&work->flops, __ATOMIC_RELAXED);
	}
	begin_behind_launch(&command);
	if (brick_queue_record(held->queue, &command))
		reorder_counts.refused++;
	else
		reorder_counts.recorded++;
}

static void release_first(void)
{
	struct held_command first = heap[0];

	heap[0] = heap[--count];
	sink(0);
	record(&first);
}

void reorder_hold(const struct held_command *command)
{
	if (!heap)
		return;
	if (count == MAX_HELD)
		release_first();
	heap[count] = *command;
	rise(count++);
}

void reorder_release(uint64_t before_ns)
{
	while (count && (before_ns == UINT64_MAX || host_clock_ns(heap[0].begin) < before_ns))
		release_first();
}
