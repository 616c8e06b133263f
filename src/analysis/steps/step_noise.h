/* SPDX-License-Identifier: Apache-2.0 */
/*
 * By how much the steps of a run move by themselves: what a difference that is smaller than that
 * cannot be told from. Pure; any thread.
 */
#pragma once

#include "trace/run.h"

/*
 * Of the steps of one phase; of SUMMARY_ALL_PHASES, or where it has too few of one size to see
 * that, of the phase that moves most. As a share of their time, how far from that of the run 95 %
 * of its stretches are, an eighth of it each. Negative: all phases have too few.
 */
double step_noise(const struct run *run, int phase);
