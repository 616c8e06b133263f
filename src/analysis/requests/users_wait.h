/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures how long users wait for a token while several requests are decoded at once, in one batch
 * or in turns. A rate of steps adds all requests up, and a user sees a part of it. Pure; any
 * thread.
 */
#pragma once

#include <stdint.h>
#include "trace/run.h"

struct users_wait {
	uint64_t requests; /* that had tokens while another request had some, too */
	uint64_t at_once;  /* most requests between their first and last tokens at one time */
	uint64_t tokens;   /* of these requests, behind their first ones */
	uint64_t token_ns; /* the mean of request_token_ns(), each as often as it has tokens */
};

/* 1: filled in. 0: no two requests were decoded at once, or nothing tells. -ENOMEM. */
int users_wait_of(struct users_wait *out, const struct run *run);
