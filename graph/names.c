/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts of an execution graph, each kept once: a table of their numbers by hash, and chunks that
 * hold them and never move, so that a name that was handed out stays where it is.
 */
#include <errno.h>
#include <string.h>
#include "base/fnv.h"
#include "graph/graph.h"

enum { CHUNK_BYTES = 1 << 16 };

struct brick__chunk {
	struct brick__chunk *next;
	size_t used;
	char text[CHUNK_BYTES];
};

static char *copy(struct brick__names *names, const char *text, size_t bytes)
{
	struct brick__chunk *chunk = names->chunks;

	if (!chunk || CHUNK_BYTES - chunk->used < bytes) {
		chunk = malloc(sizeof(*chunk));
		if (!chunk)
			return NULL;
		chunk->next = names->chunks;
		chunk->used = 0;
		names->chunks = chunk;
	}
	char *to = chunk->text + chunk->used;
	memcpy(to, text, bytes);
	chunk->used += bytes;
	return to;
}

static uint32_t *slot_of(const struct brick__names *names, const char *text, uint32_t hash)
{
	for (uint32_t i = hash;; i++) {
		uint32_t *slot = &names->slots[i & (names->slot_capacity - 1)];
		if (!*slot)
			return slot;
		const struct brick__name *name = &names->entries[*slot - 1];
		if (name->hash == hash && !strcmp(name->text, text))
			return slot;
	}
}

static uint32_t hash_of(const char *text)
{
	uint64_t hash = fnv1a_text(text);
	return (uint32_t)(hash ^ hash >> 32);
}

static int grow_slots(struct brick__names *names)
{
	uint32_t capacity = names->slot_capacity ? 2 * names->slot_capacity : 64;
	uint32_t *slots = capacity ? calloc(capacity, sizeof(*slots)) : NULL;

	if (!slots)
		return -ENOMEM;
	for (uint32_t n = 0; n < names->count; n++) {
		uint32_t i = names->entries[n].hash;
		while (slots[i & (capacity - 1)])
			i++;
		slots[i & (capacity - 1)] = n + 1;
	}
	free(names->slots);
	names->slots = slots;
	names->slot_capacity = capacity;
	return 0;
}

int brick__names_add(struct brick__names *names, const char *text, uint32_t *number)
{
	uint32_t hash = hash_of(text);

	if ((uint64_t)names->count * 3 >= (uint64_t)names->slot_capacity * 2 &&
		grow_slots(names) < 0)
		return -ENOMEM;
	uint32_t *slot = slot_of(names, text, hash);
	if (!*slot) {
		if (brick__grow(&names->entries, &names->capacity, names->count,
			    sizeof(*names->entries)) < 0)
			return -ENOMEM;
		const char *kept = copy(names, text, strlen(text) + 1);
		if (!kept)
			return -ENOMEM;
		names->entries[names->count] =
			(struct brick__name){kept, hash, BRICK__NONE, BRICK__NONE};
		*slot = ++names->count;
	}
	*number = *slot - 1;
	return 0;
}

uint32_t brick__names_find(const struct brick__names *names, const char *text)
{
	if (!names->slot_capacity)
		return BRICK__NONE;
	return *slot_of(names, text, hash_of(text)) - 1; /* an empty slot gives BRICK__NONE */
}

void brick__names_fini(struct brick__names *names)
{
	while (names->chunks) {
		struct brick__chunk *next = names->chunks->next;
		free(names->chunks);
		names->chunks = next;
	}
	free(names->entries);
	free(names->slots);
	memset(names, 0, sizeof(*names));
}
