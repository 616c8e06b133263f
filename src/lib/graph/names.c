/* SPDX-License-Identifier: Apache-2.0 */
/* Texts lie in chunks that never move, so that a name that was handed out stays where it is. */
#include "lib/graph/names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/fnv.h"

enum { CHUNK_BYTES = 1 << 16 };

struct brick__chunk {
	struct brick__chunk *next;
	size_t used;
	char text[CHUNK_BYTES];
};

static char *names_copy(struct brick__names *names, const char *text, size_t bytes)
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

static uint32_t names_find(const struct brick__names *names, const char *text, uint64_t hash)
{
	struct hash_probe probe = hash_probe(hash);

	for (uint32_t i; (i = hash_index_next(&names->index, &probe)) != HASH_INDEX_NONE;)
		if (!strcmp(names->entries.items[i].text, text))
			return i;
	return BRICK__NONE;
}

uint32_t brick__names_find(const struct brick__names *names, const char *text)
{
	return names_find(names, text, fnv1a_text(text));
}

int brick__names_add(struct brick__names *names, const char *text, uint32_t *number)
{
	uint64_t hash = fnv1a_text(text);

	*number = names_find(names, text, hash);
	if (*number != BRICK__NONE)
		return 0;
	if (array_reserve(&names->entries, 1) || hash_index_reserve(&names->index))
		return -ENOMEM;
	const char *kept = names_copy(names, text, strlen(text) + 1);
	if (!kept)
		return -ENOMEM;
	*number = (uint32_t)names->entries.count;
	array_push(&names->entries, (struct brick__name){kept, BRICK__NONE, BRICK__NONE});
	return hash_index_add(&names->index, hash, *number);
}

void brick__names_fini(struct brick__names *names)
{
	while (names->chunks) {
		struct brick__chunk *next = names->chunks->next;
		free(names->chunks);
		names->chunks = next;
	}
	array_fini(&names->entries);
	hash_index_fini(&names->index);
}
