/* SPDX-License-Identifier: Apache-2.0 */
/* What stands in for http_client.c where libcurl's headers are missing. */
#include "http/http_client.h"

#include <errno.h>

int http_client_create(struct http_client **out, const char *user, const char *password)
{
	return -ENOTSUP;
}

void http_client_destroy(struct http_client *client)
{
}

void http_client_patience(struct http_client *client, long connect_ms, long total_ms)
{
}

int http_post(struct http_client *client, const char *url, const char *headers, const char *body,
	size_t bytes, struct http_reply *reply)
{
	*reply = (struct http_reply){0};
	return -ENOTSUP;
}

void http_reply_fini(struct http_reply *reply)
{
}
