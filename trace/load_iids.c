/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interning tables of sequences: id to value. Open addressing with the id itself as its hash: ids
 * are handed out densely, and an odd choice of them costs time only.
 */
#include <stdlib.h>
#include "trace/load_state.h"

enum { LEAST_SLOTS = 16 };

static void put(struct load_iids *table, uint64_t iid, uint32_t value)
{
	uint32_t at = (uint32_t)iid;

	while (table->slots[at & (table->capacity - 1)].iid &&
		table->slots[at & (table->capacity - 1)].iid != iid)
		at++;
	struct load_iid *slot = &table->slots[at & (table->capacity - 1)];
	table->count += !slot->iid;
	*slot = (struct load_iid){iid, value};
}

static int grow(struct load *l, struct load_iids *table)
{
	struct load_iids old = *table;
	uint32_t capacity = old.capacity ? old.capacity * 2 : LEAST_SLOTS;
	struct load_iid *slots = calloc(capacity, sizeof *slots);

	if (!slots)
		return build_no_memory(&l->build), 0;
	*table = (struct load_iids){slots, capacity, 0};
	for (uint32_t i = 0; i < old.capacity; i++)
		if (old.slots[i].iid)
			put(table, old.slots[i].iid, old.slots[i].value);
	free(old.slots);
	return 1;
}

int load_iid_set(struct load *l, struct load_iids *table, uint64_t iid, uint32_t value)
{
	if (!iid || (table->count * 2 >= table->capacity && !grow(l, table)))
		return 0;
	put(table, iid, value);
	return 1;
}

void load_iids_fini(struct load_iids *table)
{
	free(table->slots);
	*table = (struct load_iids){0};
}
