/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One time for ranks that were recorded on different machines, by what they did together and not by
 * the machines' date. Nobody leaves a collective that joins before all have come, and no message is
 * received before it was sent: so each clock has limits against the others, from both sides, and
 * these hold for certain. Within them, ranks leave a collective at about the same time. The first
 * clock is the job's, drifts are linear, and recordings of one host share a clock if that breaks no
 * limit. Pure; one thread at a time.
 */
#pragma once

#include "analysis/ranks/rank_job.h"

/* Between rank_job_match() and rank_job_order(). 0 or -ENOMEM. */
int rank_clocks_align(struct rank_job *job);
