/* SPDX-License-Identifier: Apache-2.0 */
/* What llama.cpp says of the model and the settings of a context, as notes of the recording. Any
 * thread that evaluates with that context. */
#pragma once

/* code: what evaluates it. A getter that this copy of llama.cpp lacks is left out. */
void note_model(const void *context, const void *code);
