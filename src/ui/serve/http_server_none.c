/* SPDX-License-Identifier: Apache-2.0 */
/* Stands in for the server in builds without libmicrohttpd. */
#include "ui/serve/http_server.h"

#include <errno.h>

const char *http_missing(void)
{
	return "this build has no HTTP server; install libmicrohttpd-dev and build again";
}

int http_start(struct http **out, const struct http_options *options)
{
	return -ENOSYS;
}

uint16_t http_port(const struct http *http)
{
	return 0;
}

int http_publish(struct http *http, struct http_content *content)
{
	return -ENOSYS;
}

uint64_t http_asked(const struct http *http)
{
	return 0;
}

void http_sweep(struct http *http)
{
}

void http_stop(struct http *http)
{
}
