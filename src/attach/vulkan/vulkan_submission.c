/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The batches of a call are gone through in their order, as one may wait for what an earlier one
 * signals. Timestamps become commands on their queue, in the order of their begins, on the host's
 * clock.
 */
#include "attach/vulkan/vulkan_submission.h"

#include <stdlib.h>
#include "attach/common/newest_numbers.h"
#include "attach/vulkan/vulkan_clock.h"
#include "base/clock_ns.h"
#include "base/order.h"
#include "lib/device/correlation_residual.h"
#include "lib/device/queue_clock.h"

/* Semaphores. */

static struct newest_number signal_places[1 << 12];
static struct newest_numbers signals = NEWEST_NUMBERS(signal_places);

uint64_t semaphores_wait(VkSemaphore semaphore, uint64_t value)
{
	uint64_t number = newest_numbers_get(&signals, VULKAN_KEY(semaphore), value);

	if (!value)
		newest_numbers_forget(&signals, VULKAN_KEY(semaphore), value);
	return number;
}

void semaphores_forget(VkSemaphore semaphore)
{
	newest_numbers_forget_all(&signals, VULKAN_KEY(semaphore));
}

/* On its way. */

struct vulkan_submission *submission_create(uint32_t batch_count)
{
	struct vulkan_submission *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->batch_count = batch_count;
	s->batches = calloc(batch_count + 1, sizeof(*s->batches));
	if (s->batches)
		return s;
	free(s);
	return NULL;
}

void submission_destroy(struct vulkan_submission *s)
{
	for (uint32_t i = 0; i < s->chunks.count; i++)
		chunk_release(s->chunks.items[i]);
	array_fini(&s->chunks);
	array_fini(&s->pending);
	free(s->batches);
	array_fini(&s->edges);
	free(s);
}

void submission_launch(struct vulkan_submission *s)
{
	brick_launch_begin(&s->launch);
	brick_launch_many(&s->launch, s->pending.count);
	s->launch_ns = monotonic_ns();
}

const struct vulkan_submission *submission_find(
	const struct vulkan_submission *list, uint64_t number)
{
	for (; list; list = list->next)
		for (uint32_t i = list->pending.count; i-- > 0;)
			if (list->pending.items[i].number == number)
				return list;
	return NULL;
}

void submission_edge(struct vulkan_submission *s, const struct vulkan_edge *edge)
{
	array_push(&s->edges, *edge); /* no memory: not known */
}

void submission_order(struct vulkan_submission *s, int are_numbered, uint64_t before)
{
	uint64_t newest = before;

	for (uint32_t i = 0, next = 0; i < s->edges.count; i++) {
		const struct vulkan_edge *e = &s->edges.items[i];
		for (; next < s->pending.count && s->pending.items[next].batch <= e->batch; next++)
			newest = are_numbered ? s->pending.items[next].number : newest;
		if (e->is_signal) {
			newest_numbers_set(&signals, VULKAN_KEY(e->semaphore), e->value, newest);
			continue;
		}
		struct vulkan_batch *batch = &s->batches[e->batch];
		uint64_t number = semaphores_wait(e->semaphore, e->value);
		if (number && batch->after_count < MAX_AFTER)
			batch->after[batch->after_count++] = number;
	}
}

/* Done. */

/* A command with known times: on the device's clock, and their places on the host's. */
struct timed {
	const struct pending *pending;
	const struct vulkan_submission *submission;
	uint64_t begin_ns, end_ns;
	uint64_t host_ns, host_end_ns;
	uint64_t placed_ns; /* host_ns by the clock alone */
	uint64_t over_ns;   /* the end of the wait for it */
};

enum { MAX_TRUSTED_NS = 10000 }; /* up to this residual a clock's best guess is taken */

COMPARATOR(submission_by_begin, struct timed, ORDER(x->begin_ns, y->begin_ns))

/*
 * Places a command by the clock, on the host. A clock that is known badly is taken to be as late as
 * it can be: every command is then where it may really have been or before, and none pushes the
 * next one, which the device did behind it, beyond the end of the wait for that.
 */
static void submission_place(
	struct vulkan_device *d, const struct vulkan_queue *queue, struct timed *t, uint64_t now_ns)
{
	t->host_ns = t->placed_ns = brick_correlation_host_ns(&d->clock.correlation, t->begin_ns);
	t->host_end_ns = brick_correlation_host_ns(&d->clock.correlation, t->end_ns);
	if (d->clock.correlation.residual_ns > MAX_TRUSTED_NS) {
		t->host_ns -= d->clock.correlation.residual_ns;
		t->host_end_ns -= d->clock.correlation.residual_ns;
	}
	t->over_ns = wait_ends_over_ns(&queue->wait_ends, t->pending->number);
	if (t->over_ns > now_ns)
		t->over_ns = now_ns;
}

