/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer: any bytes as a GGUF file, up to a model and a prompt. The model is read through, so
 * that a tensor that does not lie inside of the file is found.
 */
#include <stdlib.h>
#include "decoder_model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct model model = {0};

	if (!gguf_parse(&model.file, "fuzz", data, size) && !model_read(&model)) {
		size_t n_cols = model.n_embd > model.n_ff ? model.n_embd : model.n_ff;
		float *row = calloc(n_cols, sizeof(*row));

		for (uint32_t i = 0; row && i < model.n_layers; i++) {
			matrix_row(&model.layers[i].query, model.n_embd - 1, row);
			matrix_row(&model.layers[i].down, model.n_embd - 1, row);
		}
		if (row)
			matrix_row(&model.head, model.n_vocab - 1, row);
		free(row);
		free(gguf_prompt(&model.file, model.n_vocab, 40));
	}
	model_close(&model);
	return 0;
}
