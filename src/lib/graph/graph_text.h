/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The formats of an execution graph, and what they share: a buffered sink that remembers its first
 * error, escapes and numbers that do not depend on the locale, names of kinds. One thread at a
 * time.
 */
#pragma once

#include "lib/graph/graph_core.h"

struct brick__sink {
	brick_graph_write_fn write;
	void *context;
	int error;   /* the first one; 0: none. After it nothing is written any more. */
	size_t used; /* bytes in buffer */
	char buffer[1 << 14];
};

void brick__put(struct brick__sink *sink, const char *text);
void brick__put_u64(struct brick__sink *sink, uint64_t value);
void brick__put_key_u64(struct brick__sink *sink, const char *key, uint64_t value);
void brick__put_i64(struct brick__sink *sink, int64_t value);
void brick__put_hex(struct brick__sink *sink, uint64_t value);	/* 16 digits */
void brick__put_double(struct brick__sink *sink, double value); /* finite; reads back the same */
void brick__put_time(struct brick__sink *sink, uint64_t ns);	/* "12.3µs" */
int brick__flush(struct brick__sink *sink);

/* A string of JSON with its quotes, all ASCII. NULL gives null. */
void brick__put_json(struct brick__sink *sink, const char *text);

/* How a format writes characters that it cannot take as they are. */
struct brick__escape {
	const char *special;	    /* such characters, all ASCII */
	const char *const *instead; /* [i]: the text for special[i] */
	const char *hidden;	    /* stands before the two digits of a hidden byte */
};

/* Text for people: what would move a terminal, hide, or is no UTF-8 becomes \x1b. */
void brick__put_text(
	struct brick__sink *sink, const char *text, const struct brick__escape *escape);

extern const char *const brick__node_kinds[BRICK_NODE_KINDS];
extern const char *const brick__edge_kinds[BRICK_EDGE_KINDS];
extern const char *const brick__directions[];

/* The formats; each writes all of a graph. */
int brick__graph_put_json(struct brick_graph *graph, struct brick__sink *sink);
int brick__graph_put_csr(struct brick_graph *graph, struct brick__sink *sink);
int brick__graph_put_dot(struct brick_graph *graph, struct brick__sink *sink);
int brick__graph_put_folded(struct brick_graph *graph, struct brick__sink *sink);
int brick__graph_put_tree(struct brick_graph *graph, struct brick__sink *sink);
