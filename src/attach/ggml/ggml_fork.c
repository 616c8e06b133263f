/* SPDX-License-Identifier: Apache-2.0 */
/* Holds the locks of the interposer's over a fork, and forgets in the child what was the parent's.
 */
#include <pthread.h>
#include <string.h>
#include "attach/ggml/devices/device_graph.h"
#include "attach/ggml/devices/device_nodes.h"
#include "attach/ggml/graphs/given_names.h"
#include "attach/ggml/graphs/known_graphs.h"
#include "attach/ggml/nodes/node_ready.h"
#include "attach/ggml/nodes/past_slots.h"
#include "attach/ggml/patched.h"
#include "attach/ggml/steps/phases.h"
#include "attach/ggml/nodes/site_table.h"
#include "base/lock.h"

/* In the order in which a thread may take them. */
static pthread_mutex_t *const mutexes[] = {&site_table_mutex, &given_names_mutex, &resolve_mutex,
	&past_slots_mutex, &device_nodes_mutex, &patched_mutex};

enum { MUTEXES = sizeof mutexes / sizeof *mutexes };

static void lock_all(void)
{
	known_graphs_lock();
	for (int i = 0; i < MUTEXES; i++)
		lock_take(mutexes[i]);
	node_memory_lock();
}

static void unlock_all(void)
{
	node_memory_unlock();
	for (int i = MUTEXES; i-- > 0;)
		lock_give(mutexes[i]);
	known_graphs_unlock();
}

static void unlock_in_child(void)
{
	node_thread.open = 0; /* its time was the parent's */
	node_thread.event_count = 0;
	node_thread.run_from = node_thread.run;
	node_thread.on_device = 0;
	phase_forget();
	memset(&device_graph, 0, sizeof device_graph);
	brick_launch_owner_set(NULL);
	unlock_all();
}

__attribute__((constructor)) static void watch_forks(void)
{
	pthread_atfork(lock_all, unlock_all, unlock_in_child);
}
