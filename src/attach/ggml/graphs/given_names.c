/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of names (given_names.h), by address. Engines build their graphs at the same addresses
 * again, so that it stops growing. Whoever looks a node up asks; nobody does between nodes.
 */
#include "attach/ggml/graphs/given_names.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include "base/array.h"
#include "base/hash.h"
#include "base/hash_index.h"
#include "base/scope.h"

enum { MAX_GIVEN = 1 << 16 };

struct given {
	const void *tensor;
	char own[16]; /* what the engine calls it, so far as it fits */
	char name[GIVEN_NAME_BYTES];
};

static ARRAY(struct given) names;
static struct hash_index by_address;
static uint32_t used; /* there are any */
pthread_mutex_t given_names_mutex = PTHREAD_MUTEX_INITIALIZER;

/* Under the lock. */
static struct given *find(const void *tensor)
{
	struct hash_probe probe = hash_probe(hash_pointer(tensor));

	for (uint32_t i; (i = hash_index_next(&by_address, &probe)) != HASH_INDEX_NONE;)
		if (names.items[i].tensor == tensor)
			return &names.items[i];
	return NULL;
}

/* Under the lock: a new one, or NULL. */
static struct given *add(const void *tensor)
{
	const struct given given = {.tensor = tensor};

	if (names.count >= MAX_GIVEN || hash_index_reserve(&by_address) ||
		array_push(&names, given))
		return NULL;
	hash_index_add(&by_address, hash_pointer(tensor), (uint32_t)names.count - 1);
	return &names.items[names.count - 1];
}

void given_name_set(const void *tensor, const char *own, const char *given)
{
	HOLD(&given_names_mutex);
	struct given *g = find(tensor);
	if (!g)
		g = add(tensor);
	if (g) {
		memset(g->own, 0, sizeof g->own);
		memcpy(g->own, own, strnlen(own, sizeof g->own));
		snprintf(g->name, sizeof g->name, "%s", given);
		__atomic_store_n(&used, 1, __ATOMIC_RELEASE);
	}
}

int given_names_any(void)
{
	return __atomic_load_n(&used, __ATOMIC_ACQUIRE) != 0;
}

const char *given_name_of(const void *tensor, const char *own)
{
	const struct given *g = find(tensor);

	return g && !strncmp(g->own, own, sizeof g->own) ? g->name : NULL;
}
