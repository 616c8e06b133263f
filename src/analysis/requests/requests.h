/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the requests of a run from the events of its sequences, and whose tokens each step
 * evaluated. All numbers here were counted and measured; interference.h has modelled ones. A step's
 * time is never split among requests. Tokens that a model drafts for another one are in no request.
 * Borrows the run. Read-only once made: any thread.
 *
 * A request begins with the first tokens of a sequence; with a prompt behind tokens that were made;
 * with tokens after the sequence was cut (but not when refuted drafts were cut); and where the
 * program says so. The time of a token is when it was chosen, or, if the recording does not say,
 * when its step ended.
 */
#pragma once

#include "analysis/requests/request_data.h"

/* 0, -ENOMEM, or BRICK_ENOTRECORDED: no step's sequences are known. */
int requests_create(struct requests **out, const struct run *run);
void requests_destroy(struct requests *requests);

/* The number that views show: the program's own if are_numbered, else from 1, by begin. */
uint64_t request_number(const struct requests *requests, uint32_t index);

/* Time from its first step to its first token; ANALYSIS_UNKNOWN: there was none. */
uint64_t request_ttft_ns(const struct request *request);
/* Mean time of a token after the first one; ANALYSIS_UNKNOWN: it had less than two tokens. */
uint64_t request_token_ns(const struct requests *requests, const struct request *request);
/* Time from its arrival to its first step; ANALYSIS_UNKNOWN: the program does not say. */
uint64_t request_queue_ns(const struct request *request);
/* Sum of the times between the steps that it took part in, each from an end to the next begin. */
uint64_t request_between_ns(const struct requests *requests, const struct request *request);
