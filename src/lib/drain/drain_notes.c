/* SPDX-License-Identifier: Apache-2.0 */
/* The area only grows; it is copied as far as its process says, and put right (notes.h). */
#include "lib/drain/drain_notes.h"

#include <stdio.h>
#include <string.h>
#include "lib/drain/clean.h"

static size_t copy(struct drain_notes *n, struct drain_map *m)
{
	uint32_t bytes = __atomic_load_n(&m->shared->notes_bytes, __ATOMIC_ACQUIRE);

	if (bytes > BRICK_NOTES_BYTES)
		bytes = BRICK_NOTES_BYTES;
	n->emitted = bytes;
	memcpy(n->text, drain_map_at(m, m->header.notes_offset), bytes);
	n->text[bytes] = '\0';
	drain_clean_lines(n->text);
	size_t used = strlen(n->text);
	if (used && n->text[used - 1] != '\n')
		n->text[used++] = '\n';
	return used;
}

int drain_notes_emit(
	struct drain_notes *n, struct drain_map *m, struct sink *sink, int process, const char *end)
{
	const char *fault = drain_map_fault(m);
	size_t used = copy(n, m);

	used += (size_t)snprintf(n->text + used, sizeof n->text - used, "session.end=%s\n", end);
	if (fault)
		used += (size_t)snprintf(
			n->text + used, sizeof n->text - used, "session.trouble=%s\n", fault);
	if (m->bad_entries)
		used += (size_t)snprintf(n->text + used, sizeof n->text - used,
			"session.bad_entries=%llu\n", (unsigned long long)m->bad_entries);
	return sink_notes(sink, process, n->text, used);
}

int drain_notes_emit_new(struct drain_notes *n, struct drain_map *m, struct sink *sink, int process)
{
	uint32_t bytes = __atomic_load_n(&m->shared->notes_bytes, __ATOMIC_RELAXED);

	return bytes == n->emitted ? 0 : drain_notes_emit(n, m, sink, process, "running");
}

void drain_notes_rewind(struct drain_notes *n)
{
	n->emitted = 0;
	n->text[0] = '\0';
}
