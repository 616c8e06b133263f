/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The requests of a run: lives of sequences, from the first tokens to the end, and whose tokens
 * each step evaluated. All numbers here were counted and measured; interference.h has modelled
 * ones. A step's time is never split among requests. Tokens that a model drafts for another one are
 * in no request. Borrows the run. Read-only once made: any thread.
 *
 * A request begins with a sequence's first tokens, with a prompt behind tokens that were made, with
 * tokens behind an end that was removed (but for refuted drafts), and where the program says so.
 * Its token is there when it was chosen; where the recording does not say that, when its step ends.
 */
#pragma once

#include "analysis/requests/request_data.h"

/* 0, -ENOMEM, or BRICK_ENOTRECORDED: no step says whose its tokens are. */
int requests_create(struct requests **out, const struct run *run);
void requests_destroy(struct requests *requests);

/* Views call it by the program's own number, if are_numbered; else they count from 1, by begin. */
uint64_t request_number(const struct requests *requests, uint32_t index);

/* Time from its first step to its first token; ANALYSIS_UNKNOWN: there was none. */
uint64_t request_ttft_ns(const struct request *request);
/* Time between its first token and its last, for each; ANALYSIS_UNKNOWN: it had less than two. */
uint64_t request_token_ns(const struct requests *requests, const struct request *request);
/* Time from its arrival to its first step; ANALYSIS_UNKNOWN: the program does not say. */
uint64_t request_queue_ns(const struct request *request);
/* Time between the steps that it took part in, from the end of one to the begin of the next. */
uint64_t request_between_ns(const struct requests *requests, const struct request *request);
