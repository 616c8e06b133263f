/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The programs that a session keeps the source of: entries of different lengths, one behind the
 * other. An entry is copied before it is looked at; the first that makes no sense ends the area,
 * because where the next one begins is then not known. Telling side.
 */
#include <stdlib.h>
#include <string.h>
#include "drain/state.h"

/* Bytes that an entry takes; 0: more than there are. */
static uint64_t entry_bytes(const struct brick_session_code *entry, uint64_t left)
{
	uint64_t bytes = sizeof *entry + (uint64_t)entry->name_bytes + entry->path_bytes +
			 entry->source_bytes;

	bytes = (bytes + 7) & ~(uint64_t)7;
	return bytes <= left ? bytes : 0;
}

static int tell_entry(
	struct trace_writer *w, const struct brick_session_code *entry, const char *texts)
{
	const struct sink_code code = {.hash = entry->hash,
		.name = texts,
		.path = texts + entry->name_bytes,
		.source = texts + entry->name_bytes + entry->path_bytes,
		.name_bytes = entry->name_bytes,
		.path_bytes = entry->path_bytes,
		.source_bytes = entry->source_bytes,
		.cut = entry->flags & 1};

	return trace_writer_code(w, &code);
}

/* What is wrong with the entry that comes next, or NULL; *error: the writer's. */
static const char *tell_next(struct drain *d, struct trace_writer *w, uint64_t left, int *error)
{
	const char *at = (const char *)d->shared + d->header.code_offset + d->told_code;
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
	*error = tell_entry(w, &entry, texts);
	free(texts);
	d->told_code += (uint32_t)bytes;
	return NULL;
}

int drain_tell_code(struct drain *d, struct trace_writer *w)
{
	const char *wrong = NULL;
	int error = 0;

	/* a view is told again and again, and nobody reads sources there */
	if (d->view || !d->header.code_offset)
		return 0;
	uint32_t now = __atomic_load_n(&d->shared->code_bytes, __ATOMIC_ACQUIRE);
	if (now < d->told_code || now > BRICK_CODE_BYTES) {
		drain_trouble_set(d, "the size of its code makes no sense");
		return 0;
	}
	while (!error && !wrong && d->told_code < now)
		wrong = tell_next(d, w, now - d->told_code, &error);
	if (wrong) {
		drain_trouble_set(d, wrong);
		d->bad_entries++;
		d->told_code = now;
	}
	return error;
}
