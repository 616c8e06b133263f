/* SPDX-License-Identifier: Apache-2.0 */
/* Headers of all answers, refusals, and what is made for one request. Called by http.c. */
#include "ui/serve/http_answer.h"

#include <stdlib.h>
#include <string.h>

#include "base/number.h"

void http_add_headers(struct MHD_Response *response)
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

enum MHD_Result http_refuse(struct MHD_Connection *connection, unsigned status, const char *text,
	const char *name, const char *value)
{
	struct MHD_Response *response =
		MHD_create_response_from_buffer(strlen(text), (void *)text, MHD_RESPMEM_PERSISTENT);
	if (!response)
		return MHD_NO;
	http_add_headers(response);
	MHD_add_response_header(response, "Content-Type", "text/plain; charset=utf-8");
	MHD_add_response_header(response, "Connection", "close");
	if (name)
		MHD_add_response_header(response, name, value);
	enum MHD_Result result = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return result;
}

/* Of the query; what is no number counts as not said. */
static uint64_t number_of(struct MHD_Connection *connection, const char *name, uint64_t unsaid)
{
	const char *text = MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, name);
	uint64_t value;

	return number_u64(text, 0, UINT64_MAX, &value) == 0 ? value : unsaid;
}

enum MHD_Result http_send_made(
	struct MHD_Connection *connection, const char *path, http_ask_fn ask, void *context)
{
	const struct http_question question = {path, number_of(connection, "step", 0),
		number_of(connection, "since", 0), number_of(connection, "until", UINT64_MAX)};
	size_t bytes;
	char *text = ask(context, &question, &bytes);

	if (!text)
		return http_refuse(
			connection, MHD_HTTP_NOT_FOUND, "Nothing like it is here.\n", NULL, NULL);
	struct MHD_Response *response =
		MHD_create_response_from_buffer(bytes, text, MHD_RESPMEM_MUST_FREE);
	if (!response) {
		free(text);
		return MHD_NO;
	}
	http_add_headers(response);
	MHD_add_response_header(response, "Content-Type", "application/json");
	enum MHD_Result result = MHD_queue_response(connection, MHD_HTTP_OK, response);
	MHD_destroy_response(response);
	return result;
}
