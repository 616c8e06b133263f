/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From pairs that have come back to commands on the queue's lane. Times go to the host's clock by
 * the correlation; a span and those that it holds are recorded together, in the order of their
 * begins; what failed or was lost is counted and leaves a gap.
 */
#include <errno.h>
#include "lib/device/correlation_residual.h"
#include "lib/device/device_state.h"

static struct brick__pair *pair_at(struct brick_device *device, uint32_t index)
{
	return &device->pairs[index];
}

static int is_settled(const struct brick__pair *pair)
{
	return pair->state == PAIR_DONE || pair->state == PAIR_FAILED;
}

/* The first span behind an outermost one that is not inside of it. */
static uint32_t behind(struct brick_device *device, uint32_t root)
{
	uint32_t i = pair_at(device, root)->next;

	while (i != BRICK__NO_PAIR && pair_at(device, i)->depth)
		i = pair_at(device, i)->next;
	return i;
}

/* How many of those up to `end` have ended and not come back; UINT32_MAX: one is still open. */
static uint32_t missing(struct brick_device *device, uint32_t root, uint32_t end)
{
	uint32_t count = 0;

	for (uint32_t i = root; i != end; i = pair_at(device, i)->next) {
		if (pair_at(device, i)->state == PAIR_OPEN)
			return UINT32_MAX;
		count += pair_at(device, i)->state == PAIR_ENDED;
	}
	return count;
}

static int any_settled(struct brick_device *device, uint32_t from)
{
	for (uint32_t i = from; i != BRICK__NO_PAIR; i = pair_at(device, i)->next)
		if (is_settled(pair_at(device, i)))
			return 1;
	return 0;
}

/*
 * The backend said that some were lost, but not which. When later ones of a queue have come back,
 * those before them that have not are taken for the lost ones; likewise when they keep the last
 * pairs from being used again.
 */
static int claim_lost(struct brick_device *device, uint32_t root, uint32_t end, uint32_t count)
{
	int is_stuck = device->free == BRICK__NO_PAIR;

	if (count == UINT32_MAX || !any_settled(device, end) || (device->lost < count && !is_stuck))
		return 0;
	device->lost -= device->lost < count ? device->lost : count;
	for (uint32_t i = root; i != end; i = pair_at(device, i)->next)
		if (pair_at(device, i)->state == PAIR_ENDED) {
			pair_at(device, i)->state = PAIR_FAILED;
			pair_at(device, i)->error = BRICK_ENOTRECORDED;
		}
	return 1;
}

static uint64_t host_ns(const struct brick_device *device, uint64_t device_ns)
{
	return device_ns ? brick_correlation_host_ns(&device->correlation, device_ns) : 0;
}

/* Is there a time to record? Then put it on the host's clock. */
static int place(struct brick_device *device, struct brick__pair *pair)
{
	struct brick_command *c = &pair->command;
	const struct brick_correlation *line = &device->correlation;

	if (pair->state == PAIR_FAILED || !c->begin_ns || !c->end_ns) {
		brick_queue_dropped(pair->queue->queue, 1);
		return 0;
	}
	if (!line->count) {
		brick_queue_unsupported(pair->queue->queue, 1);
		return 0;
	}
	uint64_t residual = brick__correlation_residual_ns(line, c->end_ns);
	c->begin_ns = host_ns(device, c->begin_ns);
	c->end_ns = host_ns(device, c->end_ns);
	c->queued_ns = host_ns(device, c->queued_ns);
	c->submitted_ns = host_ns(device, c->submitted_ns);
	if (residual > device->placed_ns)
		device->placed_ns = residual;
	c->residual_ns = residual > UINT32_MAX ? UINT32_MAX : (uint32_t)residual;
	return 1;
}

/* Those up to `end`; what is left of them after failures moves up to where its holder was. */
static void record(struct brick_device *device, struct brick__device_queue *queue, uint32_t end)
{
	uint8_t level[BRICK_MAX_DEPTH + 1] = {0}; /* depth of what is inside of a span at [i - 1] */
	uint32_t count = 0;

	for (uint32_t i = queue->first; i != end; i = pair_at(device, i)->next) {
		struct brick__pair *pair = pair_at(device, i);
		uint8_t depth = level[pair->depth];
		int is_there = place(device, pair);
		level[pair->depth + 1] = depth + (is_there != 0);
		if (!is_there)
			continue;
		device->commands[count] = &pair->command;
		device->depths[count++] = depth;
	}
	if (!count)
		return;
	int error =
		brick__queue_record_nested(queue->queue, device->commands, device->depths, count);
	if (!error)
		device->recorded += count;
	else if (error == -EINVAL) /* times that cannot be */
		brick_queue_dropped(queue->queue, count);
}

static void release(struct brick_device *device, struct brick__device_queue *queue, uint32_t end)
{
	while (queue->first != end) {
		struct brick__pair *pair = pair_at(device, queue->first);
		uint32_t next = pair->next;
		brick__queue_pending(queue->queue, pair->command.launch.session, -1);
		brick__pair_release(device, queue->first);
		queue->first = next;
	}
	if (end == BRICK__NO_PAIR)
		queue->last = BRICK__NO_PAIR;
}

static void flush_queue(struct brick_device *device, struct brick__device_queue *queue)
{
	while (queue->first != BRICK__NO_PAIR) {
		uint32_t end = behind(device, queue->first);
		uint32_t count = missing(device, queue->first, end);
		if (count && !claim_lost(device, queue->first, end, count))
			break;
		record(device, queue, end);
		release(device, queue, end);
	}
}

void brick__device_flush(struct brick_device *device)
{
	for (struct brick__device_queue *q = device->queues; q; q = q->next)
		flush_queue(device, q);
	if (device->strays && device->queues) {
		brick__queue_unmatched(device->queues->queue, device->strays);
		device->strays = 0;
	}
}
