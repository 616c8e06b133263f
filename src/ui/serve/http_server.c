/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server, by libmicrohttpd: one thread, a bounded number of connections, answers from memory.
 * The documents of one publication are replaced together under a lock; the library counts
 * the answers that still send an old document.
 */
#include "ui/serve/http_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>

#include "base/clock_ns.h"
#include "base/number.h"
#include "base/scope.h"
#include "ui/serve/access.h"

enum { SILENCE_S = 10, CONNECTION_BYTES = 32768, DOCUMENTS = 3, HTTP_TEXT = 255 };

/*
 * ---- connections, and since when each is busy with its present request ----
 *
 * A client that sends or reads a byte now and then never meets the timeout of silence; it meets
 * this timeout. When places get few, the oldest connection without a whole request is ended, so
 * that clients with a request are served. A descriptor is shut down under the lock that its owner
 * needs to give it back, so that it cannot be another connection's by then.
 */

enum { CONNECTIONS_MAX = 64 };

struct connection_slot {
	int descriptor; /* -1: free */
	uint64_t since_ns;
	bool asked; /* a whole request is there */
	bool ended; /* by us; it gives its slot back soon */
};

struct connections {
	pthread_mutex_t lock;
	struct connection_slot slots[CONNECTIONS_MAX];
	unsigned count;
};

enum { CROWDED = CONNECTIONS_MAX * 3 / 4 };
/*
 * The longest time that a connection may take: [a whole request is there][the server is crowded].
 */
static const uint64_t patience_ns[2][2] = {
	{10 * 1000000000ull, 1 * 1000000000ull}, {60 * 1000000000ull, 5 * 1000000000ull}};

static void connections_init(struct connections *c)
{
	pthread_mutex_init(&c->lock, NULL);
	c->count = 0;
	for (unsigned i = 0; i < CONNECTIONS_MAX; i++)
		c->slots[i].descriptor = -1;
}

static void connections_fini(struct connections *c)
{
	pthread_mutex_destroy(&c->lock);
}

/* Makes room, so that the next connection need not wait. The caller holds the lock. */
static void end_oldest_silent(struct connections *c)
{
	struct connection_slot *oldest = NULL;
	for (unsigned i = 0; i < CONNECTIONS_MAX; i++) {
		struct connection_slot *slot = &c->slots[i];
		if (slot->descriptor >= 0 && !slot->asked && !slot->ended &&
			(!oldest || slot->since_ns < oldest->since_ns))
			oldest = slot;
	}
	if (oldest) {
		oldest->ended = true;
		shutdown(oldest->descriptor, SHUT_RDWR);
	}
}

/* NULL when there is no slot: the connection then is not watched. */
static struct connection_slot *connections_add(struct connections *c, int descriptor)
{
	struct connection_slot *slot = NULL;
	HOLD(&c->lock);
	for (unsigned i = 0; i < CONNECTIONS_MAX && !slot; i++)
		if (c->slots[i].descriptor < 0)
			slot = &c->slots[i];
	if (slot) {
		if (c->count >= CROWDED)
			end_oldest_silent(c);
		*slot = (struct connection_slot){
			.descriptor = descriptor, .since_ns = monotonic_ns()};
		c->count++;
	}
	return slot;
}

static void connections_remove(struct connections *c, struct connection_slot *slot)
{
	HOLD(&c->lock);
	slot->descriptor = -1;
	c->count--;
}

static void connections_asked(struct connections *c, struct connection_slot *slot)
{
	HOLD(&c->lock);
	slot->asked = true;
}

/* A request was answered: the next one begins. */
static void connections_renew(struct connections *c, struct connection_slot *slot)
{
	HOLD(&c->lock);
	slot->since_ns = monotonic_ns();
	slot->asked = false;
}

/*
 * Shuts down connections that take too long: a minute (a request: ten seconds), less when few are
 * left.
 */
