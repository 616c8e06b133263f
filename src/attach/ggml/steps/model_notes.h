/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Notes in the recording on the model and the settings of a context of llama.cpp. Only the thread
 * that evaluates with the context.
 */
#pragma once

#include <stdint.h>

/*
 * Write the notes. code: the function that evaluates with the context. A note is left out if this
 * copy of llama.cpp lacks the getter. number: of the context; the note "model.NUMBER" has the
 * model's name.
 */
void note_model(const void *context, const void *code, int32_t number);
