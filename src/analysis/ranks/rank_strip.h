/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The critical path of a job over time, in a bounded number of columns: how long each rank worked
 * on it in each, and in which brick most. Part of rank_path.c and rank_job.c, which call these.
 * Pure; one thread at a time.
 */
#pragma once

#include "analysis/ranks/rank_table.h"

/* 0 or -ENOMEM; rank_strip_fini() is due also then. */
int rank_strip_init(struct rank_strip *strip, int64_t from_ns, uint64_t path_ns);
void rank_strip_fini(struct rank_strip *strip);

/* Adds a part of the path, by the time of the job, to exchange_ns or message_ns of the strip. */
void rank_strip_add(const struct rank_strip *strip, double *columns, int64_t from, int64_t to);

/* A rank's part of the strip, while its time is cut. */
struct rank_strip_cut {
	const struct rank_job *job;
	struct rank_row *row;
	uint32_t column;
	uint64_t end_ns;  /* of the column, by the rank's clock */
	double *brick_ns; /* [bricks + 1]: of the column; in no brick */
};

/* 0 or -ENOMEM. rank_strip_cut_end() is due unless it fails. */
int rank_strip_cut_begin(
	struct rank_strip_cut *cut, const struct rank_job *job, struct rank_row *row);
/* Parts of the path come in the order of time. brick: RUN_NONE: in none. */
void rank_strip_cut_add(
	struct rank_strip_cut *cut, uint64_t from, uint64_t to, uint32_t brick, bool is_work);
void rank_strip_cut_end(struct rank_strip_cut *cut);
