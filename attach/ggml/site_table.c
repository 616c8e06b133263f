/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process's table of sites (site_table.h): open addressing by the hash of what is known of a
 * node. Entries are never removed; when the registry has no room for more sites, new nodes are
 * still recorded by brick and layer, and counted in the ledger.
 */
#include "attach/ggml/site_table.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "attach/ggml/node_text.h"
#include "attach/ggml/rule_set.h"
#include "brick/brick.h"

enum { FIRST_SLOTS = 1024, MOST_SLOTS = 1 << 18 };

#define PART_BIT 0x5555555555555555ull /* tells the hash of a twin from the other's */

struct entry {
	uint64_t hash; /* 0: free */
	struct site_found found;
};

static struct entry *entries;
static uint32_t slots, used;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void site_table_lock(void)
{
	pthread_mutex_lock(&lock);
}

void site_table_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

/* The entry of a hash, or the free one where it belongs. There is always a free one. */
static struct entry *seek(struct entry *table, uint32_t count, uint64_t hash)
{
	uint32_t i = (uint32_t)hash & (count - 1);

	while (table[i].hash && table[i].hash != hash)
		i = (i + 1) & (count - 1);
	return &table[i];
}

static int grow(void)
{
	uint32_t count = slots ? slots * 2 : FIRST_SLOTS;
	struct entry *more = count <= MOST_SLOTS ? calloc(count, sizeof *more) : NULL;

	if (!more)
		return 0;
	for (uint32_t i = 0; i < slots; i++)
		if (entries[i].hash)
			*seek(more, count, entries[i].hash) = entries[i];
	free(entries);
	entries = more;
	slots = count;
	return 1;
}

static uint32_t register_site(const struct brick_site *site)
{
	int index = brick_site_register(site);

	return index > 0 ? (uint32_t)index : 0;
}

/* The site of a node, or its twin that has no work of its own. */
static void register_node(const struct engine *engine, const struct node_text *text, int part,
	struct site_found *found)
{
	struct rule_outcome outcome;
	struct work_counts counts = {0};

	rule_set_apply(text, &outcome);
	if (!part)
		node_text_work(text, engine, &counts);
	const struct brick_site site = {
		.brick = outcome.brick,
		.layer = outcome.layer,
		.flags = counts.flags | outcome.flags | (part ? BRICK_SITE_PART : 0),
		.elements = counts.elements,
		.bytes = counts.bytes,
		.flops = counts.flops,
		.operation = text->self.operation,
		.label = text->self.name,
	};
	*found = (struct site_found){register_site(&site), outcome.brick, outcome.layer};
}

void site_table_find(const struct engine *engine, const void *node, const void *mul, int part,
	struct site_found *found)
{
	int saved = errno;
	struct node_text text;

	node_text_read(&text, engine, node, mul);
	uint64_t hash = node_text_hash(&text) ^ (part ? PART_BIT : 0);
	site_table_lock();
	struct entry *entry = slots ? seek(entries, slots, hash) : NULL;
	if (entry && entry->hash) {
		*found = entry->found;
	} else {
		register_node(engine, &text, part, found);
		if (used * 2 >= slots && grow())
			entry = seek(entries, slots, hash);
		if (entry && used * 2 < slots) {
			entry->hash = hash;
			entry->found = *found;
			used++;
		}
	}
	site_table_unlock();
	errno = saved;
}
