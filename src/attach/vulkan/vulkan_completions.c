/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recording what is done: timestamps become commands on their queue, in the order of their begins,
 * on the host's clock. Called with the device's lock held, by submits.c and waits.c.
 */
#include "attach/vulkan/vulkan_completions.h"

#include <stdlib.h>
#include "attach/vulkan/vulkan_clock.h"
#include "attach/vulkan/vulkan_queue.h"
#include "attach/vulkan/submission.h"
#include "base/clock_ns.h"
#include "base/order.h"
#include "lib/device/correlation_residual.h"
#include "lib/device/queue_clock.h"

/* A command whose times are known: on the device's clock, and where that is on the host's. */
struct timed {
	const struct pending *pending;
	const struct vulkan_submission *submission;
	uint64_t begin_ns, end_ns;
	uint64_t host_ns, host_end_ns;
	uint64_t placed_ns; /* the same begin, by the clock alone */
	uint64_t over_ns;   /* the end of the wait for it */
};

enum { MAX_TRUSTED_NS = 10000 }; /* of a clock's residual: its best guess is taken */

COMPARATOR(by_begin, struct timed, ORDER(x->begin_ns, y->begin_ns))

/*
 * By the clock, on the host. A clock that is known badly is taken to be as late as it can be: every
 * command is then where it may really have been or before, and none pushes the next one, which the
 * device did behind it, beyond the end of the wait for that.
 */
static void place(
	struct vulkan_device *d, const struct vulkan_queue *queue, struct timed *t, uint64_t now_ns)
{
	t->host_ns = t->placed_ns = brick_correlation_host_ns(&d->correlation, t->begin_ns);
	t->host_end_ns = brick_correlation_host_ns(&d->correlation, t->end_ns);
	if (d->correlation.residual_ns > MAX_TRUSTED_NS) {
		t->host_ns -= d->correlation.residual_ns;
		t->host_end_ns -= d->correlation.residual_ns;
	}
	t->over_ns = queue_over_ns(queue, t->pending->number);
	if (t->over_ns > now_ns)
		t->over_ns = now_ns;
}

static void end_before(struct timed *t, uint64_t ns)
{
	if (t->host_end_ns > ns) {
		t->host_ns -= t->host_end_ns - ns;
		t->host_end_ns = ns;
	}
}

static void begin_behind(struct timed *t, uint64_t ns)
{
	if (t->host_ns < ns) {
		t->host_end_ns += ns - t->host_ns;
		t->host_ns = ns;
	}
}

/*
 * Each between the call that submitted it and the end of the wait for it. What has to be moved
 * takes along what the device did before it, or after it: lengths stay the device's.
 */
static void keep_causal(struct vulkan_queue *queue, struct timed *list, size_t n)
{
	for (size_t i = n; i--;) {
		end_before(&list[i], list[i].over_ns - QUEUE_CLOCK_MARGIN_NS);
		if (i + 1 < n && list[i].end_ns <= list[i + 1].begin_ns)
			end_before(&list[i], list[i + 1].host_ns);
	}
	for (size_t i = 0; i < n; i++) {
		begin_behind(&list[i], list[i].submission->launch_ns + QUEUE_CLOCK_MARGIN_NS);
		if (queue->last_end.device_ns <= list[i].begin_ns)
			begin_behind(&list[i], queue->last_end.host_ns);
		if (list[i].end_ns > queue->last_end.device_ns) {
			queue->last_end.device_ns = list[i].end_ns;
			queue->last_end.host_ns = list[i].host_end_ns;
		}
	}
}

static uint32_t residual_of(struct vulkan_device *d, const struct timed *t)
{
	uint64_t ns =
		brick__correlation_residual_ns(&d->correlation, t->end_ns) +
		(t->host_ns > t->placed_ns ? t->host_ns - t->placed_ns : t->placed_ns - t->host_ns);

	ns = ns < UINT32_MAX ? ns : UINT32_MAX;
	if (ns > d->residual_ns)
		d->residual_ns = (uint32_t)ns;
	return (uint32_t)ns;
}

static void record(struct vulkan_device *d, struct vulkan_queue *queue, const struct timed *t)
{
	const struct vulkan_step *step = &t->pending->step;
	const struct vulkan_batch *batch = &t->submission->batches[t->pending->batch];
	struct brick_command command = {.size = sizeof command,
		.launch = t->submission->launch,
		.kernel = step_kernel(step),
		.source = BRICK_SOURCE_TIMESTAMP_QUERY,
		.begin_ns = t->host_ns,
		.end_ns = t->host_end_ns,
		.bytes = step->bytes,
		.residual_ns = residual_of(d, t),
		.after_count = batch->after_count,
		.after = batch->after,
		.over_ns = t->over_ns};

	if (step->work) {
		command.bytes = __atomic_load_n(&step->work->bytes, __ATOMIC_RELAXED);
		command.flops = __atomic_load_n(&step->work->flops, __ATOMIC_RELAXED);
	}
	command.launch.number = t->pending->number;
	if (step->brick != BRICK_NONE) {
		command.launch.brick = step->brick;
		command.launch.layer = step->layer;
	}
	brick_queue_record(queue->queue, &command);
}

static uint64_t moment(struct vulkan_device *d, const struct vulkan_submission *s, uint64_t ticks)
{
	return wrapped_ticks_ns(&d->counter, wrapped_ticks_whole(&d->counter, ticks, s->launch_ns));
}

static size_t collect(struct vulkan_device *d, struct vulkan_queue *queue,
	struct vulkan_submission *end, struct timed *list)
{
	uint64_t now_ns = monotonic_ns();
	size_t n = 0;

	for (struct vulkan_submission *s = queue->first; s != end; s = s->next) {
		for (uint32_t i = 0; list && i < s->pending.count; i++) {
			const uint64_t *results = s->slot->results + s->pending.items[i].at;
			list[n] = (struct timed){.pending = &s->pending.items[i],
				.submission = s,
				.begin_ns = moment(d, s, results[0]),
				.end_ns = moment(d, s, results[1])};
			place(d, queue, &list[n++], now_ns);
		}
		if (!list)
			brick_queue_dropped(queue->queue, s->pending.count);
	}
	return n;
}

/* Record submissions [first, end) of a queue, all of which are done. */
static void record_all(struct vulkan_device *d, struct vulkan_queue *queue,
	struct vulkan_submission *end, size_t count)
{
	struct timed *list = calloc(count + 1, sizeof *list);
	size_t n = collect(d, queue, end, list);

	if (!d->correlation.count) {
		brick_queue_unsupported(queue->queue, n); /* there is no way to the host's clock */
		n = 0;
	}
	if (n)
		qsort(list, n, sizeof *list, by_begin);
	keep_causal(queue, list, n);
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