static void connections_sweep(struct connections *c)
{
	HOLD(&c->lock);
	uint64_t now = monotonic_ns();
	bool is_crowded = c->count > CROWDED;
	for (unsigned i = 0; i < CONNECTIONS_MAX; i++) {
		const struct connection_slot *slot = &c->slots[i];
		if (slot->descriptor >= 0 &&
			now - slot->since_ns > patience_ns[slot->asked][is_crowded])
			shutdown(slot->descriptor, SHUT_RDWR);
	}
}

/* Documents and answers. */

struct document {
	const char *path, *type;
	struct MHD_Response *response;
	char tag[40];
};

struct http {
	struct MHD_Daemon *daemon;
	pthread_mutex_t lock; /* documents */
	struct document documents[DOCUMENTS];
	uint64_t serial;
	struct connections connections;
	bool local; /* bound to an address of this machine only: names are checked */
	char *token;
	uint64_t asked; /* requests */
	http_ask_fn ask;
	http_order_fn order;
	void *ask_context;
};

static const struct document documents[DOCUMENTS] = {
	{.path = "/", .type = "text/html; charset=utf-8"},
	{.path = "/data.json", .type = "application/json"},
	{.path = "/metrics", .type = "application/openmetrics-text; version=1.0.0; charset=utf-8"},
};

const char *http_missing(void)
{
	return NULL;
}

static void add_headers(struct MHD_Response *response)
{
	static const char *const headers[][2] = {
		{"Cache-Control", "no-store"},
		{"X-Content-Type-Options", "nosniff"},
		{"X-Frame-Options", "DENY"},
		{"Referrer-Policy", "no-referrer"},
		{"Cross-Origin-Resource-Policy", "same-origin"},
	};
	for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++)
		MHD_add_response_header(response, headers[i][0], headers[i][1]);
}

/* Sends an answer that is no document. name, value: one more header, or NULL. */
static enum MHD_Result http_server_refuse(struct MHD_Connection *connection, unsigned status,
	const char *text, const char *name, const char *value)
{
	struct MHD_Response *response =
		MHD_create_response_from_buffer(strlen(text), (void *)text, MHD_RESPMEM_PERSISTENT);
	if (!response)
		return MHD_NO;
	add_headers(response);
	MHD_add_response_header(response, "Content-Type", "text/plain; charset=utf-8");
	MHD_add_response_header(response, "Connection", "close");
	if (name)
		MHD_add_response_header(response, name, value);
	enum MHD_Result result = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return result;
}

/* A number of the query; anything else counts as not given. */
static uint64_t http_server_number_of(
	struct MHD_Connection *connection, const char *name, uint64_t otherwise)
{
	const char *text = MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, name);
	uint64_t value;

	return number_u64(text, 0, UINT64_MAX, &value) == 0 ? value : otherwise;
}

/* Sends an answer that is made for the query of this request. */
static enum MHD_Result send_made(
	struct MHD_Connection *connection, const char *path, http_ask_fn ask, void *context)
{
	const struct http_question question = {path, http_server_number_of(connection, "step", 0),
		http_server_number_of(connection, "since", 0),
		http_server_number_of(connection, "until", UINT64_MAX)};
	size_t bytes;
	char *text;
	int rc = ask(context, &question, &text, &bytes);

	if (rc == -ENOENT)
		return http_server_refuse(
			connection, MHD_HTTP_NOT_FOUND, "There is no such step.\n", NULL, NULL);
	if (rc < 0)
		return http_server_refuse(connection, MHD_HTTP_INTERNAL_SERVER_ERROR,
			"Not enough memory for this answer.\n", NULL, NULL);
	struct MHD_Response *response =
		MHD_create_response_from_buffer(bytes, text, MHD_RESPMEM_MUST_FREE);
	if (!response) {
		free(text);
		return MHD_NO;
	}
	add_headers(response);
	MHD_add_response_header(response, "Content-Type", "application/json");
	enum MHD_Result result = MHD_queue_response(connection, MHD_HTTP_OK, response);
	MHD_destroy_response(response);
	return result;
}

static const char *header_of(struct MHD_Connection *connection, const char *name)
{
	return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

static bool has_token(const struct http *http, struct MHD_Connection *connection)
{
	if (!http->token)
		return true;
	const char *bearer = access_bearer(header_of(connection, "Authorization"));
	const char *query = MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "token");
	bool by_header = access_token(bearer, http->token);
	bool by_query = access_token(query, http->token);
	return by_header || by_query;
}

