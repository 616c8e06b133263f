/* SPDX-License-Identifier: Apache-2.0 */
/* What a server makes when it is asked for it, rather than give out what is there. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* A request for something that is made when it is asked for. */
struct http_question {
	const char *path;		   /* HTTP_STEP or HTTP_TIMELINE */
	uint64_t step, since_ns, until_ns; /* what was not said: 0, 0 and UINT64_MAX */
};
#define HTTP_STEP "/step.json"
#define HTTP_TIMELINE "/timeline.json"

/*
 * The answer as JSON, allocated with malloc(). NULL: there is no such thing. Called in the server's
 * thread, one at a time.
 */
typedef char *(*http_ask_fn)(void *context, const struct http_question *question, size_t *bytes);
