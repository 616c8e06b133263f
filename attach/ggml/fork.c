/* SPDX-License-Identifier: Apache-2.0 */
/* Holds the locks of the interposer's over a fork, and forgets in the child what was the parent's.
 */
#include <pthread.h>
#include <string.h>
#include "attach/ggml/device_graph.h"
#include "attach/ggml/device_nodes.h"
#include "attach/ggml/given_names.h"
#include "attach/ggml/known_graphs.h"
#include "attach/ggml/node_ready.h"
#include "attach/ggml/past_slots.h"
#include "attach/ggml/patched.h"
#include "attach/ggml/phases.h"
#include "attach/ggml/site_table.h"

static void lock_all(void)
{
	known_graphs_lock();
	site_table_lock();
	given_names_lock();
	resolve_lock();
	node_memory_lock();
	past_slots_lock();
	device_nodes_lock();
	patched_lock();
}

static void unlock_all(void)
{
	patched_unlock();
	device_nodes_unlock();
	past_slots_unlock();
	node_memory_unlock();
	resolve_unlock();
	given_names_unlock();
	site_table_unlock();
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