static enum MHD_Result not_modified(struct MHD_Connection *connection, const char *tag)
{
	struct MHD_Response *response =
		MHD_create_response_from_buffer(0, (void *)"", MHD_RESPMEM_PERSISTENT);
	if (!response)
		return MHD_NO;
	add_headers(response);
	MHD_add_response_header(response, "ETag", tag);
	enum MHD_Result result = MHD_queue_response(connection, MHD_HTTP_NOT_MODIFIED, response);
	MHD_destroy_response(response);
	return result;
}

static enum MHD_Result send_document(
	struct http *http, struct MHD_Connection *connection, unsigned which)
{
	enum MHD_Result result;
	const char *known = header_of(connection, "If-None-Match");
	HOLD(&http->lock);
	const struct document *document = &http->documents[which];
	if (!document->response)
		result = http_server_refuse(connection, MHD_HTTP_SERVICE_UNAVAILABLE,
			"Not ready yet.\n", "Retry-After", "1");
	else if (known && !strcmp(known, document->tag))
		result = not_modified(connection, document->tag);
	else
		result = MHD_queue_response(connection, MHD_HTTP_OK, document->response);
	return result;
}

static enum MHD_Result http_server_answer(
	struct http *http, struct MHD_Connection *connection, const char *url)
{
	if (http->local && !access_is_local(header_of(connection, "Host")))
		return http_server_refuse(connection, MHD_HTTP_MISDIRECTED_REQUEST,
			"This server answers to localhost only.\n", NULL, NULL);
	if (!has_token(http, connection))
		return http_server_refuse(connection, MHD_HTTP_UNAUTHORIZED, "A token is needed.\n",
			"WWW-Authenticate", "Bearer realm=\"brick\"");
	for (unsigned i = 0; i < DOCUMENTS; i++)
		if (!strcmp(url, documents[i].path))
			return send_document(http, connection, i);
	if (http->ask && (!strcmp(url, HTTP_STEP) || !strcmp(url, HTTP_TIMELINE)))
		return send_made(connection, url, http->ask, http->ask_context);
	return http_server_refuse(connection, MHD_HTTP_NOT_FOUND,
		"There is /, /data.json and /metrics.\n", NULL, NULL);
}

static bool is_order(const char *url)
{
	return !strcmp(url, HTTP_ON) || !strcmp(url, HTTP_OFF) || !strcmp(url, HTTP_MARK);
}

/* A POST. Whoever may only read must not switch: no token, no orders. */
static enum MHD_Result http_server_obey(
	struct http *http, struct MHD_Connection *connection, const char *url)
{
	const char *text = MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "text");

	if (http->local && !access_is_local(header_of(connection, "Host")))
		return http_server_refuse(connection, MHD_HTTP_MISDIRECTED_REQUEST,
			"This server answers to localhost only.\n", NULL, NULL);
	if (!http->token)
		return http_server_refuse(connection, MHD_HTTP_FORBIDDEN,
			"Only a server with a token takes orders.\n", NULL, NULL);
	if (!has_token(http, connection))
		return http_server_refuse(connection, MHD_HTTP_UNAUTHORIZED, "A token is needed.\n",
			"WWW-Authenticate", "Bearer realm=\"brick\"");
	if (!strcmp(url, HTTP_MARK) && (!text || !*text || strlen(text) > HTTP_TEXT))
		return http_server_refuse(connection, MHD_HTTP_BAD_REQUEST,
			"The text must have 1 to 255 bytes.\n", NULL, NULL);
	int rc = http->order(http->ask_context, url, text);
	if (rc == -ESRCH)
		return http_server_refuse(
			connection, MHD_HTTP_CONFLICT, "Nothing is being recorded.\n", NULL, NULL);
	if (rc)
		return http_server_refuse(connection, MHD_HTTP_BAD_GATEWAY,
			"The recorder refuses, or does not answer.\n", NULL, NULL);
	return http_server_refuse(connection, MHD_HTTP_OK, "Done.\n", NULL, NULL);
}

