/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks of one job, in one recording or in one each, and which of them the others waited for. A
 * collective is the same for all ranks if its communicator and number are, or, where these are not
 * known, if it is the n-th of each; the last rank to come to it makes the others wait. Recordings
 * are looked at one after the other, twice: when they are added and when they are cut. So memory is
 * bounded by collectives and messages, not by samples.
 *
 *	rank_job_init(), rank_job_add() for each, rank_job_match(), rank_clocks_align() if there are
 *	several, rank_job_order(), rank_path_find(), rank_job_cut() for each, rank_job_finish()
 *
 * Pure; one thread at a time.
 */
#pragma once

#include "analysis/ranks/rank_table.h"

void rank_job_init(struct rank_job *job);
/* All of these: 0 or -ENOMEM. */
int rank_job_add(struct rank_job *job, const struct run *run);
int rank_job_match(struct rank_job *job);
int rank_job_order(struct rank_job *job);
/* source: how many recordings were added before this one. */
int rank_job_cut(struct rank_job *job, const struct run *run, uint32_t source);
void rank_job_finish(struct rank_job *job);
void rank_job_fini(struct rank_job *job);

/* All of it for one recording, whose ranks have one clock. -ENOMEM; *job is then empty. */
int rank_job_of_run(struct rank_job *job, const struct run *run);
