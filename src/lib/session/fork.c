/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Surviving fork: the locks are held over it, and the child, whose mappings are still its parent's
 * session, lets go of them before it can write there. Its own session starts with its first brick.
 */
#include <pthread.h>
#include "lib/probe/counter_events.h"
#include "lib/probe/digest_record.h"
#include "lib/session/fork.h"
#include "lib/device/queue_lane.h"
#include "lib/probe/registry_tables.h"
#include "lib/session/session_state.h"
#include "lib/session/session_map.h"

static void before(void)
{
	brick__counters_lock();
	brick__queues_lock();
	brick__session_lock();
	brick__registry_lock();
	brick__digests_lock();
}

static void in_parent(void)
{
	brick__digests_unlock();
	brick__registry_unlock();
	brick__session_unlock();
	brick__queues_unlock();
	brick__counters_unlock();
}

static void in_child(void)
{
	brick__counters_abandon();
	brick__digests_abandon();
	brick__session_abandon();
	brick__queues_abandon();
	brick__digests_unlock();
	brick__registry_unlock();
	brick__session_unlock();
	brick__queues_unlock();
	brick__counters_unlock();
}

void brick__forks_watch(void)
{
	pthread_atfork(before, in_parent, in_child);
}
