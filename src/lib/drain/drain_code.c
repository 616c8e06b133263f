/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Entries of different lengths, one behind the other. An entry is copied before it is looked at;
 * the first that makes no sense ends the area, because where the next one begins is then not known.
 */
#include "lib/drain/drain_code.h"

#include <stdlib.h>
#include <string.h>

/* Bytes that an entry takes; 0: more than there are. */
static uint64_t entry_bytes(const struct brick_session_code *entry, uint64_t left)
{
	uint64_t bytes = sizeof *entry + (uint64_t)entry->name_bytes + entry->path_bytes +
			 entry->source_bytes;

	bytes = (bytes + 7) & ~(uint64_t)7;
	return bytes <= left ? bytes : 0;
}

static int emit_entry(struct sink *sink, const struct brick_session_code *entry, const char *texts)
{
	const struct sink_code code = {.hash = entry->hash,
		.name = texts,
		.path = texts + entry->name_bytes,
		.source = texts + entry->name_bytes + entry->path_bytes,
		.name_bytes = entry->name_bytes,
		.path_bytes = entry->path_bytes,
		.source_bytes = entry->source_bytes,
		.cut = entry->flags & 1};

	return sink_code(sink, &code);
}

/* What is wrong with the entry that comes next, or NULL; *error: the sink's. */
static const char *emit_next(
	const struct drain_map *m, uint32_t *emitted, uint32_t end, struct sink *sink, int *error)
{
	const char *at = drain_map_at(m, m->header.code_offset + *emitted);
	uint64_t left = end - *emitted;
	struct brick_session_code entry;

	if (left < sizeof entry)
		return "an entry of its code makes no sense";
	memcpy(&entry, at, sizeof entry);
	uint64_t bytes = entry_bytes(&entry, left);
	if (!bytes)
		return "an entry of its code makes no sense";
	char *texts = malloc(bytes);
	if (!texts)
		return "out of memory for its code";
	memcpy(texts, at + sizeof entry, bytes - sizeof entry);
	*error = emit_entry(sink, &entry, texts);
	free(texts);
	*emitted += (uint32_t)bytes;
	return NULL;
}

int drain_code_emit(uint32_t *emitted, struct drain_map *m, struct sink *sink)
{
	const char *wrong = NULL;
	int error = 0;

	/* a view is emitted again and again, and nobody reads sources there */
	if (m->view || !m->header.code_offset)
		return 0;
	uint32_t now = __atomic_load_n(&m->shared->code_bytes, __ATOMIC_ACQUIRE);
	if (now < *emitted || now > BRICK_CODE_BYTES) {
		drain_map_fault_set(m, "the size of its code makes no sense");
		return 0;
	}
	while (!error && !wrong && *emitted < now)
		wrong = emit_next(m, emitted, now, sink, &error);
	if (wrong) {
		drain_map_fault_set(m, wrong);
		m->bad_entries++;
		*emitted = now;
	}
	return error;
}
