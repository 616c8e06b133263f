/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums of windows by series, packed into one value of SQL, because SQLite takes as long for a row
 * as for all of these numbers. A member is a rank of a host with an engine and a workload; a row of
 * the table `fleet` has all sums of one member and hour. For src/analysis/history/ only. One thread
 * at a time.
 */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "analysis/history/history_run.h"
#include "analysis/history/kept_histogram.h"
#include "base/array.h"

#define FLEET_HOUR_NS "3600000000000"
#define FLEET_MEMBER "workload, host, rank, engine, cpu, model"

/*
 * Adds the windows that a condition, about `runs r`, selects. Migrations use these texts, so they
 * stay as they are; the two are one step.
 */
#define FLEET_ADD_MEMBERS(condition)                                           \
	"INSERT OR IGNORE INTO members(" FLEET_MEMBER ") SELECT " FLEET_MEMBER \
	" FROM runs r WHERE kind = '" HISTORY_WINDOW "' AND " condition
#define FLEET_ADD_SUMS(condition)                                                            \
	"INSERT INTO fleet SELECT start_ns / " FLEET_HOUR_NS ", m.number, 1, start_ns,"      \
	" (SELECT brick_sums(series, count, tokens, total_ns, typical_tokens, typical_ns,"   \
	" histogram) FROM parts JOIN series s ON s.number = series WHERE run = r.number"     \
	" AND s.kind IN ('step', 'brick', 'request'))"                                       \
	" FROM runs r JOIN members m USING (" FLEET_MEMBER ") WHERE kind = '" HISTORY_WINDOW \
	"' AND " condition " ON CONFLICT(hour, member) DO UPDATE SET runs = runs + 1,"       \
	" newest_ns = max(newest_ns, excluded.newest_ns),"                                   \
	" sums = brick_sums_plus(sums, excluded.sums)"

enum fleet_number {
	FLEET_RUNS,
	FLEET_COUNT,
	FLEET_TOKENS,
	FLEET_TOTAL_NS,
	FLEET_TYPICAL_TOKENS,
	FLEET_TYPICAL_NS,
	FLEET_NUMBERS
};

struct fleet_sum {
	uint64_t series, first_hour;
	uint64_t numbers[FLEET_NUMBERS];
	struct history_histogram histogram;
};

struct fleet_sums {
	ARRAY(struct fleet_sum) list; /* by series */
	bool is_damaged;	      /* a row that was packed is */
};

void fleet_sums_fini(struct fleet_sums *sums);

/* Which series a question is about. */
struct fleet_series {
	char *phase, *kind, *name; /* NULL: it is not about this one */
	bool has_histogram;
};

struct fleet_wanted {
	ARRAY(struct fleet_series) list; /* by number */
};

/*
 * Adds packed sums, which are not trusted. wanted: NULL: of all series, with histograms. -EINVAL:
 * they are none; -ENOMEM. After an error some may have been added.
 */
int fleet_sums_add(struct fleet_sums *sums, const void *packed, size_t bytes, uint64_t hour,
	const struct fleet_wanted *wanted);

/*
 * Gives a connection two functions of SQL: brick_sums(series, count, tokens, total_ns,
 * typical_tokens, typical_ns, histogram) packs rows, and brick_sums_plus(a, b) adds packed sums.
 */
void fleet_sums_functions(sqlite3 *db);
