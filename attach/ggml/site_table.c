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

struct entry {
	uint64_t hash; /* 0: free */
	struct site_pair pair;
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

static void register_node(const struct engine *engine, const struct node_text *text,
	struct site_pair *pair)
{
	struct rule_outcome outcome;
	struct work_counts counts;

	rule_set_apply(text, &outcome);
	node_text_work(text, engine, &counts);
	struct brick_site site = {
		.brick = outcome.brick,
		.layer = outcome.layer,
		.flags = counts.flags | outcome.flags,
		.elements = counts.elements,
		.bytes = counts.bytes,
		.flops = counts.flops,
		.operation = text->self.operation,
		.label = text->self.name,
	};
	pair->brick = outcome.brick;
	pair->layer = outcome.layer;
	pair->whole = register_site(&site);
	site.flags = outcome.flags | BRICK_SITE_PART;
	site.elements = site.bytes = site.flops = 0;
	pair->part = pair->whole ? register_site(&site) : 0;
}

void site_table_find(const struct engine *engine, const void *node, const void *mul,
	struct site_pair *pair)
{
	int saved = errno;
	struct node_text text;

	node_text_read(&text, engine, node, mul);
	uint64_t hash = node_text_hash(&text);
	site_table_lock();
	struct entry *entry = slots ? seek(entries, slots, hash) : NULL;
	if (entry && entry->hash) {
		*pair = entry->pair;
	} else {
		register_node(engine, &text, pair);
		if (used * 2 >= slots && grow())
			entry = seek(entries, slots, hash);
		if (entry && used * 2 < slots) {
			entry->hash = hash;
			entry->pair = *pair;
			used++;
		}
	}
	site_table_unlock();
	errno = saved;
}

uint32_t site_table_named(const char *operation, const char *label, uint16_t brick)
{
	const struct brick_site site = {
		.brick = brick, .layer = -1, .operation = operation, .label = label};
	int saved = errno;
	uint32_t index = register_site(&site);

	errno = saved;
	return index;
}
