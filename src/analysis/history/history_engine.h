/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An engine of histories; for src/analysis/history/ only. Each function does what the function of
 * the same name in store.h says. A new engine goes into store_engines (store.c).
 */
#pragma once

#include <stdarg.h>
#include <stdio.h>
#include "base/scope.h"
#include "brick/export.h"
#include "analysis/history/history_query.h"

struct history_store;

struct history_engine {
	const char *prefix; /* of places that this engine opens; NULL: all places, so it is last */
	/* Sets store->state, which only the engine uses. close() follows also after an error. */
	int (*open)(struct history_store *store, const struct history_open *how);
	void (*close)(struct history_store *store);
	int (*add)(struct history_store *store, const struct history_run *run);
	int (*flush)(struct history_store *store); /* NULL: add() stores runs itself */
	int (*list)(struct history_store *store, const struct history_filter *filter,
		history_run_fn each, void *context);
	int (*points)(struct history_store *store, const struct history_filter *filter,
		const struct history_part *part, history_point_fn each, void *context);
	int (*workloads)(struct history_store *store, const struct history_filter *filter,
		history_workload_fn each, void *context);
	int (*groups)(struct history_store *store, const struct history_filter *filter,
		enum history_by by, const char *phase, history_group_fn each, void *context);
	int (*label)(struct history_store *store, const char *id, const char *label, bool remove);
	int (*remove)(struct history_store *store, const char *id);
	int (*expire)(struct history_store *store, uint64_t before_ns, uint64_t *count);
};

struct history_store {
	const struct history_engine *engine;
	char *where; /* the place, with the prefix */
	void *state;
	char error[512]; /* the last failure, a sentence; "": none yet */
};

/* The engines, each in the file of its name. */
extern const struct history_engine history_sqlite, history_clickhouse;

/* Writes the reason of a failure into store->error; returns rc. */
BRICK_PRINTF(3, 4)
static inline int history_fail(struct history_store *store, int rc, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(store->error, sizeof(store->error), format, arguments);
	va_end(arguments);
	return rc;
}
