/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks of a job: a sentence in a recording's report, and an answer of its own where each rank has
 * a recording. Main thread.
 */
#pragma once

#include <jansson.h>
#include <stdio.h>
#include "analysis/ranks/rank_job.h"

struct ranks_view {
	const struct rank_job *job;
	char *const *paths;  /* of its recordings */
	size_t most;	     /* rows of the table; the others are counted */
	uint64_t unfinished; /* recordings that were never finished */
	uint64_t dropped;    /* records that are missing in them */
};

/*
 * "2 of 2, 30 collectives: rank 1 was last at 28, others waited 1.2s as it took 1.1s longer in
 * RmsNorm"; the caller frees. NULL: ranks have no collectives in common, or no memory.
 */
char *ranks_sentence(const struct rank_job *job);

/* "2 of 4 on node7, by Open MPI", of the first rank; the caller frees. */
char *ranks_place(const struct rank_job *job);

/* A row for each rank; null: ranks have no collectives in common. */
json_t *ranks_rows_to_json(const struct rank_job *job);

void ranks_text(const struct ranks_view *view, FILE *out);
void ranks_csv(const struct ranks_view *view, FILE *out);
json_t *ranks_to_json(const struct ranks_view *view);

/* The sentences above the table, as [{label, text}]. */
json_t *ranks_lines_to_json(const struct ranks_view *view);