static enum MHD_Result count_value(
	void *count, enum MHD_ValueKind kind, const char *name, const char *value)
{
	/* a blank before the colon is not allowed; others may take it for Host all the same */
	size_t length = strcspn(name, " \t");
	*(unsigned *)count += length == 4 && !strncasecmp(name, "Host", length);
	return MHD_YES;
}

/* If a request names two hosts, another program on the way may believe the other one. */
static bool has_two_hosts(struct MHD_Connection *connection)
{
	unsigned count = 0;
	MHD_get_connection_values(connection, MHD_HEADER_KIND, count_value, &count);
	return count > 1;
}

/* Called when the headers are there, and again when the body is, which no request may have. */
static enum MHD_Result on_request(void *context, struct MHD_Connection *connection, const char *url,
	const char *method, const char *version, const char *upload, size_t *upload_bytes,
	void **state)
{
	static int seen;
	struct http *http = context;
	if (*state)
		return *upload_bytes ? MHD_NO
		       : !strcmp(method, MHD_HTTP_METHOD_POST)
			       ? http_server_obey(http, connection, url)
			       : http_server_answer(http, connection, url);
	*state = &seen;
	__atomic_add_fetch(&http->asked, 1, __ATOMIC_RELAXED);
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	if (info && info->socket_context)
		connections_asked(&http->connections, info->socket_context);
	if (has_two_hosts(connection))
		return http_server_refuse(
			connection, MHD_HTTP_BAD_REQUEST, "One Host header only.\n", NULL, NULL);
	bool is_post = !strcmp(method, MHD_HTTP_METHOD_POST) && http->order && is_order(url);
	if (strcmp(method, MHD_HTTP_METHOD_GET) && strcmp(method, MHD_HTTP_METHOD_HEAD) && !is_post)
		return http_server_refuse(connection, MHD_HTTP_METHOD_NOT_ALLOWED,
			"GET and HEAD only.\n", "Allow", "GET, HEAD");
	const char *length = header_of(connection, "Content-Length");
	if (header_of(connection, "Transfer-Encoding") || (length && strcmp(length, "0")))
		return http_server_refuse(connection, MHD_HTTP_CONTENT_TOO_LARGE,
			"Requests have no body.\n", NULL, NULL);
	return MHD_YES;
}

static void on_connection(void *context, struct MHD_Connection *connection, void **slot,
	enum MHD_ConnectionNotificationCode code)
{
	struct http *http = context;
	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		const union MHD_ConnectionInfo *info =
			MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
		*slot = info ? connections_add(&http->connections, info->connect_fd) : NULL;
	} else if (*slot) {
		connections_remove(&http->connections, *slot);
		*slot = NULL;
	}
}

static void on_completed(void *context, struct MHD_Connection *connection, void **state,
	enum MHD_RequestTerminationCode code)
{
	struct http *http = context;
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	if (*state && info && info->socket_context)
		connections_renew(&http->connections, info->socket_context);
	*state = NULL;
}

/* An escaped NUL would end the text early: it stays as it is. */
static size_t unescape(void *context, struct MHD_Connection *connection, char *text)
{
	return strstr(text, "%00") ? strlen(text) : MHD_http_unescape(text);
}

union address {
	struct sockaddr any;
	struct sockaddr_in four;
	struct sockaddr_in6 six;
};

static int parse_address(union address *address, const struct http_options *options)
{
	memset(address, 0, sizeof(*address));
	if (inet_pton(AF_INET, options->address, &address->four.sin_addr) == 1) {
		address->four.sin_family = AF_INET;
		address->four.sin_port = htons(options->port);
		return 0;
	}
	if (inet_pton(AF_INET6, options->address, &address->six.sin6_addr) == 1) {
		address->six.sin6_family = AF_INET6;
		address->six.sin6_port = htons(options->port);
		return 0;
	}
	return -EINVAL;
}

