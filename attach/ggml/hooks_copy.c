/* SPDX-License-Identifier: Apache-2.0 */
/* Copies into and out of a backend's memory, and waiting for it: C functions of all versions. */
#include "attach/ggml/hook_words.h"

PHASE_HOOK(hook_tensor_set, "ggml_backend_tensor_set", PHASE_INPUT_COPY)
PHASE_HOOK(hook_tensor_set_async, "ggml_backend_tensor_set_async", PHASE_INPUT_COPY)
PHASE_HOOK(hook_tensor_get, "ggml_backend_tensor_get", PHASE_OUTPUT_COPY)
PHASE_HOOK(hook_tensor_get_async, "ggml_backend_tensor_get_async", PHASE_OUTPUT_COPY)
WAIT_HOOK(hook_backend_synchronize, "ggml_backend_synchronize")
WAIT_HOOK(hook_sched_synchronize, "ggml_backend_sched_synchronize")
