/* SPDX-License-Identifier: Apache-2.0 */
/* Entries by the hash of their four names; a fork waits for the lock. */
#include "attach/rules/named_sites.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include "base/array.h"
#include "base/fnv.h"
#include "base/hash_index.h"
#include "base/scope.h"
#include "brick/brick.h"

struct entry {
	struct named_site site;
	char names[]; /* operation, name, kind and type, each NUL-terminated */
};
enum { NAMES = 4 };

static ARRAY(struct entry *) named_sites_entries;
static struct hash_index named_sites_entry_index;
static pthread_mutex_t named_sites_lock = PTHREAD_MUTEX_INITIALIZER;

LOCK_OVER_FORKS(named_sites_lock)

static struct rule_sets named_sites_rule_sets;
static pthread_once_t named_sites_once = PTHREAD_ONCE_INIT;

static void named_sites_load(void)
{
	rule_sets_load(&named_sites_rule_sets, rule_set_default_text, rule_set_default_bytes);
}

static bool named_sites_is_called(const struct entry *entry, const char *const names[NAMES])
{
	const char *at = entry->names;

	for (int i = 0; i < NAMES; i++) {
		if (strcmp(at, names[i]) != 0)
			return false;
		at += strlen(at) + 1;
	}
	return true;
}

/* A brick's name has 47 bytes: a longer operator's is cut, and not what says that it is inner. */
static void named_sites_inner(struct rule_outcome *outcome, const char *operation)
{
	char name[48];
	int category = brick_category_register("Inner");

	snprintf(name, sizeof(name), "%.*s(" NAMED_SITE_INNER ")",
		(int)(sizeof(name) - sizeof("(" NAMED_SITE_INNER ")")), operation);
	int brick = brick_register(name, category < 0 ? BRICK_CATEGORY_OTHER : (uint32_t)category);

	*outcome = (struct rule_outcome){
		.brick = (uint16_t)(brick < 0 ? BRICK_GRAPH_COMPUTE : brick), .layer = -1};
}

static struct entry *entry_create(const char *const names[NAMES])
{
	size_t bytes = NAMES;
	char typed[128];
	struct rules_source source = {names[2], names[2]};
	struct rules_node node = {names[0], names[1], &source, 1};
	struct rule_outcome outcome;

	for (int i = 0; i < NAMES; i++)
		bytes += strlen(names[i]);
	struct entry *entry = malloc(sizeof(*entry) + bytes);
	if (!entry)
		return NULL;
	char *at = entry->names;
	for (int i = 0; i < NAMES; i++)
		at = stpcpy(at, names[i]) + 1;
	snprintf(typed, sizeof(typed), "%s(%s)", names[0], names[3]);
	if (!strcmp(names[3], NAMED_SITE_INNER))
		named_sites_inner(&outcome, names[0]);
	else
		rule_sets_apply(&named_sites_rule_sets, &node, &outcome);
	int site = brick_site_register(&(struct brick_site){
		.size = sizeof(struct brick_site),
		.brick = outcome.brick,
		.layer = outcome.layer,
		.flags = outcome.flags,
		.operation = *names[3] ? typed : names[0],
		.label = names[1],
	});
	entry->site = (struct named_site){
		site > 0 ? (uint32_t)site : 0, outcome.brick, outcome.layer, entry->names};
	return entry;
}

const char *named_sites_rules(void)
{
	pthread_once(&named_sites_once, named_sites_load);
	return named_sites_rule_sets.description;
}

const struct named_site *named_site_find(const char *operation, const char *name, const char *kind)
{
	return named_site_find_typed(operation, name, kind, "");
}

const struct named_site *named_site_find_typed(
	const char *operation, const char *name, const char *kind, const char *type)
{
	const char *const names[NAMES] = {operation, name, kind, type};
	uint64_t hash = FNV1A_BASIS;
	KEEP_ERRNO();

	for (int i = 0; i < NAMES; i++)
		hash = fnv1a_add(hash, names[i], strlen(names[i]) + 1);
	pthread_once(&named_sites_once, named_sites_load);
	HOLD(&named_sites_lock);
	struct hash_probe probe = hash_probe(hash);
	for (uint32_t i;
		(i = hash_index_next(&named_sites_entry_index, &probe)) != HASH_INDEX_NONE;)
		if (named_sites_is_called(named_sites_entries.items[i], names))
			return &named_sites_entries.items[i]->site;
	if (hash_index_reserve(&named_sites_entry_index) || array_reserve(&named_sites_entries, 1))
		return NULL;
	struct entry *entry = entry_create(names);
	if (!entry)
		return NULL;
	named_sites_entries.items[named_sites_entries.count++] = entry;
	hash_index_add(&named_sites_entry_index, hash, (uint32_t)named_sites_entries.count - 1);
	return &entry->site;
}
