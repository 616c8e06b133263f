/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recording what is done: timestamps become commands on their queue, in the order of their begins,
 * on the host's clock. Called with the device's lock held, by submits.c and waits.c.
 */
#include "attach/vulkan/completions.h"

#include <stdlib.h>
#include "attach/vulkan/clock.h"
#include "attach/vulkan/queue.h"
#include "attach/vulkan/submission.h"
#include "base/clock_ns.h"
#include "brick/clock.h"

/* A recent time in ticks as CLOCK_MONOTONIC ns. */
static uint64_t host_ns_of_ticks(uint64_t ticks)
{
	const struct brick_clock *clock = brick_clock_get();
	uint64_t now = monotonic_ns(), now_ticks = brick_ticks();

	return now_ticks > ticks ? now - brick_clock_duration_ns(clock, now_ticks - ticks)
				 : now + brick_clock_duration_ns(clock, ticks - now_ticks);
}

struct timed {
	const struct pending *pending;
	const struct vulkan_submission *submission;
	uint64_t begin_ns, end_ns; /* on the device's clock */
};

static int by_begin(const void *a, const void *b)
{
	const struct timed *x = a, *y = b;

	return (x->begin_ns > y->begin_ns) - (x->begin_ns < y->begin_ns);
}

/* Between the call that submitted it and the end of the wait for it. By how much it was moved. */
static uint64_t keep_in_order(struct brick_command *c, const struct vulkan_queue *queue)
{
	uint64_t over_ns = queue_over_ns(queue, c->launch.number), was = c->begin_ns;
	uint64_t launch_ns = host_ns_of_ticks(c->launch.begin);

	if (c->end_ns > over_ns) {
		c->begin_ns -= c->end_ns - over_ns;
		c->end_ns = over_ns;
	}
	if (c->begin_ns < launch_ns) {
		c->end_ns += launch_ns - c->begin_ns;
		c->begin_ns = launch_ns;
	}
	return c->begin_ns > was ? c->begin_ns - was : was - c->begin_ns;
}

static void record(struct vulkan_device *d, struct vulkan_queue *queue, const struct timed *t)
{
	const struct vulkan_step *step = &t->pending->step;
	const struct vulkan_batch *batch = &t->submission->batches[t->pending->batch];
	struct brick_command command = {.size = sizeof command,
		.launch = t->submission->launch,
		.kernel = step_kernel(step),
		.source = BRICK_SOURCE_TIMESTAMP_QUERY,
		.begin_ns = brick_correlation_host_ns(&d->correlation, t->begin_ns),
		.end_ns = brick_correlation_host_ns(&d->correlation, t->end_ns),
		.bytes = step->bytes,
		.residual_ns = d->correlation.residual_ns < UINT32_MAX
				       ? (uint32_t)d->correlation.residual_ns
				       : UINT32_MAX,
		.after_count = batch->after_count,
		.after = batch->after};

	command.launch.number = t->pending->number;
	if (step->brick != BRICK_NONE) {
		command.launch.brick = step->brick;
		command.launch.layer = step->layer;
	}
	if (command.begin_ns)
		command.residual_ns += (uint32_t)keep_in_order(&command, queue);
	if (command.residual_ns > d->residual_ns)
		d->residual_ns = command.residual_ns;
	if (!command.begin_ns)
		brick_queue_unsupported(queue->queue, 1); /* there is no way to the host's clock */
	else
		brick_queue_record(queue->queue, &command);
}

/* Record submissions [first, end) of a queue, all of which are done. */
static void record_all(struct vulkan_device *d, struct vulkan_queue *queue,
	struct vulkan_submission *end, size_t count)
{
	struct timed *list = calloc(count + 1, sizeof *list);
	size_t n = 0;

	for (struct vulkan_submission *s = queue->first; s != end; s = s->next) {
		for (uint32_t i = 0; list && i < s->pending.count; i++) {
			const uint64_t *results = s->slot->results + s->pending.items[i].at;
			list[n++] = (struct timed){&s->pending.items[i], s,
				queue_ns(d, queue, results[0]), queue_ns(d, queue, results[1])};
		}
		if (!list)
			brick_queue_dropped(queue->queue, s->pending.count);
	}
	if (n)
		qsort(list, n, sizeof *list, by_begin);
	for (size_t i = 0; i < n; i++)
		record(d, queue, &list[i]);
	free(list);
}

static void take_queue(struct vulkan_device *d, struct vulkan_queue *queue)
{
	struct vulkan_submission *end = queue->first;
	size_t count = 0;

	for (; end && slot_is_done(end->slot) > 0; end = end->next)
		count += end->pending.count;
	if (end == queue->first)
		return;
	clock_correlate(d);
	if (clock_is_awaited(d))
		return;
	record_all(d, queue, end, count);
	while (queue->first != end) {
		struct vulkan_submission *s = queue->first;
		queue->first = s->next;
		slot_give_back(s->slot);
		submission_destroy(s);
	}
	if (!queue->first)
		queue->last = &queue->first;
}

void completions_take(struct vulkan_device *d)
{
	clock_take(d);
	for (struct vulkan_queue *queue = d->queues; queue; queue = queue->next)
		take_queue(d, queue);
}
