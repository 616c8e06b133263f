/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules in force, and the process's table of sites (site_table.h) by the hash of what is known
 * of a node. A node that is known with another shape has asked the rules already: their verdicts
 * are a table of their own. Entries are never removed; when the registry has no room for more
 * sites, new nodes are still recorded by brick and layer, and counted in the ledger.
 */
#include "attach/ggml/nodes/site_table.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "attach/ggml/nodes/node_text.h"
#include "attach/rules/rule_sets.h"
#include "base/array.h"
#include "base/hash.h"
#include "base/hash_index.h"
#include "base/scope.h"
#include "brick/brick.h"

static struct rule_sets site_table_rules;
static pthread_once_t site_table_once = PTHREAD_ONCE_INIT;

static void site_table_load(void)
{
	rule_sets_load(&site_table_rules, rule_set_default_text, rule_set_default_bytes);
}

/*
 * A norm by itself belongs to the layer whose weight comes behind it, not to the one before, which
 * it reads: the graph knows (surrounded_layers()).
 */
static bool is_bare_norm(const struct tensor_text *node)
{
	return tensor_is_nameless(node->name) && operation_is_norm(node->operation);
}

/* The brick of a node; one that no rule knows gets a brick of its operation's name, in Other. */
static void apply_rules(const struct node_text *text, struct rule_outcome *outcome)
{
	struct rules_source sources[TENSOR_SOURCES + 1];
	struct rules_node node = {
		text->self.operation, text->self.name, sources, text->source_count};

	if (*text->results)
		sources[node.source_count++] = (struct rules_source){"", text->results};
	for (uint32_t i = 0; i < text->source_count; i++)
		sources[i] = (struct rules_source){text->source[i].name, text->source[i].operation};
	pthread_once(&site_table_once, site_table_load);
	rule_sets_apply(&site_table_rules, &node, outcome);
	if (is_bare_norm(&text->self))
		outcome->layer = -1;
}

void site_table_ready(void)
{
	pthread_once(&site_table_once, site_table_load);
}

void site_table_describe_rules(char *text, size_t bytes)
{
	pthread_once(&site_table_once, site_table_load);
	snprintf(text, bytes, "%s", site_table_rules.description);
}

enum { MAX_ENTRIES = 1 << 17 };

struct entry {
	uint64_t hash;	      /* of all that is known of the node */
	uint32_t whole, part; /* sites; 0: not registered */
	struct rule_outcome outcome;
};

struct verdict {
	uint64_t hash; /* of names */
	struct rule_outcome outcome;
};

int site_table_wants_parts;

static ARRAY(struct entry) site_table_entries;
static ARRAY(struct verdict) verdicts;
static struct hash_index site_table_entry_index, verdict_index;
pthread_mutex_t site_table_mutex = PTHREAD_MUTEX_INITIALIZER;

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
		.brick = entry->outcome.brick,
		.layer = entry->outcome.layer,
		.flags = entry->outcome.flags | counts.flags,
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
		.brick = entry->outcome.brick,
		.layer = entry->outcome.layer,
		.flags = entry->outcome.flags | BRICK_SITE_PART,
		.operation = text->self.operation,
		.label = text->self.name,
	});
}

/* Under the lock: what the rules say of nodes with these names. */
static struct rule_outcome outcome_of(const struct node_text *text, uint64_t hash)
{
	struct hash_probe probe = hash_probe(hash);
	struct verdict verdict = {.hash = hash};

	for (uint32_t i; (i = hash_index_next(&verdict_index, &probe)) != HASH_INDEX_NONE;)
		if (verdicts.items[i].hash == hash)
			return verdicts.items[i].outcome;
	apply_rules(text, &verdict.outcome);
	/* Without memory it is asked for again. */
	if (verdicts.count < MAX_ENTRIES && !hash_index_reserve(&verdict_index) &&
		!array_push(&verdicts, verdict))
		hash_index_add(&verdict_index, hash, (uint32_t)verdicts.count - 1);
	return verdict.outcome;
}

/* Under the lock: an entry that is there, or NULL. */
static struct entry *find_entry(uint64_t hash)
{
	struct hash_probe probe = hash_probe(hash);

	for (uint32_t i; (i = hash_index_next(&site_table_entry_index, &probe)) != HASH_INDEX_NONE;)
		if (site_table_entries.items[i].hash == hash)
			return &site_table_entries.items[i];
	return NULL;
}

/*
 * Under the lock: the entry of a node, made if need be. *spare is used when there is no room.
 * Nodes without names are told apart by the layers that they were found in.
 */
static struct entry *site_table_entry_of(
	const struct node_text *text, int layer, struct entry *spare)
{
	struct node_hash hash = node_text_hash(text);
	struct entry *entry = find_entry(hash.all);

	if (entry && (layer < 0 || entry->outcome.layer >= 0))
		return entry;
	*spare = (struct entry){.hash = hash.all, .outcome = outcome_of(text, hash.names)};
	if (layer >= 0 && spare->outcome.layer < 0) {
		spare->outcome.layer = (int16_t)layer;
		spare->hash = hash_add(hash.all, (uint64_t)layer + 1);
		if ((entry = find_entry(spare->hash)))
			return entry;
	}
	if (site_table_entries.count >= MAX_ENTRIES ||
		hash_index_reserve(&site_table_entry_index) ||
		array_push(&site_table_entries, *spare))
		return spare;
	hash_index_add(
		&site_table_entry_index, spare->hash, (uint32_t)site_table_entries.count - 1);
	return &site_table_entries.items[site_table_entries.count - 1];
}

void site_table_find(const struct engine *engine, const void *node, const void *mul, int part,
	int layer, struct site_found *found)
{
	KEEP_ERRNO();
	struct node_text text;
	struct entry spare = {0};

	node_text_read(&text, engine, node, mul);
	HOLD(&site_table_mutex);
	struct entry *entry = site_table_entry_of(&text, layer, &spare);
	if (!entry->whole)
		register_whole(entry, &text, engine);
	if (!entry->part && (part || __atomic_load_n(&site_table_wants_parts, __ATOMIC_RELAXED)))
		register_part(entry, &text);
	*found = (struct site_found){
		part ? entry->part : entry->whole, entry->outcome.brick, entry->outcome.layer};
}

int site_table_layer(const struct engine *engine, const void *node)
{
	KEEP_ERRNO();
	struct node_text text;

	node_text_read(&text, engine, node, NULL);
	HOLD(&site_table_mutex);
	return outcome_of(&text, node_text_hash(&text).names).layer;
}
