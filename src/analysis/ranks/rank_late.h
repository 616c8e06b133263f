/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks that do the same are late by turns. A rank is late if it has more work than the others in
 * most stretches of the run: by Student's test (both tails, so half of the chance) or by signs, for
 * all ranks together, and by 3 permille. Pure; one thread at a time.
 */
#pragma once

#include "analysis/ranks/rank_table.h"

/* Sets each row's behind_ns and is_late; without memory nobody is judged. Behind rank_job_cut(). */
void rank_late_judge(struct rank_job *job);
