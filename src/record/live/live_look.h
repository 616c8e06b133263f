/* SPDX-License-Identifier: Apache-2.0 */
/* One look after the other at sessions, each as a run. One thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include "trace/run.h"

enum { LIVE_MAX_SESSIONS = 256 };

struct live_session;

/* 1: the time to the first token is known from these records, and in *ttft_ns. */
typedef int (*live_first_token_fn)(const struct run *run, uint64_t *ttft_ns);

struct live_look {
	size_t capacity; /* records of a lane to look at */
	live_first_token_fn first_token;
	uint64_t ttft_ns;
	int ttft_known;
	int first_seen;	    /* ttft_ns is as well known as it ever will be */
	uint64_t first_due; /* records that a lane must hold to look for it again */
	struct run *base;   /* statistics count from here on; NULL: from the start */
	int reset;	    /* the next look becomes the base */
};

void live_look_init(struct live_look *look, live_first_token_fn first_token);
void live_look_fini(struct live_look *look);

/* As live_source_run() says. */
int live_look_run(struct live_look *look, const struct live_session *sessions, struct run **out,
	uint64_t *ttft_ns);
