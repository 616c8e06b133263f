/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A GPU is a few lines of notes, made once. The table and what sessions have heard are under the
 * session lock.
 */
#include "lib/device/gpus.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/scope.h"
#include "base/utf8.h"
#include "lib/session/session_map.h"

enum { MAX_GPUS = 64, LINE = 256, MAX_FACTS = 6 * LINE };

struct gpu {
	uint64_t id;
	char first[48]; /* "gpu.NUMBER=BACKEND\n" */
	char *facts;	/* further lines; NULL: not described yet */
};

static struct gpu gpus[MAX_GPUS];
static uint32_t gpu_count;

/* One line; a text from a driver may hold anything. */
static size_t gpus_put_line(char *to, uint32_t number, const char *what, const char *value)
{
	char text[LINE - 64];

	if (!value || !*value)
		return 0;
	utf8_field(text, sizeof(text), value);
	for (char *p = text; *p; p++)
		if ((unsigned char)*p < ' ')
			*p = ' ';
	return (size_t)snprintf(to, LINE, "gpu.%u.%s=%s\n", number, what, text);
}

/* Its number, from 1 on; 0: no room. Under the lock. */
static uint32_t gpus_number_of(const char *backend, uint64_t id)
{
	char line[sizeof(gpus->first)];

	for (uint32_t i = 0; i < gpu_count; i++) {
		snprintf(line, sizeof(line), "gpu.%u=%.15s\n", i + 1, backend);
		if (gpus[i].id == id && !strcmp(line, gpus[i].first))
			return i + 1;
	}
	if (gpu_count == MAX_GPUS)
		return 0;
	struct gpu *gpu = &gpus[gpu_count++];
	gpu->id = id;
	snprintf(gpu->first, sizeof(gpu->first), "gpu.%u=%.15s\n", gpu_count, backend);
	return gpu_count;
}

static bool has_heard(const struct brick_session_header *h, const char *line)
{
	const char *notes = (const char *)h + h->notes_offset;
	uint32_t bytes = h->notes_bytes < BRICK_NOTES_BYTES ? h->notes_bytes : BRICK_NOTES_BYTES;

	return memmem(notes, bytes, line, strlen(line)) != NULL;
}

void brick__gpu_describe(const char *backend, uint64_t id, const struct gpu_facts *facts)
{
	char uuid[33] = "";
	KEEP_ERRNO();

	BETWEEN(brick__session_lock, brick__session_unlock);
	uint32_t number = gpus_number_of(backend, id);
	struct gpu *gpu = number ? &gpus[number - 1] : NULL;
	char *notes = gpu && !gpu->facts ? malloc(MAX_FACTS) : NULL;
	if (!notes)
		return;
	size_t n = gpus_put_line(notes, number, "name", facts->name);
	n += gpus_put_line(notes + n, number, "vendor", facts->vendor);
	n += gpus_put_line(notes + n, number, "model", facts->model);
	n += gpus_put_line(notes + n, number, "architecture", facts->architecture);
	n += gpus_put_line(notes + n, number, "pci", facts->pci);
	for (int i = 0; facts->uuid && i < 16; i++)
		snprintf(uuid + 2 * i, 3, "%02x", facts->uuid[i]);
	n += gpus_put_line(notes + n, number, "uuid", uuid);
	notes[n] = '\0';
	gpu->facts = notes;
	for (struct brick_session *s = &brick__session; s; s = s->next)
		if (s->header && has_heard(s->header, gpu->first))
			brick__notes_append(s->header, notes, n);
}

uint32_t brick__gpu_number(const char *backend, uint64_t id)
{
	BETWEEN(brick__session_lock, brick__session_unlock);
	return gpus_number_of(backend, id);
}

void brick__gpu_note(struct brick_session *s, uint32_t number)
{
	const struct gpu *gpu = number ? &gpus[number - 1] : NULL;

	if (!gpu || has_heard(s->header, gpu->first))
		return;
	brick__notes_append(s->header, gpu->first, strlen(gpu->first));
	if (gpu->facts)
		brick__notes_append(s->header, gpu->facts, strlen(gpu->facts));
}
