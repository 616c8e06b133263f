/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules in force, and the process's table of sites (site_table.h), by the hash of a node's
 * text. The rules' verdicts are a second table, by the hash of the names only: nodes that differ in
 * shape share one. Entries are never removed. If the registry has no room for more sites, new nodes
 * are still recorded by brick and layer, and counted in the ledger.
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
#include "lib/session/registry_tables.h"

static struct rule_sets site_table_rules;
static pthread_once_t site_table_once = PTHREAD_ONCE_INIT;

static void site_table_load(void)
{
	rule_sets_load(&site_table_rules, rule_set_default_text, rule_set_default_bytes);
}

void site_table_ready(void)
{
	pthread_once(&site_table_once, site_table_load);
}

bool site_table_is_unknown(uint32_t site)
{
	const struct brick_session_site *known = brick__site(site);
	return known && known->flags & BRICK_SITE_UNKNOWN_OPERATION;
}

void site_table_describe_rules(char *text, size_t bytes)
{
	pthread_once(&site_table_once, site_table_load);
	snprintf(text, bytes, "%s", site_table_rules.description);
}

enum { MAX_ENTRIES = 1 << 17 }; /* of either table; further nodes are looked up each time */

struct entry {
	uint64_t hash;	      /* node_hash.all, with the layer added if no name says it */
	uint32_t whole, part; /* sites; 0: not registered */
	struct rule_outcome outcome;
};

struct verdict {
	uint64_t hash; /* node_hash.names */
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

/* Under the lock: what the rules say of nodes with these names. */
static struct rule_outcome outcome_of(const struct node_text *text, uint64_t hash)
{
	struct hash_probe probe = hash_probe(hash);
	struct verdict verdict = {.hash = hash};

	for (uint32_t i; (i = hash_index_next(&verdict_index, &probe)) != HASH_INDEX_NONE;)
		if (verdicts.items[i].hash == hash)
			return verdicts.items[i].outcome;
	struct rules_source sources[TENSOR_SOURCES + 1];
	struct rules_node node = {
		text->self.operation, text->self.name, sources, text->source_count};
	for (uint32_t s = 0; s < text->source_count; s++)
		sources[s] = (struct rules_source){text->source[s].name, text->source[s].operation};
	if (*text->results)
		sources[node.source_count++] = (struct rules_source){"", text->results};
	pthread_once(&site_table_once, site_table_load);
	rule_sets_apply(&site_table_rules, &node, &verdict.outcome);
	/* A norm by itself belongs to the layer whose weight comes behind it, not to the one
	 * before, which it reads: the graph knows (surrounded_layers()). */
	if (tensor_is_nameless(text->self.name) && operation_is_norm(text->self.operation))
		verdict.outcome.layer = -1;
	/* If it cannot be kept, the rules are applied again the next time. */
	if (verdicts.count < MAX_ENTRIES && !hash_index_reserve(&verdict_index) &&
		!array_push(&verdicts, verdict))
		hash_index_add(&verdict_index, hash, (uint32_t)verdicts.count - 1);
	return verdict.outcome;
}

/* Under the lock: the entry with this hash, or NULL. */
static struct entry *find_entry(uint64_t hash)
{
	struct hash_probe probe = hash_probe(hash);

	for (uint32_t i; (i = hash_index_next(&site_table_entry_index, &probe)) != HASH_INDEX_NONE;)
		if (site_table_entries.items[i].hash == hash)
			return &site_table_entries.items[i];
	return NULL;
}

/*
 * Under the lock: the entry of a node, made if need be; *spare if the table has no room for it. If
 * names say no layer, `layer` is a part of the hash, so that equal nodes of two layers have two
 * entries.
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
	struct brick_site site = {.size = sizeof(struct brick_site),
		.brick = entry->outcome.brick,
		.layer = entry->outcome.layer,
		.operation = text.self.operation,
		.label = text.self.name};
	if (!entry->whole) {
		struct work_counts counts;
		node_text_work(&text, engine, &counts);
		site.flags = entry->outcome.flags | counts.flags;
		site.elements = counts.elements;
		site.bytes = counts.bytes;
		site.flops = counts.flops;
		entry->whole = register_site(&site);
	}
	if (!entry->part && (part || __atomic_load_n(&site_table_wants_parts, __ATOMIC_RELAXED))) {
		site.flags = entry->outcome.flags | BRICK_SITE_PART;
		site.elements = site.bytes = site.flops = 0;
		entry->part = register_site(&site);
	}
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
