/* SPDX-License-Identifier: Apache-2.0 */
/* The pool of pairs of events, and what keeps our calls from disturbing captures (device.h). */
#include "lib/backends/cuda/cuda_device.h"

void cuda_scope_enter(struct brick_backend_device *device, struct cuda_scope *scope)
{
	scope->mode = CUDA_CAPTURE_MODE_RELAXED;
	scope->has_mode = device->driver.capture_mode &&
			  device->driver.capture_mode(&scope->mode) == CUDA_FINE;
	scope->has_context = device->driver.context_push(device->context) == CUDA_FINE;
}

void cuda_scope_leave(struct brick_backend_device *device, const struct cuda_scope *scope)
{
	void *popped;
	int mode = scope->mode;

	if (scope->has_context)
		device->driver.context_pop(&popped);
	if (scope->has_mode)
		device->driver.capture_mode(&mode);
}

void cuda_pairs_init(struct cuda_pairs *pairs)
{
	pairs->first = NULL;
	pairs->last = &pairs->first;
}

void cuda_pairs_add(struct cuda_pairs *pairs, struct cuda_pair *pair)
{
	pair->next = NULL;
	*pairs->last = pair;
	pairs->last = &pair->next;
}

struct cuda_pair *cuda_pair_take(struct brick_backend_device *device)
{
	struct cuda_pair *pair = device->free;

	if (pair)
		device->free = pair->next;
	return pair;
}

void cuda_pair_give(struct brick_backend_device *device, struct cuda_pair *pair)
{
	pair->next = device->free;
	pair->ticket = 0;
	pair->is_captured = 0;
	pair->begin_node = pair->end_node = NULL;
	device->free = pair;
}
