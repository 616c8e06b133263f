/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs that one process computed for another: a sentence and an object in a recording's report,
 * and an answer of its own where clients and servers have recordings of their own. Main thread.
 */
#pragma once

#include <jansson.h>
#include <stdio.h>
#include "analysis/ranks/remote_calls.h"

struct remote_view {
	const struct remote_calls *calls;
	const struct remote_source *sources;
	char *const *paths; /* of the sources */
	uint32_t count;
};

/* The caller frees. NULL: no memory. */
char *remote_sentence(const struct remote_calls *calls);
json_t *remote_calls_to_json(const struct remote_calls *calls);

void remote_text(const struct remote_view *view, FILE *out);
void remote_csv(const struct remote_view *view, FILE *out); /* a row for each call */
json_t *remote_to_json(const struct remote_view *view);	    /* schema brick/remote/1 */