static void submission_end_before(struct timed *t, uint64_t ns)
{
	if (t->host_end_ns > ns) {
		t->host_ns -= t->host_end_ns - ns;
		t->host_end_ns = ns;
	}
}

static void submission_begin_behind(struct timed *t, uint64_t ns)
{
	if (t->host_ns < ns) {
		t->host_end_ns += ns - t->host_ns;
		t->host_ns = ns;
	}
}

/*
 * Keeps each command between the call that submitted it and the end of the wait for it. A command
 * that must be moved takes along those before it, or after it: lengths stay the device's.
 */
static void submission_keep_causal(struct vulkan_queue *queue, struct timed *list, size_t n)
{
	for (size_t i = n; i--;) {
		submission_end_before(&list[i], list[i].over_ns - QUEUE_CLOCK_MARGIN_NS);
		if (i + 1 < n && list[i].end_ns <= list[i + 1].begin_ns)
			submission_end_before(&list[i], list[i + 1].host_ns);
	}
	for (size_t i = 0; i < n; i++) {
		submission_begin_behind(
			&list[i], list[i].submission->launch_ns + QUEUE_CLOCK_MARGIN_NS);
		if (queue->last_end.device_ns <= list[i].begin_ns)
			submission_begin_behind(&list[i], queue->last_end.host_ns);
		if (list[i].end_ns > queue->last_end.device_ns) {
			queue->last_end.device_ns = list[i].end_ns;
			queue->last_end.host_ns = list[i].host_end_ns;
		}
	}
}

static void submission_record(
	struct vulkan_device *d, struct vulkan_queue *queue, const struct timed *t)
{
	const struct vulkan_step *step = &t->pending->step;
	const struct vulkan_batch *batch = &t->submission->batches[t->pending->batch];
	uint64_t moved_ns =
		t->host_ns > t->placed_ns ? t->host_ns - t->placed_ns : t->placed_ns - t->host_ns;
	uint64_t residual_ns =
		moved_ns + brick__correlation_residual_ns(&d->clock.correlation, t->end_ns);
	struct brick_command command = {.size = sizeof(command),
		.launch = t->submission->launch,
		.kernel = step_kernel(step),
		.source = BRICK_SOURCE_TIMESTAMP_QUERY,
		.begin_ns = t->host_ns,
		.end_ns = t->host_end_ns,
		.bytes = step->bytes,
		.residual_ns = device_clock_recorded(&d->clock, residual_ns),
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

/* Records submissions [first, end) of a queue, all of which are done. */
static void submission_record_all(struct vulkan_device *d, struct vulkan_queue *queue,
	struct vulkan_submission *end, size_t count)
{
	struct timed *list = calloc(count + 1, sizeof(*list));
	uint64_t now_ns = monotonic_ns();
	size_t n = 0;

	for (struct vulkan_submission *s = queue->first; s != end; s = s->next) {
		for (uint32_t i = 0; list && i < s->pending.count; i++) {
			const uint64_t *results = s->slot->results + s->pending.items[i].at;
			list[n] = (struct timed){.pending = &s->pending.items[i],
				.submission = s,
				.begin_ns = moment(d, s, results[0]),
				.end_ns = moment(d, s, results[1])};
			submission_place(d, queue, &list[n++], now_ns);
		}
		if (!list)
			brick_queue_dropped(queue->queue, s->pending.count);
	}
	if (!d->clock.correlation.count) {
		brick_queue_unsupported(queue->queue, n); /* there is no way to the host's clock */
		n = 0;
	}
	if (n)
		qsort(list, n, sizeof(*list), submission_by_begin);
	submission_keep_causal(queue, list, n);
	for (size_t i = 0; i < n; i++)
		submission_record(d, queue, &list[i]);
	free(list);
}

void submissions_take_done(struct vulkan_device *d)
{
	clock_take(d);
	for (struct vulkan_queue *queue = d->queues; queue; queue = queue->next) {
		struct vulkan_submission *end = queue->first;
		size_t count = 0;
		for (; end && slot_is_done(end->slot) > 0; end = end->next)
			count += end->pending.count;
		if (end == queue->first)
			continue;
		clock_correlate(d);
		if (clock_is_awaited(d))
			continue;
		submission_record_all(d, queue, end, count);
		while (queue->first != end) {
			struct vulkan_submission *s = queue->first;
			queue->first = s->next;
			slot_give_back(s->slot);
			submission_destroy(s);
		}
		if (!queue->first)
			queue->last = &queue->first;
	}
}
