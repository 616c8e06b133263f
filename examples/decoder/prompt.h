// SPDX-License-Identifier: Apache-2.0
//
// A prompt of a wanted length, in the tokens of the model's own vocabulary.
#ifndef DECODER_PROMPT_H
#define DECODER_PROMPT_H

#include "model.h"

// n tokens, the beginning-of-text token among them; free() them. NULL with model->file.why set.
int32_t *prompt_create(struct model *model, size_t n);

#endif
