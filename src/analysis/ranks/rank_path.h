/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The critical path of a job: which work, on which rank, made it last as long as it did. A rank
 * that waits goes on because another one came to a collective or sent a message; so the path goes
 * back from there on that one. Pure; one thread at a time.
 */
#pragma once

#include "analysis/ranks/rank_table.h"

/*
 * Between rank_job_order() and rank_job_cut(): fills in row->path and row->debts of each rank, and
 * the job's path_ns, exchange_ns and message_ns. 0 or -ENOMEM.
 */
int rank_path_find(struct rank_job *job);
