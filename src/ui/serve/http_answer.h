/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of the server. Inside of serve/ only; the server's thread. */
#pragma once

#include <microhttpd.h>
#include "ui/serve/question.h"

void http_add_headers(struct MHD_Response *response);

/* An answer that is no document. name, value: one more header, or NULL. */
enum MHD_Result http_refuse(struct MHD_Connection *connection, unsigned status, const char *text,
	const char *name, const char *value);

/* What is asked for by the query of a request. */
enum MHD_Result http_send_made(
	struct MHD_Connection *connection, const char *path, http_ask_fn ask, void *context);
