/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One request at a time to an HTTP server, by libcurl, which is loaded when it is first needed:
 * commands that ask no server start no slower for it. One thread at a time.
 */
#pragma once

#include <stddef.h>

struct http_client;

struct http_reply {
	long status; /* of HTTP; 0: there was none */
	char *body;  /* with a final NUL; freed by http_reply_fini() */
	size_t bytes;
	char error[256];    /* why there was none */
	long retry_after_s; /* how long the server asks to wait; 0: it does not */
};

/* user: NULL: none, and no password. -ENOTSUP: this build, or this machine, has no libcurl;
 * -ENOMEM. */
int http_client_create(struct http_client **out, const char *user, const char *password);
void http_client_destroy(struct http_client *client);

/* The time that a request may take; connecting takes a part of it at most. */
void http_client_patience(struct http_client *client, long connect_ms, long total_ms);

/*
 * Post a body, of so many bytes, with headers: lines as "Content-Type: application/json"; NULL:
 * text. 0: there is a reply, whatever its status. -ECONNREFUSED: the server was not reached, and
 * has seen nothing of it; -EIO: what became of it is not known. The reply is to be freed in each
 * case.
 */
int http_post(struct http_client *client, const char *url, const char *headers, const char *body,
	size_t bytes, struct http_reply *reply);
void http_reply_fini(struct http_reply *reply);