static int start_daemon(struct http *http, const union address *address)
{
	unsigned flags = MHD_USE_AUTO_INTERNAL_THREAD | MHD_USE_ITC;
	if (address->any.sa_family == AF_INET6)
		flags |= MHD_USE_IPv6;
	errno = 0;
	http->daemon = MHD_start_daemon(flags, 0, NULL, NULL, on_request, http,
		MHD_OPTION_SOCK_ADDR, &address->any, MHD_OPTION_NOTIFY_CONNECTION, on_connection,
		http, MHD_OPTION_NOTIFY_COMPLETED, on_completed, http, MHD_OPTION_CONNECTION_LIMIT,
		(unsigned)CONNECTIONS_MAX, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)SILENCE_S,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES,
		MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_UNESCAPE_CALLBACK, unescape, http,
		MHD_OPTION_END);
	if (http->daemon)
		return 0;
	return errno ? -errno : -EADDRNOTAVAIL;
}

int http_start(struct http **out, const struct http_options *options)
{
	union address address;
	int rc = parse_address(&address, options);
	if (rc < 0)
		return rc;
	struct http *http = calloc(1, sizeof(*http));
	if (!http)
		return -ENOMEM;
	http->token = options->token ? strdup(options->token) : NULL;
	if (options->token && !http->token) {
		free(http);
		return -ENOMEM;
	}
	http->ask = options->ask;
	http->order = options->order;
	http->ask_context = options->ask_context;
	http->local = access_is_loopback(options->address);
	http->serial = (uint64_t)time(NULL) << 20; /* tags of an earlier server are none of ours */
	memcpy(http->documents, documents, sizeof(documents));
	pthread_mutex_init(&http->lock, NULL);
	connections_init(&http->connections);
	rc = start_daemon(http, &address);
	if (rc < 0) {
		http_stop(http);
		return rc;
	}
	*out = http;
	return 0;
}

uint16_t http_port(const struct http *http)
{
	const union MHD_DaemonInfo *info =
		MHD_get_daemon_info(http->daemon, MHD_DAEMON_INFO_BIND_PORT);
	return info ? info->port : 0;
}

static struct MHD_Response *make_response(
	const struct document *document, char *text, size_t bytes, const char *tag)
{
	struct MHD_Response *response =
		MHD_create_response_from_buffer(bytes, text, MHD_RESPMEM_MUST_FREE);
	if (!response) {
		free(text);
		return NULL;
	}
	add_headers(response);
	MHD_add_response_header(response, "Content-Type", document->type);
	MHD_add_response_header(response, "ETag", tag);
	return response;
}

int http_publish(struct http *http, struct http_content *content)
{
	char *texts[DOCUMENTS] = {content->page, content->data, content->metrics};
	size_t bytes[DOCUMENTS] = {
		content->page_bytes, content->data_bytes, content->metrics_bytes};
	int rc = 0;
	memset(content, 0, sizeof(*content));
	http->serial++;
	for (unsigned i = 0; i < DOCUMENTS; i++) {
		struct document *document = &http->documents[i];
		if (!texts[i])
			continue;
		char tag[sizeof(document->tag)];
		snprintf(tag, sizeof(tag), "\"%llu-%u\"", (unsigned long long)http->serial, i);
		struct MHD_Response *now = make_response(document, texts[i], bytes[i], tag);
		if (!now) {
			rc = -ENOMEM;
			continue;
		}
		pthread_mutex_lock(&http->lock);
		struct MHD_Response *before = document->response;
		document->response = now;
		memcpy(document->tag, tag, sizeof(tag));
		pthread_mutex_unlock(&http->lock);
		if (before)
			MHD_destroy_response(before);
	}
	return rc;
}

uint64_t http_asked(const struct http *http)
{
	return __atomic_load_n(&http->asked, __ATOMIC_RELAXED);
}

void http_sweep(struct http *http)
{
	connections_sweep(&http->connections);
}

void http_stop(struct http *http)
{
	if (!http)
		return;
	if (http->daemon)
		MHD_stop_daemon(http->daemon);
	for (unsigned i = 0; i < DOCUMENTS; i++)
		if (http->documents[i].response)
			MHD_destroy_response(http->documents[i].response);
	connections_fini(&http->connections);
	pthread_mutex_destroy(&http->lock);
	free(http->token);
	free(http);
}
