/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How unequal the ranks' work was in each step, and which ranks made others wait in the worst ones.
 * A collective belongs to the step in which the first of its ranks came to it. Part of rank_job.c,
 * which calls these in the order in which they stand here. Pure; one thread at a time.
 */
#pragma once

#include "analysis/ranks/rank_table.h"

/* When ranks are in order: makes job->steps, and chooses the worst. 0 or -ENOMEM. */
int rank_steps_choose(struct rank_job *job);

/* A rank waited for the last of a collective. */
void rank_steps_wait(struct rank_job *job, const struct rank_meeting *meeting, uint64_t ns);

/* Where to sum up by how much the last rank was longer; NULL: not needed for that collective. */
double *rank_steps_longer(const struct rank_job *job, const struct rank_meeting *meeting);

void rank_steps_finish(struct rank_job *job);
void rank_steps_fini(struct rank_job *job);
