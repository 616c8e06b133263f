/* SPDX-License-Identifier: Apache-2.0 */
/* Which sites say what an execution did, so that work is counted once. Pure; any thread. */
#pragma once

#include <stdint.h>
#include "trace/run.h"

enum work_owner {
	WORK_UNKNOWN = 0, /* nobody says what its executions did */
	WORK_OWN = 1,	  /* says what an execution did */
	WORK_PART = 2,	  /* one thread's part of executions that another one's site owns */
};

/* owners: [site_count], all 0: enum work_owner. -ENOMEM. */
int work_owners(uint8_t *owners, const struct run *run);
