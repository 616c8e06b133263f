/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a batch of llama.cpp is made of: tokens of prompts, and tokens from which new ones are made
 * or drafted ones checked; and whether its prompt was evaluated before. Any thread.
 */
#pragma once

#include <stdint.h>

/* The head of struct llama_batch, the same in all versions seen. Pointers may be NULL. */
struct batch_head {
	int32_t n_tokens;
	const int32_t *tokens;
	const float *embeddings;
	const int32_t *positions;
	const int32_t *sequence_counts;	 /* per token */
	const int32_t *const *sequences; /* per token: that many sequence ids */
	const int8_t *outputs; /* per token: its logits are wanted; NULL: the last one's */
};

struct batch_tokens {
	uint32_t prompt, output;
	uint32_t checked; /* of those: drafts, whose tokens hold if the engine chooses the same */
	uint32_t refuted; /* of the drafts that earlier batches checked: known by where this goes
			     on, if nobody said so before (batch_removed()) */
};

enum { BATCH_SEQUENCES = 512 };

/* What a context has evaluated of its sequences; all 0: nothing. */
struct batch_past {
	struct sequence_past {
		int32_t prompt_end;	      /* position behind the last token of its prompt */
		int32_t end;		      /* behind the last token of all */
		int32_t moved_from, moved_by; /* since then, see batch_moved() */
		int16_t unfinished; /* no logits were wanted of its last batch: the prompt goes on
				     */
		int16_t scored;	    /* those of all tokens of a prompt's batch were wanted */
		int32_t lone_token; /* its last batch, if that was one token ... */
		int32_t checked;    /* ... and if it checked drafts: how many */
	} of[BATCH_SEQUENCES];
	int32_t goes_on; /* where a batch without positions does, + 1; 0: not known */
};

/*
 * What the sequence has from a position on was moved: a full context that lost its older half
 * (llama_memory_seq_add()). It holds for a next batch that goes on just there.
 */
void batch_moved(struct batch_past *past, int32_t sequence, int32_t from, int32_t by);

/*
 * The sequence lost what it has from a position on, up to another one (-1: to its end): returns how
 * many of the drafts that its last batch checked that was. All that it has tells of none.
 */
uint32_t batch_removed(struct batch_past *past, int32_t sequence, int32_t from, int32_t to);

/* The batch before, whichever context it was for. All 0: none. */
struct batch_last {
	struct batch_head head; /* what its pointers point to may be gone */
	int32_t first;		/* position */
	int8_t outputs[BATCH_SEQUENCES];
};

/*
 * A draft model that follows another one gets its very batch, but for what is wanted of it: that
 * is made of what it was made of there, and so `batch` gets the outputs of the one before.
 */
void batch_as_meant(struct batch_head *batch, struct batch_last *last);

/*
 * By sequence: its only token in the batch is an output, unless its logits are not wanted (the end
 * of a prompt without them); several tokens are outputs when the logits of all are wanted and the
 * sequence did not begin with them (drafts that are checked), else a prompt. With a past, which
 * is brought up to date, also what continues a prompt, or lies within it, is a prompt's: its last
 * token alone, or before a few drafts, and that of one that was kept from before; what of the old
 * prompt lies behind that was taken out. Behind a prompt's batch of which all logits were wanted (a
 * text that is scored) so is one of more tokens than drafts are. A token of several sequences is a
 * prompt's.
 */
struct batch_tokens batch_count(const struct batch_head *batch, struct batch_past *past);

/*
 * Do the drafts that this batch checks come from the context with that past? It has evaluated one
 * of their tokens last, at the same position.
 */
int batch_is_drafted_by(const struct batch_head *batch, const struct batch_past *past);

/*
 * How many tokens this batch begins with that also an earlier one of this context began with, at
 * the same positions (what a draft model and its target both evaluate is no repetition); keeps the
 * batch. -1: not known, as it is too short to be a prompt, has no tokens, or another thread is
 * here.
 */
int32_t prompt_memory_repeated(const void *context, const struct batch_head *batch);
