/* SPDX-License-Identifier: Apache-2.0 */
/* What threads of Brick's own took inside of the programs: those that fetch a device's times. Pure.
 */
#pragma once

#include "trace/run.h"

struct helper_cost {
	double ns; /* of CPU time, as they told it themselves (src/attach/common/helper_cpu.h) */
	double most_ns; /* by which they can have held up the program */
};

/*
 * A thread holds up others only while all CPUs are busy, which is no longer than all that was used
 * of them would have kept them so.
 */
struct helper_cost helper_cost_of(const struct run *run);
