/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides whether other programs, or the host of a virtual machine, disturbed a run. Runs that were
 * timed and recordings ask here, so that all commands count the same runs. Pure; any thread.
 */
#pragma once

#include <stdbool.h>

/*
 * others, steal: parts of all CPUs' time, 0 to 1, that other programs used, and that the host took.
 * More than 5 % and 2 % are more than a quiet machine's own services take.
 */
static inline bool disturbed_by(double others, double steal)
{
	return others > 0.05 || steal > 0.02;
}
