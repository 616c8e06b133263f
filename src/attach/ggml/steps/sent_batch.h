/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the batch of a llama.cpp graph from the graph itself, for processes without llama_decode()
 * such as ggml's RPC server. ggml sends tensors with their names: the first norm has a row per
 * token, inp_pos holds the tokens' positions, and out_ids the tokens whose logits are wanted. Owner
 * thread: state is per thread.
 */
#pragma once

#include <stdbool.h>
#include "attach/ggml/engine/ggml_engine.h"

struct phase_tokens;

enum sent_batch {
	SENT_UNKNOWN, /* no graph of llama.cpp's, or too small a part of such a graph */
	SENT_BATCH,   /* the graph is the first part of a batch, or all of it */
	SENT_PART,    /* the graph is a later part of the last batch */
};

/*
 * Set *tokens for SENT_BATCH. is_readable: the inputs' data is in this process's memory already.
 * Otherwise, or if a server has the first layers only, a batch of several tokens counts as a
 * prompt, unless out_ids has as many tokens as there can be drafts.
 */
enum sent_batch sent_batch_read(const struct engine *engine, const void *graph, bool is_readable,
	struct phase_tokens *tokens);
