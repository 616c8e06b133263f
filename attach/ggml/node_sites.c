/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each thread remembers of tensors (node_sites.h): a small table by address, in which every
 * entry points to the one that was wanted next. Slots are compared in full, and taken over as they
 * are or filled anew, when graphs have been rebuilt. Called when the hot path finds nothing.
 */
#include "attach/ggml/node_sites.h"

#include <stdlib.h>
#include <string.h>
#include "attach/ggml/note_engine.h"
#include "attach/ggml/site_table.h"
#include "brick/brick.h"

enum { MAX_SLOTS = 1 << 16 };

/* Never written, never a match. */
struct site_slot node_no_slots[2];

struct site_slot *node_slots_create(uint32_t count)
{
	void *slots;

	if (posix_memalign(&slots, 64, count * sizeof(struct site_slot)))
		return NULL;
	return memset(slots, 0, count * sizeof(struct site_slot));
}

/*
 * What must be the same for a cached node to be the same after graphs were rebuilt: its name, where
 * its sources are, and the shapes of the first two, which its own does not always show.
 */
static uint32_t identity_of(const struct engine *e, const void *node, const void *mul)
{
	uint64_t hash = (uint64_t)(uintptr_t)mul, word;
	const char *name = tensor_field(mul ? mul : node, e->layout.name);
	uint32_t sources = e->layout.source_count < 4 ? e->layout.source_count : 4;

	for (int i = 0; i < TENSOR_NAME_BYTES; i += 8) {
		memcpy(&word, name + i, sizeof word);
		hash = (hash ^ word) * 0xff51afd7ed558ccdull;
		hash ^= hash >> 32;
		if (memchr(&word, '\0', sizeof word))
			break;
	}
	for (uint32_t i = 0; i < sources; i++) {
		const void *source = tensor_source(&e->layout, node, i);
		hash = (hash ^ (uint64_t)(uintptr_t)source) * 0xc4ceb9fe1a85ec53ull;
		for (int k = 0; source && i < 2 && k < TENSOR_DIMS; k++)
			hash = (hash ^ (uint64_t)tensor_ne(&e->layout, source)[k]) *
			       0xff51afd7ed558ccdull;
		hash ^= hash >> 32;
	}
	return (uint32_t)(hash >> 32);
}

/* First of the two slots that a node may be in. */
static uint32_t slot_index(const struct node_thread *t, const void *node)
{
	return (uint32_t)(((uint64_t)(uintptr_t)node * 0x9e3779b97f4a7c15ull) >> 32) &
	       t->slot_mask & ~1u;
}

/* Twice as many slots, so that nodes of one graph do not push each other out. */
static void grow_slots(struct node_thread *t)
{
	uint32_t count = t->slot_mask + 1;
	struct site_slot *old = t->slots;
	struct site_slot *more = count * 2 <= MAX_SLOTS ? node_slots_create(count * 2) : NULL;

	if (!more)
		return;
	t->slots = more;
	t->slot_mask = count * 2 - 1;
	t->slot_now = t->slot_next = 0;
	for (uint32_t i = 0; i < count; i++) {
		struct site_slot *slot = &more[slot_index(t, old[i].node)];
		old[i].next = 0;
		if (old[i].node)
			slot[slot->node != NULL] = old[i];
	}
	free(old);
}

/* Its own slot, a stale one, or, both being in use and no more to be had, the second of its two. */
static uint32_t slot_for(struct node_thread *t, const void *node, uint32_t generation)
{
	uint32_t index = slot_index(t, node);
	const struct site_slot *slot = &t->slots[index];

	for (uint32_t i = 0; i < 2; i++)
		if (slot[i].node == node)
			return index + i;
	for (uint32_t i = 0; i < 2; i++)
		if (slot[i].generation != generation)
			return index + i;
	grow_slots(t);
	index = slot_index(t, node);
	return index + (t->slots[index].node != NULL);
}

static uint32_t site_of(struct node_thread *t, const void *node, const void *mul, int part)
{
	struct site_found found;

	site_table_find(t->engine, node, mul, part, &found);
	t->brick = found.brick;
	t->layer = found.layer;
	return found.site;
}

/* Make the slot hold the node as it is now; 0: there is no site for it. */
static uint32_t fill_slot(struct node_thread *t, struct site_slot *slot, const void *node,
	const void *mul, int part, uint64_t shape, uint32_t generation)
{
	uint32_t identity = t->has_layout ? identity_of(t->engine, node, mul) : 0;

	if (t->has_layout && slot->node == node && slot->shape == shape &&
		slot->identity == identity) {
		slot->generation = generation;
		return slot->site;
	}
	uint32_t site = site_of(t, node, mul, part);
	if (site)
		*slot = (struct site_slot){node, shape, generation, identity, site, slot->next};
	return site;
}

uint32_t node_site_slow(struct node_thread *t, const void *node, const void *mul, int part)
{
	uint64_t shape = t->has_layout ? node_shape(t, node, part) : (uint64_t)part;
	uint32_t generation = shared_get(&attach_shared.graph_generation);

	note_engine(t);
	if (!t->engine)
		return 0;
	if (t->slots == node_no_slots)
		return site_of(t, node, mul, part);
	uint32_t index = slot_for(t, node, generation);
	struct site_slot *slot = &t->slots[index];
	uint32_t site = slot->site;
	if (slot->node != node || slot->shape != shape || slot->generation != generation)
		site = fill_slot(t, slot, node, mul, part, shape, generation);
	t->slots[t->slot_now].next = index;
	t->slot_now = index;
	t->slot_next = slot->next;
	return site;
}
