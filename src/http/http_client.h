/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An HTTP client by libcurl, for one request at a time. libcurl is loaded by http_client_create(),
 * so that commands without a server do not start more slowly. One thread at a time.
 */
#pragma once

#include <stddef.h>

struct http_client;

struct http_reply {
	long status;	    /* HTTP status; 0: there was no reply */
	char *body;	    /* with a final NUL; freed by http_reply_fini() */
	size_t bytes;	    /* of the body, without the NUL */
	char error[256];    /* why there was no reply */
	long retry_after_s; /* Retry-After in seconds; 0: the server has not sent it */
};

/*
 * user NULL: no user and no password. 0; -ENOTSUP: this build, or this machine, has no libcurl; or
 * -ENOMEM.
 */
int http_client_create(struct http_client **out, const char *user, const char *password);
void http_client_destroy(struct http_client *client);

/* Limit the time of later requests, in ms. total_ms includes connecting. */
void http_client_patience(struct http_client *client, long connect_ms, long total_ms);

/*
 * Post a body of `bytes` bytes. headers: lines as "Content-Type: application/json"; NULL: none. 0:
 * there is a reply, whatever its status; -ECONNREFUSED: the server was not reached, and has got
 * nothing; -EIO: the server may have got the request. Free the reply in every case.
 */
int http_post(struct http_client *client, const char *url, const char *headers, const char *body,
	size_t bytes, struct http_reply *reply);
void http_reply_fini(struct http_reply *reply);
