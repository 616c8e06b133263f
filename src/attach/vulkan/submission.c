/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of a submission, and what its commands come after (submission.h). The batches of a call
 * are gone through in their order, as one may wait for what an earlier one signals.
 */
#include "attach/vulkan/submission.h"

#include <stdlib.h>
#include "attach/vulkan/semaphores.h"
#include "base/clock_ns.h"

struct vulkan_submission *submission_create(uint32_t batch_count)
{
	struct vulkan_submission *s = calloc(1, sizeof *s);

	if (!s)
		return NULL;
	s->batch_count = batch_count;
	s->batches = calloc(batch_count + 1, sizeof *s->batches);
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
	if (!array_reserve(&s->edges, 1))
		s->edges.items[s->edges.count++] = *edge;
}

static void come_after(struct vulkan_batch *batch, uint64_t number)
{
	if (number && batch->after_count < MAX_AFTER)
		batch->after[batch->after_count++] = number;
}

void submission_order(struct vulkan_submission *s, int are_numbered, uint64_t before)
{
	uint64_t newest = before;

	for (uint32_t i = 0, next = 0; i < s->edges.count; i++) {
		const struct vulkan_edge *e = &s->edges.items[i];
		for (; next < s->pending.count && s->pending.items[next].batch <= e->batch; next++)
			newest = are_numbered ? s->pending.items[next].number : newest;
		if (e->is_signal)
			semaphores_set(e->semaphore, e->value, newest);
		else
			come_after(&s->batches[e->batch], semaphores_wait(e->semaphore, e->value));
	}
}
