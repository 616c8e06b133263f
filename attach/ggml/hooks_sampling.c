/* SPDX-License-Identifier: Apache-2.0 */
/* Choosing the next token, from fetching the logits on. The outermost call is the brick. */
#include "attach/ggml/hook_words.h"

PHASE_HOOK(hook_sampler_sample, "llama_sampler_sample", PHASE_SAMPLING)
PHASE_HOOK(hook_sampler_apply, "llama_sampler_apply", PHASE_SAMPLING)
PHASE_HOOK(hook_sampler_accept, "llama_sampler_accept", PHASE_SAMPLING)
PHASE_HOOK(hook_get_logits, "llama_get_logits", PHASE_SAMPLING)
PHASE_HOOK(hook_get_logits_ith, "llama_get_logits_ith", PHASE_SAMPLING)
