/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Continuous batching of transformers (generate_batch(), `transformers serve`): its scheduler says
 * which requests' tokens a batch has, right before the model is called. With the GIL held.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "attach/torch/torch_hooks.h"

/* The sequence of a request, by the hash of its name. */
static inline int32_t torch_request_sequence(uint64_t hash)
{
	return (int32_t)(hash >> 33);
}

/* For torch_serve_hooks. */
python_object *torch_batch_request_comes(const struct torch_hook_call *call);
python_object *torch_batch_request_forks(const struct torch_hook_call *call);
python_object *torch_batch_is_made(const struct torch_hook_call *call);
python_object *torch_batch_request_ends(const struct torch_hook_call *call);
python_object *torch_batch_requests_cancelled(const struct torch_hook_call *call);

/*
 * The prompts' tokens of the batch that was made last on this thread. False: none was since the
 * model's last call, or it has not so many tokens.
 */
bool torch_batch_take(uint64_t tokens, uint64_t *prompt);

/* The batch is the step that has begun here. */
void torch_batch_tell(void);
