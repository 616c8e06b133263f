/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the engine of SQLite share; store->state is the sqlite3. */
#pragma once

#include "analysis/history/sqlite_db.h"

int sqlite_list(struct history_store *store, const struct history_filter *filter,
	history_run_fn each, void *context);
int sqlite_points(struct history_store *store, const struct history_filter *filter,
	const struct history_part *part, history_point_fn each, void *context);
int sqlite_groups(struct history_store *store, const struct history_filter *filter, int by_engine,
	const char *phase, history_group_fn each, void *context);
