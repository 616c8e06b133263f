/* SPDX-License-Identifier: Apache-2.0 */
/* Owners of what devices are given (device_nodes.h), by site, and names of fused operations. */
#include "attach/ggml/graphs/device_nodes.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "attach/common/notes_once.h"
#include "attach/ggml/nodes/node_text.h"
#include "attach/ggml/nodes/site_table.h"
#include "base/array.h"
#include "base/scope.h"
#include "brick/abi/overhead.h"
#include "brick/registry.h"

enum {
	MAX_OPERATION_BYTES = 64, /* longer names of fused operations are cut */
	MAX_OPERATIONS = 4096,	  /* different names; further names are "" */
};

static ARRAY(struct brick_launch_owner *) owners;	       /* by site; NULL: none yet */
static ARRAY(struct brick_launch_owner *) device_nodes_phases; /* by order of use */
static ARRAY(char *) device_nodes_operations;
pthread_mutex_t device_nodes_mutex = PTHREAD_MUTEX_INITIALIZER;

/* Under the lock: a copy of the text that is never freed; equal texts share a copy. */
static const char *keep_operation(const char *text)
{
	for (size_t i = 0; i < device_nodes_operations.count; i++)
		if (!strcmp(device_nodes_operations.items[i], text))
			return device_nodes_operations.items[i];
	char *copy = device_nodes_operations.count < MAX_OPERATIONS ? strdup(text) : NULL;
	if (!copy || array_push(&device_nodes_operations, copy)) {
		free(copy);
		return "";
	}
	return copy;
}

/* Under the lock. */
static struct brick_launch_owner *make_owner(uint16_t brick, int16_t layer, const char *operation)
{
	struct brick_launch_owner *owner = malloc(sizeof(*owner));

	if (owner)
		*owner = (struct brick_launch_owner){
			.brick = brick, .layer = layer, .operation = keep_operation(operation)};
	return owner;
}

const struct brick_launch_owner *device_phase_owner(uint16_t brick)
{
	KEEP_ERRNO();

	HOLD(&device_nodes_mutex);
	for (size_t i = 0; i < device_nodes_phases.count; i++)
		if (device_nodes_phases.items[i]->brick == brick)
			return device_nodes_phases.items[i];
	if (array_reserve(&device_nodes_phases, 1))
		return NULL;
	struct brick_launch_owner *made = make_owner(brick, -1, brick_name(brick));
	if (made)
		(void)array_push(&device_nodes_phases, made);
	return made;
}

/* Under the lock. */
static struct brick_launch_owner *device_nodes_owner_of(
	const struct known_node *k, const char *operation)
{
	uint32_t site = k->site[0];

	while (owners.count <= site)
		if (array_push(&owners, NULL))
			return NULL;
	if (owners.items[site])
		return owners.items[site];
	/* a device's command carries a brick and no site that would say it */
	if (site_table_is_unknown(site))
		note_once(BRICK_UNKNOWN_NOTE, "%s", brick_name(k->brick));
	return owners.items[site] = make_owner(k->brick, k->layer, operation);
}

int device_nodes_ready(struct known_graph *g)
{
	KEEP_ERRNO();

	if (!g->engine->layout_known || !g->engine->op_desc)
		return -EOPNOTSUPP;
	HOLD(&device_nodes_mutex);
	if (!g->launched) {
		struct device_node *launched = calloc(g->count + 1, sizeof(*launched));
		for (uint32_t i = 0; launched && i < g->count; i++)
			if (g->nodes[i].site[0])
				launched[i].owner = device_nodes_owner_of(
					&g->nodes[i], g->engine->op_desc(g->nodes[i].node));
		g->launched = launched;
	}
	return g->launched ? 0 : -ENOMEM;
}

/* Bytes that nodes [first, to) hand to node `to`: each is written once and read once. */
static uint64_t handed(
	const struct known_graph *g, uint32_t first, uint32_t to, const struct work_node *work)
{
	const struct tensor_layout *layout = &g->engine->layout;
	uint64_t bytes = 0;

	for (uint32_t from = first; from < to; from++)
		for (uint32_t k = 0; k < layout->source_count && k < WORK_SOURCES; k++) {
			const void *read = tensor_source(layout, g->nodes[to].node, k);
			const void *made = g->nodes[from].node;
			if (g->launched[from].owner && read &&
				(read == made || tensor_view_source(layout, read) == made))
				bytes += 2 * work_tensor_bytes(&work->source[k]);
		}
	return bytes;
}

/* Sets the owner's bytes and FLOPs; both 0 if a node's counts are not known exactly. */
static void device_nodes_count_work(struct brick_launch_owner *owner, const struct known_graph *g,
	uint32_t index, uint32_t after)
{
	const uint32_t all = BRICK_SITE_HAS_BYTES | BRICK_SITE_HAS_FLOPS;
	uint64_t bytes = 0, flops = 0, within = 0;
	int known = 1;

	for (uint32_t i = index; i < after && known; i++) {
		struct node_text text;
		struct work_counts counts;
		struct work_node work;
		if (!g->launched[i].owner)
			continue;
		node_text_read(&text, g->engine, g->nodes[i].node, NULL);
		node_text_work(&text, g->engine, &counts);
		node_text_fill(&text, g->engine, &work);
		known = (counts.flags & (all | BRICK_SITE_AT_MOST)) == all;
		bytes += counts.bytes;
		flops += counts.flops;
		within += handed(g, index, i, &work);
	}
	known = known && within < bytes;
	__atomic_store_n(&owner->bytes, known ? bytes - within : 0, __ATOMIC_RELAXED);
	__atomic_store_n(&owner->flops, known ? flops : 0, __ATOMIC_RELAXED);
}

void device_nodes_taken(struct known_graph *g, uint32_t index, uint32_t after)
{
	struct device_node *node = &g->launched[index];
	char text[MAX_OPERATION_BYTES] = "";

	if (!node->owner || __atomic_exchange_n(&node->after, after, __ATOMIC_RELAXED) == after)
		return;
	for (uint32_t i = index; i < after; i++) {
		size_t n = strlen(text);
		if (g->launched[i].owner) /* views are no operations of their own */
			snprintf(text + n, sizeof(text) - n, "%s%s", n ? "+" : "",
				g->engine->op_desc(g->nodes[i].node));
	}
	device_nodes_count_work(node->owner, g, index, after);
	HOLD(&device_nodes_mutex);
	__atomic_store_n(&node->owner->operation, keep_operation(text), __ATOMIC_RELEASE);
}
