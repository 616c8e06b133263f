/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts what a batch of llama.cpp is made of. Tokens belong to prompts, or they are outputs: the
 * engine makes new tokens from these, or checks drafts with them. Also tells whether a prompt was
 * evaluated before. Any thread.
 */
#pragma once

#include <stdbool.h>
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

enum {
	BATCH_SEQUENCES = 512,
	BATCH_MOST_CHECKED = 17, /* a token and as many drafts as llama.cpp has by default, once */
};

/* What a batch has of each sequence. Few are in a batch: the others are not touched. */
struct batch_sequences {
	uint64_t seen[BATCH_SEQUENCES / 64]; /* a bit for each */
	struct batch_sequence {
		uint32_t tokens, outputs; /* that are its own, and those with results wanted */
		uint32_t shared;	  /* that are other sequences', too: of a prompt */
		uint32_t prompt;	  /* of its own ones */
		int32_t first, last;	  /* positions of its own; -1: not known */
		int32_t shared_first;
		int32_t token; /* the last */
	} of[BATCH_SEQUENCES]; /* of those that are seen */
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
	uint32_t checked; /* outputs that are drafts: they hold if the engine chooses the same */
	uint32_t refuted; /* drafts of earlier batches: this batch goes on before their end, so they
			     did not hold; without those that batch_removed() returned */
};

/* What a context has evaluated of its sequences; all 0: nothing. */
struct batch_past {
	struct sequence_past {
		int32_t prompt_end;	      /* position behind the last token of its prompt */
		int32_t end;		      /* behind the last token of all */
		int32_t moved_from, moved_by; /* since then, see batch_moved() */
		int16_t unfinished; /* its prompt goes on: no logits were wanted, or it was cut */
		int16_t scored;	    /* its last batch was a prompt's and wanted all logits */
		int32_t lone_token; /* its last batch, if that was one token ... */
		int32_t checked;    /* ... and if it checked drafts: how many */
	} of[BATCH_SEQUENCES];
	int32_t goes_on; /* where a batch without positions begins, + 1; 0: not known */
};

/*
 * The sequence's tokens from a position on were moved (llama_memory_seq_add()), as in a full
 * context that lost its older half. This matters if the next batch goes on just there.
 */
void batch_moved(struct batch_past *past, int32_t sequence, int32_t from, int32_t by);

/*
 * The sequence lost its tokens from one position up to another (-1: to its end). Returns how many
 * drafts of its last batch are among them; 0 if it lost more. If these are more than there can be
 * drafts, a prompt comes next.
 */
uint32_t batch_removed(struct batch_past *past, int32_t sequence, int32_t from, int32_t to);

/* The batch before, whichever context it was for. All 0: none. */
struct batch_last {
	struct batch_head head; /* its pointers may dangle */
	int32_t first;		/* position */
	int8_t outputs[BATCH_SEQUENCES];
};

/*
 * A draft model that follows another one gets the same batch, but without its outputs. If this
 * batch names no outputs and is the same as the last one, it gets the last one's; else it becomes
 * the last.
 */
void batch_take_outputs(struct batch_head *batch, struct batch_last *last);

/*
 * Counts the batch's tokens, sequence by sequence.
 *  - A single token is an output, unless its logits are not wanted: then it ends a prompt.
 *  - Several tokens are outputs (drafts that are checked) if the logits of all are wanted and the
 *    sequence did not begin with them; otherwise they are a prompt.
 *  - A token of several sequences belongs to a prompt.
 * A past is brought up to date. With it, tokens belong to a known prompt if they continue it or lie
 * within it, as its last token does, alone or before a few drafts. A batch that wants all logits of
 * a prompt scores a text: a batch after it belongs to that prompt, too, if it has more tokens than
 * there can be drafts.
 */
struct batch_tokens batch_count(const struct batch_head *batch, struct batch_past *past);

/* The same, and what it has of each sequence. */
struct batch_tokens batch_count_sequences(
	const struct batch_head *batch, struct batch_past *past, struct batch_sequences *sequences);

/*
 * Were a sequence's tokens chosen before? Yes where the logits of all are wanted, as of drafts that
 * are checked, but not where several begin the sequence. What is known of the sequence's prompt may
 * say otherwise.
 */
static inline bool batch_is_output(uint32_t tokens, uint32_t outputs, int32_t first)
{
	return outputs >= tokens && (tokens == 1 || first != 0);
}

/* The position of its token i; -1: not known. */
int32_t batch_position(const struct batch_head *batch, const struct batch_past *past, int32_t i);

/* The sequence of its token i; -1: there are several, or none that we count. */
int32_t batch_sequence_of(const struct batch_head *batch, int32_t i);

/*
 * Do the drafts that this batch checks come from the context with that past? It has evaluated one
 * of their tokens last, at the same position. Sequences without drafts say nothing: a model that
 * drafts evaluates what the other one has, too. sequences: what was counted of the batch.
 */
bool batch_is_drafted_by(const struct batch_head *batch, const struct batch_sequences *sequences,
	const struct batch_past *past);

/*
 * Remembers the batch, and returns how many of its first tokens an earlier batch of this context
 * began with, at the same positions: a server that lost its cache, a program that begins its
 * conversation anew with every turn. A batch that a draft model and its target both evaluate is no
 * repetition. -1: not known, because the batch is too short to be a prompt, it has no tokens, or
 * another thread is here.
 */
int32_t prompt_memory_repeated(const void *context, const struct batch_head *batch);
