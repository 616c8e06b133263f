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

enum { FIRST_SLOTS = 1024, MAX_SLOTS = 1 << 18 };

struct entry {
	uint64_t hash;	      /* 0: free */
	uint32_t whole, part; /* sites; 0: not registered */
	uint16_t brick;
	int16_t layer;
	uint32_t flags; /* of both sites */
};

int site_table_wants_parts;

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
	struct entry *more = count <= MAX_SLOTS ? calloc(count, sizeof *more) : NULL;

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

static void register_whole(
	struct entry *entry, const struct node_text *text, const struct engine *engine)
{
	struct work_counts counts;

	node_text_work(text, engine, &counts);
	entry->whole = register_site(&(struct brick_site){
		.size = sizeof(struct brick_site),
		.brick = entry->brick,
		.layer = entry->layer,
		.flags = entry->flags | counts.flags,
		.elements = counts.elements,
		.bytes = counts.bytes,
		.flops = counts.flops,
		.operation = text->self.operation,
		.label = text->self.name,
	});
}

static void register_part(struct entry *entry, const struct node_text *text)
{
	entry->part = register_site(&(struct brick_site){
		.size = sizeof(struct brick_site),
		.brick = entry->brick,
		.layer = entry->layer,
		.flags = entry->flags | BRICK_SITE_PART,
		.operation = text->self.operation,
		.label = text->self.name,
	});
}

/* Under the lock: the entry of a node, made if need be. *spare is used when there is no room. */
static struct entry *entry_of(const struct node_text *text, struct entry *spare)
{
	uint64_t hash = node_text_hash(text);
	struct rule_outcome outcome;

	if (used * 2 >= slots)
		grow();
	struct entry *entry = slots ? seek(entries, slots, hash) : spare;
	if (entry->hash)
		return entry;
	if (slots && used * 2 >= slots)
		entry = spare;
	else if (slots)
		used++;
	rule_set_apply(text, &outcome);
	*entry = (struct entry){hash, 0, 0, outcome.brick, outcome.layer, outcome.flags};
	return entry;
}

void site_table_find(const struct engine *engine, const void *node, const void *mul, int part,
	struct site_found *found)
{
	int saved = errno;
	struct node_text text;
	struct entry spare = {0};

	node_text_read(&text, engine, node, mul);
	site_table_lock();
	struct entry *entry = entry_of(&text, &spare);
	if (!entry->whole)
		register_whole(entry, &text, engine);
	if (!entry->part && (part || __atomic_load_n(&site_table_wants_parts, __ATOMIC_RELAXED)))
		register_part(entry, &text);
	*found = (struct site_found){part ? entry->part : entry->whole, entry->brick, entry->layer};
	site_table_unlock();
	errno = saved;
}
