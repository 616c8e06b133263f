/* SPDX-License-Identifier: Apache-2.0 */
/* A graph in one of its formats as a string, for tests. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include "brick/graph.h"

static inline int graph_text_write(void *context, const char *data, size_t bytes)
{
	return fwrite(data, 1, bytes, context) == bytes ? 0 : -1;
}

/* The caller frees. */
static inline char *graph_text(struct brick_graph *graph, int format)
{
	char *text = NULL;
	size_t bytes;
	FILE *stream = open_memstream(&text, &bytes);

	if (!stream)
		abort();
	int error = brick_graph_write(graph, format, graph_text_write, stream);
	if (fclose(stream) != 0 || error < 0) {
		free(text);
		return NULL;
	}
	return text;
}
