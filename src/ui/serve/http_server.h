/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small HTTP server: three documents from memory, and answers to two questions (http_ask_fn). It
 * opens no file for a request. It runs in a thread of its own. Slow, many and malformed clients
 * cost it a bounded number of connections for a bounded time. Main thread, except where said.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* A request for a document that is made on demand. */
struct http_question {
	const char *path;  /* HTTP_STEP or HTTP_TIMELINE */
	uint64_t step;	   /* its number, from 1; not given: 0 */
	uint64_t since_ns; /* from the recording's begin; not given: 0 */
	uint64_t until_ns; /* not given: UINT64_MAX */
};
#define HTTP_STEP "/step.json"
#define HTTP_TIMELINE "/timeline.json"

/*
 * Makes the answer: JSON, which the server frees with free(). -ENOENT becomes 404, other errors
 * 500. Called in the server's thread, one at a time.
 */
typedef int (*http_ask_fn)(
	void *context, const struct http_question *question, char **text, size_t *bytes);

/*
 * Does what a POST asks: `path` is HTTP_ON, HTTP_OFF or HTTP_MARK, with a text. 0; -ESRCH: nothing
 * is being recorded any more; other errors: the recorder refuses or does not answer. Called in the
 * server's thread, one at a time, and only with a token.
 */
typedef int (*http_order_fn)(void *context, const char *path, const char *text);
#define HTTP_ON "/on"
#define HTTP_OFF "/off"
#define HTTP_MARK "/mark"

/*
 * Documents to serve, from malloc(); http_publish() takes them. NULL: the present document stays.
 * The sizes are without a final NUL.
 */
struct http_content {
	char *page; /* at /, text/html */
	size_t page_bytes;
	char *data; /* at /data.json */
	size_t data_bytes;
	char *metrics; /* at /metrics, OpenMetrics text */
	size_t metrics_bytes;
};

struct http_options {
	const char *address; /* numeric, IPv4 or IPv6 */
	uint16_t port;	     /* 0: any free port */
	const char *token;   /* NULL: whoever reaches the address may read */
	http_ask_fn ask;     /* NULL: questions get 404 */
	void *ask_context;
	http_order_fn order; /* with ask_context; NULL: there are none */
};

struct http;

/* The reason why this build has no server; NULL: it has one. */
const char *http_missing(void);

/*
 * Starts the server's thread, which inherits the blocked signals: block them before. -EINVAL: no
 * numeric address; -ENOSYS: http_missing() says why; -ENOMEM, or -errno of the socket.
 */
int http_start(struct http **out, const struct http_options *options);

/* The port that it listens on. */
uint16_t http_port(const struct http *http);

/*
 * Publishes new documents, and zeroes `content`. Answers that are being sent keep their old text.
 * -ENOMEM: some documents stay as they were.
 */
int http_publish(struct http *http, struct http_content *content);

/* The number of requests so far, refused ones included. Any thread. */
uint64_t http_asked(const struct http *http);

/* Ends the connections that have taken too long. Call it about once a second. */
void http_sweep(struct http *http);

/* NULL is legal. Ends all connections. */
void http_stop(struct http *http);
