/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The library is loaded, and unloaded; and the switch that probes read, which stands here so that
 * whoever links a probe from the archive gets the rest of this, too. Forks are watched from the
 * beginning: whoever is attached is loaded later, so that its handlers take its locks before ours
 * are taken, which is the order in which it takes them when it calls us.
 */
#include "lib/session/fork.h"
#include "lib/device/queue_lane.h"
#include "lib/probe/refusals.h"
#include "lib/session/session_state.h"

uint32_t brick__on;

__attribute__((constructor)) static void arm(void)
{
	brick__forks_watch();
	brick__refusals_open();
	brick__session_arm();
}

__attribute__((destructor)) static void finish(void)
{
	brick__queues_account(1);
	brick__session_finish();
}
