/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small HTTP server that gives out three documents from memory, and answers to two questions, and
 * nothing else: no file is ever opened for a request. It runs in a thread of its own; slow, many
 * and malformed clients cost it a bounded number of connections for a bounded time. Main thread,
 * except where said.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* A request for a document that is made on demand. */
struct http_question {
	const char *path;		   /* HTTP_STEP or HTTP_TIMELINE */
	uint64_t step, since_ns, until_ns; /* if not given: 0, 0 and UINT64_MAX */
};
#define HTTP_STEP "/step.json"
#define HTTP_TIMELINE "/timeline.json"

/*
 * The answer as JSON, allocated with malloc(). -ENOENT: there is no such thing; other errors are
 * answered with 500. Called in the server's thread, one at a time.
 */
typedef int (*http_ask_fn)(
	void *context, const struct http_question *question, char **text, size_t *bytes);

/*
 * Documents to serve; each is allocated with malloc(), and taken over by http_publish(). NULL: the
 * present one stays.
 */
struct http_content {
	char *page; /* of /, text/html */
	size_t page_bytes;
	char *data; /* of /data.json */
	size_t data_bytes;
	char *metrics; /* of /metrics, OpenMetrics text */
	size_t metrics_bytes;
};

struct http_options {
	const char *address; /* numeric, IPv4 or IPv6 */
	uint16_t port;	     /* 0: any that is free */
	const char *token;   /* NULL: whoever reaches the address may read */
	http_ask_fn ask;     /* NULL: nothing is made */
	void *ask_context;
};

struct http;

/* The reason why this build has no server; NULL: it has one. */
const char *http_missing(void);

/* -errno; or -ENOSYS: http_missing() says why. Signals should be blocked: threads inherit that. */
int http_start(struct http **out, const struct http_options *options);

/* The port that it listens on. */
uint16_t http_port(const struct http *http);

/* Publishes new documents. Answers on their way end with those that they began with. -ENOMEM. */
int http_publish(struct http *http, struct http_content *content);

/* The number of requests so far. */
uint64_t http_asked(const struct http *http);

/* To be called about once a second: ends the connections that have taken too long. */
void http_sweep(struct http *http);

/* NULL is legal. Ends all connections. */
void http_stop(struct http *http);
