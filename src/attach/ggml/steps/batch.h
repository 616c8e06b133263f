/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts the tokens of a llama.cpp batch by kind. A token belongs to a prompt, or it is an output:
 * the engine makes the next token from it, or checks a draft by it. Also tells whether a prompt was
 * evaluated before. Any thread; a past or a list of sequences by one thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The head of struct llama_batch: llama.cpp's layout, the same in all versions seen. Pointers may
 * be NULL. Arrays have n_tokens elements. */
struct batch_head {
	int32_t n_tokens;
	const int32_t *tokens;
	const float *embeddings;
	const int32_t *positions;
	const int32_t *sequence_counts;	 /* per token */
	const int32_t *const *sequences; /* per token: that many sequence ids */
	const int8_t *outputs; /* per token: not 0 if its logits are wanted; NULL: the last's are */
};

enum {
	BATCH_SEQUENCES = 512,	 /* ids from here on are not counted */
	BATCH_MOST_CHECKED = 17, /* a token and 16 drafts, a default of llama.cpp */
};

/*
 * The counts of a batch by sequence. of[i] is valid only if the bit of `i` is set: a batch has few
 * sequences, and the others are not cleared.
 */
struct batch_sequences {
	uint64_t seen[BATCH_SEQUENCES /
		      64]; /* bit i % 64 of word i / 64: sequence i is in the batch */
	struct batch_sequence {
		uint32_t tokens;      /* of this sequence only */
		uint32_t outputs;     /* tokens among them whose logits are wanted */
		uint32_t shared;      /* tokens that other sequences have, too: of a prompt */
		uint32_t prompt;      /* tokens among `tokens` that belong to a prompt */
		int32_t first, last;  /* lowest and highest position of `tokens`; -1: not known */
		int32_t shared_first; /* position of the first shared token */
		int32_t token;	      /* the last of `tokens`; -1: not known */
	} of[BATCH_SEQUENCES];
};

/* The next sequence of a batch from `id` on; BATCH_SEQUENCES: there is none. */
static inline int32_t batch_next_sequence(const struct batch_sequences *s, int32_t id)
{
	for (; id < BATCH_SEQUENCES; id = (id | 63) + 1) {
		uint64_t left = s->seen[id / 64] >> id % 64;
		if (left)
			return id + __builtin_ctzll(left);
	}
	return BATCH_SEQUENCES;
}

struct batch_tokens {
	uint32_t prompt, output;
	uint32_t checked; /* outputs that are drafts, accepted if the engine chooses the same token
			   */
	uint32_t refuted; /* drafts of earlier batches that were not accepted, as this batch goes on
			     before their end; without the drafts that batch_removed() returned */
};

/* What a context has evaluated so far, by sequence. All 0: nothing. Zero it for a new context. */
struct batch_past {
	struct sequence_past {
		int32_t prompt_end;	      /* position behind the last token of its prompt */
		int32_t end;		      /* position behind its last token */
		int32_t moved_from, moved_by; /* arguments of the last batch_moved(); by 0: none */
		int16_t unfinished; /* 1: its prompt goes on: no logits were wanted, or it was cut
				     */
		int16_t scored;	    /* 1: its last batch was of a prompt and wanted all logits */
		int32_t lone_token; /* the token of its last batch if that had one; else -1 */
		int32_t checked;    /* drafts that its last batch checked */
	} of[BATCH_SEQUENCES];
	int32_t goes_on; /* 1 + position at which a batch without positions begins; 0: not known */
};

/*
 * The sequence's tokens from a position on were moved (llama_memory_seq_add()), as in a full
 * context that lost its older half. This matters if the next batch goes on just there.
 */
void batch_moved(struct batch_past *past, int32_t sequence, int32_t from, int32_t by);

/*
 * The sequence lost its tokens at positions [from, to), or from `from` on if `to` is negative.
 * Returns how many drafts of its last batch are among them; 0 if it lost more. If it lost more
 * tokens than there can be drafts, a prompt comes next.
 */
uint32_t batch_removed(struct batch_past *past, int32_t sequence, int32_t from, int32_t to);

/* The last batch that named outputs, of any context. All 0: none. */
struct batch_last {
	struct batch_head head; /* its pointers may dangle: they are only compared */
	int32_t first;		/* position of its first token */
	int8_t outputs[BATCH_SEQUENCES];
};

/*
 * A draft model evaluates its target's batch again, but without `outputs`. If this batch names no
 * outputs and is the last batch again, it gets last->outputs, valid until the next call. If it
 * names outputs, it becomes the last.
 */
void batch_take_outputs(struct batch_head *batch, struct batch_last *last);

/*
 * Counts the batch's tokens, sequence by sequence.
 *  - A single token is an output, unless its logits are not wanted: then it ends a prompt.
 *  - Several tokens are outputs (drafts that are checked) if the logits of all are wanted and the
 *    sequence did not begin with them; otherwise they are a prompt.
 *  - A token of several sequences belongs to a prompt.
 * `past` (NULL: none) is used and updated. By it, tokens belong to a known prompt if they continue
 * the prompt or lie within it, as its last token does, alone or before a few drafts. A batch that
 * wants all logits of a prompt scores a text: a batch after it belongs to that prompt, too, if it
 * has more tokens than there can be drafts.
 */
struct batch_tokens batch_count(const struct batch_head *batch, struct batch_past *past);

/* The same; *sequences gets the counts by sequence. */
struct batch_tokens batch_count_sequences(
	const struct batch_head *batch, struct batch_past *past, struct batch_sequences *sequences);

/*
 * Are a sequence's tokens outputs, by the batch alone? Yes if the logits of all are wanted, as for
 * drafts that are checked, unless several tokens begin the sequence. A known prompt may say
 * otherwise.
 */
static inline bool batch_is_output(uint32_t tokens, uint32_t outputs, int32_t first)
{
	return outputs >= tokens && (tokens == 1 || first != 0);
}

/* The position of the batch's token i; -1: not known. past: NULL is allowed. */
int32_t batch_position(const struct batch_head *batch, const struct batch_past *past, int32_t i);

/* The sequence of the batch's token i; -1: several, or an id that is not counted. */
int32_t batch_sequence_of(const struct batch_head *batch, int32_t i);

/*
 * Do the drafts that this batch checks come from the context with that past? True if that context
 * evaluated one of the drafts last, alone and at the same position. Sequences without drafts do not
 * count, because a draft model evaluates its target's tokens, too. sequences: of this batch.
 */
bool batch_is_drafted_by(const struct batch_head *batch, const struct batch_sequences *sequences,
	const struct batch_past *past);

/*
 * Remembers the batch, and returns with how many of its first tokens an earlier batch of this
 * context began, at the same positions: the mark of a server that lost its cache, or of a program
 * that begins its conversation anew with every turn. -1: not known, because the batch has fewer
 * than 8 tokens or more than 65536, it has no array of tokens, or another thread is in this
 * function.
 */
int32_t prompt_memory_repeated(const void *context, const struct batch_head *batch);
