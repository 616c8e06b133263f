/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a graph of llama.cpp's evaluates where the process has no llama_decode(), as in ggml's RPC
 * server: the batch follows from the graph itself. ggml sends tensors with their names, so the
 * first norm has a row for each token, inp_pos holds their positions and out_ids those whose logits
 * are wanted. Each thread for itself.
 */
#pragma once

#include <stdbool.h>
#include "attach/ggml/engine/ggml_engine.h"

struct phase_tokens;

enum sent_batch {
	SENT_UNKNOWN, /* no graph of llama.cpp's, or not enough of one */
	SENT_BATCH,   /* a batch begins with it */
	SENT_PART,    /* a later part of the batch before */
};

/*
 * *tokens of a batch. is_readable: its data lies in this process's memory, and is there. Else, and
 * where a server has the first layers only, a batch of several tokens is a prompt; out_ids of as
 * many tokens as there can be drafts says otherwise.
 */
enum sent_batch sent_batch_read(const struct engine *engine, const void *graph, bool is_readable,
	struct phase_tokens *tokens);
