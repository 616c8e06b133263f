/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose tokens a step evaluates. An engine says of each step which sequences are in its batch, and
 * of a request when it begins and ends. A request is a life of a sequence: without these calls it
 * begins with the sequence's first tokens, and ends where the next one begins. `brick requests`
 * tells of each how long it waited, and for whom. Sequences and models have the numbers that the
 * program gives them. Any thread; a step's sequences are told by the thread that evaluates it.
 */
#ifndef BRICK_REQUEST_H
#define BRICK_REQUEST_H

#include <stddef.h>
#include <stdint.h>
#include "brick/export.h"

BRICK_BEGIN_DECLS

/* The tokens of one sequence that a step evaluates. */
struct brick_step_sequence {
	size_t size;		/* sizeof(struct brick_step_sequence) */
	uint32_t model;		/* the program's number; below 65535 */
	uint32_t sequence;	/* the program's number in the model; below 2^31 */
	uint32_t prompt_tokens; /* tokens of the prompt */
	uint32_t output_tokens; /* tokens from which new ones are made */
	uint32_t results;	/* tokens of both kinds whose results are wanted; below 2^31 */
	int32_t position;	/* of the first of these tokens in the sequence; -1: not known */
};

#define BRICK_STEP_SEQUENCE_INIT BRICK_SIZED(struct brick_step_sequence)

/*
 * Says which tokens of one sequence the step evaluates that is open on this thread. Call it once
 * for each sequence in the step's batch. 0, also if the ring had no room (counted as dropped).
 * -ENOENT: nothing records. -EINVAL: size, a number that is too large, or no tokens.
 */
BRICK_API int brick_step_sequence(const struct brick_step_sequence *sequence);

/* A request, at its begin. */
struct brick_request {
	size_t size; /* sizeof(struct brick_request) */
	uint32_t model, sequence;
	uint64_t number;  /* the program's own; 0: it has none */
	uint64_t arrived; /* brick_ticks() when it came, before it had a sequence; 0: not known */
};

#define BRICK_REQUEST_INIT BRICK_SIZED(struct brick_request)

/* Begins a request: the sequence's next tokens are its. Errors as of brick_step_sequence(). */
BRICK_API int brick_request_begin(const struct brick_request *request);

/* Ends the sequence's request. Errors as of brick_step_sequence(). */
BRICK_API int brick_request_end(uint32_t model, uint32_t sequence);

BRICK_END_DECLS

#endif
