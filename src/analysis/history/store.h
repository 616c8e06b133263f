/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where histories of runs are kept: one interface, whose engines are entries of a table. SQLite
 * (a file) and ClickHouse (a server). Functions return 0 or a negative errno, with the reason as a
 * sentence in history_store_error(). One thread at a time; any number of processes.
 */
#pragma once

#include <stdbool.h>
#include "base/scope.h"
#include "analysis/history/history_run.h"

/* Which runs; all zero is all of them but floors, which are no runs. */
struct history_filter {
	const char *id;					  /* the digits that it begins with */
	const char *label, *batch, *host, *kind, *engine; /* NULL: any */
	uint64_t skip, limit;				  /* of the newest; limit 0: no limit */
	bool whole; /* list: with facts and all parts; else with steps only */
};

/* One part of one run: what trends are made of. */
struct history_point {
	const char *id, *host, *engine, *labels; /* labels: with commas between */
	uint64_t start_ns;
	double ns; /* a token */
};

/* What all runs of a group have together. */
struct history_group {
	const char *group;	   /* host, or engine */
	struct history_part *part; /* sums; of a step the histogram, too */
	uint64_t runs;
};

/* A negative number ends the question, which then returns it. A run may be taken: what is left in
 * it is freed. */
typedef int (*history_run_fn)(void *context, struct history_run *run);
typedef int (*history_point_fn)(void *context, const struct history_point *point);
typedef int (*history_group_fn)(void *context, const struct history_group *group);

struct history_store;

struct history_open {
	bool create;	      /* make it if it is not there; else -ENOENT */
	unsigned patience_ms; /* to wait for others that write, or for a server; 0: 10 s, 60 s */
	bool is_eager;	      /* flush also when it failed a moment ago */
};

/* "clickhouse+http://...", or a path. *out is there, to say why, unless the answer is -ENOMEM. */
int history_store_open(
	struct history_store **out, const char *where, const struct history_open *how);
void history_store_close(struct history_store *store);
SCOPE_OF(history_store_close, struct history_store)

const char *history_store_error(const struct history_store *store);

/*
 * A run that is there already is not added again. Does not wait for a server: see
 * history_store_flush().
 */
int history_store_add(struct history_store *store, const struct history_run *run);

/* Wait until all is stored that was added; -EAGAIN: it is kept and will be sent some other time. */
int history_store_flush(struct history_store *store);

/* Newest first. */
int history_store_list(struct history_store *store, const struct history_filter *filter,
	history_run_fn each, void *context);

/* A part over runs, oldest first. */
int history_store_points(struct history_store *store, const struct history_filter *filter,
	const struct history_part *part, history_point_fn each, void *context);

/* Steps and bricks of a phase by host, or by engine; with histograms of steps only. */
int history_store_groups(struct history_store *store, const struct history_filter *filter,
	bool by_engine, const char *phase, history_group_fn each, void *context);

int history_store_label(
	struct history_store *store, const char *id, const char *label, bool remove);
int history_store_remove(struct history_store *store, const char *id);

/* Remove all that began before that, of a server whole months only; *count: so many were there. */
int history_store_expire(struct history_store *store, uint64_t before_ns, uint64_t *count);

/*
 * Where the history is, if nobody says otherwise: BRICK_DB, else a file in the user's data
 * directory. The caller frees. NULL: there is none, or BRICK_DB says "none".
 */
char *history_default(void);
