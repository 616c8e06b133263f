/* SPDX-License-Identifier: Apache-2.0 */
/* libcurl is loaded when the first client is made. */
#include "http/http_client.h"

#include <curl/curl.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/scope.h"

enum { REPLY_BYTES_MAX = 1 << 30 };

/* The functions of libcurl that are used, by their own names. */
struct functions {
	CURL *(*easy_init)(void);
	CURLcode (*easy_setopt)(CURL *curl, CURLoption option, ...);
	CURLcode (*easy_perform)(CURL *curl);
	CURLcode (*easy_getinfo)(CURL *curl, CURLINFO info, ...);
	void (*easy_cleanup)(CURL *curl);
	const char *(*easy_strerror)(CURLcode code);
	struct curl_slist *(*slist_append)(struct curl_slist *list, const char *line);
	void (*slist_free_all)(struct curl_slist *list);
};

struct http_client {
	struct functions f;
	void *library;
	CURL *curl;
};

static int http_client_load(struct http_client *c)
{
	static const char *const names[] = {"curl_easy_init", "curl_easy_setopt",
		"curl_easy_perform", "curl_easy_getinfo", "curl_easy_cleanup", "curl_easy_strerror",
		"curl_slist_append", "curl_slist_free_all"};
	void **to[] = {(void **)&c->f.easy_init, (void **)&c->f.easy_setopt,
		(void **)&c->f.easy_perform, (void **)&c->f.easy_getinfo,
		(void **)&c->f.easy_cleanup, (void **)&c->f.easy_strerror,
		(void **)&c->f.slist_append, (void **)&c->f.slist_free_all};

	c->library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names) && c->library; i++) {
		*to[i] = dlsym(c->library, names[i]);
		if (!*to[i])
			return -ENOTSUP;
	}
	c->curl = c->library ? c->f.easy_init() : NULL;
	return c->curl ? 0 : -ENOTSUP;
}

static size_t http_client_take(char *data, size_t size, size_t count, void *context)
{
	struct http_reply *reply = context;
	size_t n = size * count;
	char *longer = reply->bytes + n < REPLY_BYTES_MAX
			       ? realloc(reply->body, reply->bytes + n + 1)
			       : NULL;

	if (!longer)
		return 0;
	reply->body = longer;
	memcpy(reply->body + reply->bytes, data, n);
	reply->bytes += n;
	reply->body[reply->bytes] = '\0';
	return n;
}

int http_client_create(struct http_client **out, const char *user, const char *password)
{
	struct http_client *c = calloc(1, sizeof(*c));
	int rc = c ? http_client_load(c) : -ENOMEM;

	if (rc < 0) {
		if (c && c->library)
			dlclose(c->library);
		free(c);
		return rc;
	}
	c->f.easy_setopt(c->curl, CURLOPT_NOSIGNAL, 1L);
	c->f.easy_setopt(c->curl, CURLOPT_WRITEFUNCTION, http_client_take);
	c->f.easy_setopt(c->curl, CURLOPT_PROTOCOLS_STR, "http,https");
	if (user) {
		c->f.easy_setopt(c->curl, CURLOPT_USERNAME, user);
		c->f.easy_setopt(c->curl, CURLOPT_PASSWORD, password ? password : "");
	}
	*out = c;
	return 0;
}

void http_client_destroy(struct http_client *c)
{
	if (!c)
		return;
	c->f.easy_cleanup(c->curl);
	dlclose(c->library);
	free(c);
}

void http_client_patience(struct http_client *c, long connect_ms, long total_ms)
{
	c->f.easy_setopt(c->curl, CURLOPT_CONNECTTIMEOUT_MS, connect_ms);
	c->f.easy_setopt(c->curl, CURLOPT_TIMEOUT_MS, total_ms);
}

static bool was_not_reached(CURLcode code)
{
	return code == CURLE_COULDNT_CONNECT || code == CURLE_COULDNT_RESOLVE_HOST ||
	       code == CURLE_COULDNT_RESOLVE_PROXY || code == CURLE_URL_MALFORMAT ||
	       code == CURLE_UNSUPPORTED_PROTOCOL;
}

static int add_lines(struct http_client *c, struct curl_slist **list, const char *lines)
{
	while (lines && *lines) {
		size_t length = strcspn(lines, "\n");
		SCOPED char *line = strndup(lines, length);
		struct curl_slist *longer = line ? c->f.slist_append(*list, line) : NULL;
		if (!longer)
			return -ENOMEM;
		*list = longer;
		lines += length + (lines[length] == '\n');
	}
	return 0;
}

int http_post(struct http_client *c, const char *url, const char *headers, const char *body,
	size_t bytes, struct http_reply *reply)
{
	struct curl_slist *list = NULL;
	curl_off_t wait_s = 0;

	*reply = (struct http_reply){0};
	if (add_lines(c, &list, headers) < 0) {
		c->f.slist_free_all(list);
		snprintf(reply->error, sizeof(reply->error), "not enough memory");
		return -ECONNREFUSED;
	}
	c->f.easy_setopt(c->curl, CURLOPT_HTTPHEADER, list);
	c->f.easy_setopt(c->curl, CURLOPT_URL, url);
	c->f.easy_setopt(c->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)bytes);
	c->f.easy_setopt(c->curl, CURLOPT_POSTFIELDS, body);
	c->f.easy_setopt(c->curl, CURLOPT_WRITEDATA, reply);
	CURLcode code = c->f.easy_perform(c->curl);
	c->f.easy_setopt(c->curl, CURLOPT_HTTPHEADER, NULL);
	c->f.slist_free_all(list);
	if (code == CURLE_OK && !reply->body) { /* an empty one */
		http_client_take("", 0, 0, reply);
		code = reply->body ? CURLE_OK : CURLE_OUT_OF_MEMORY;
	}
	if (code != CURLE_OK) {
		snprintf(reply->error, sizeof(reply->error), "%s", c->f.easy_strerror(code));
		return was_not_reached(code) ? -ECONNREFUSED : -EIO;
	}
	c->f.easy_getinfo(c->curl, CURLINFO_RESPONSE_CODE, &reply->status);
	c->f.easy_getinfo(c->curl, CURLINFO_RETRY_AFTER, &wait_s);
	reply->retry_after_s = wait_s > 0 && wait_s < LONG_MAX ? (long)wait_s : 0;
	return 0;
}

void http_reply_fini(struct http_reply *reply)
{
	free(reply->body);
	reply->body = NULL;
}
