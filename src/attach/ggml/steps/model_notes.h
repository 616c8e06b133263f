/* SPDX-License-Identifier: Apache-2.0 */
/* What llama.cpp says of the model and the settings of a context, as notes of the recording. Any
 * thread that evaluates with that context. */
#pragma once

#include <stdint.h>

/*
 * code: what evaluates it. A getter that this copy of llama.cpp lacks is left out. number: of the
 * context; the note "model.NUMBER" has its model's name.
 */
void note_model(const void *context, const void *code, int32_t number);
