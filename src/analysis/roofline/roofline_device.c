/* SPDX-License-Identifier: Apache-2.0 */
/* Which device's ceilings a run's queues are placed under. Called by roofline.c. */
#include <stdio.h>
#include <string.h>

#include "analysis/roofline/roofline.h"

static int has_queue_of(const struct run *run, const char *backend)
{
	for (size_t i = 0; i < run->lane_count; i++)
		if (run->lanes[i].kind == BRICK_LANE_QUEUE && run->lanes[i].backend &&
			!strcmp(run->lanes[i].backend, backend))
			return 1;
	return 0;
}

/*
 * A note that names a device that has queues: "backend" with "vulkan NAME" of what is attached,
 * "vulkan.device" with "NAME" of a backend in the program. Its name, or NULL.
 */
static const char *named_device(
	const struct run *run, const struct run_note *note, char backend[CEILINGS_NAME])
{
	int is_attached = !strcmp(note->key, "backend");
	const char *text = is_attached ? note->value : note->key;
	const char *end = strchr(text, is_attached ? ' ' : '.');

	if (!end || (!is_attached && strcmp(end, ".device")))
		return NULL;
	snprintf(backend, CEILINGS_NAME, "%.*s", (int)(end - text), text);
	if (!has_queue_of(run, backend))
		return NULL;
	return is_attached ? end + 1 : note->value;
}

const struct ceilings_device *roofline_device(const struct run *run, const struct ceilings *c)
{
	const struct ceilings_device *device = NULL;
	char backend[CEILINGS_NAME];

	for (size_t i = 0; c && i < run->note_count; i++) {
		const struct run_note *note = &run->notes[i];
		const char *name = named_device(run, note, backend);
		if (!name)
			continue;
		const struct ceilings_device *found = ceilings_device_of(c, backend, name);
		if (!found && strcmp(note->key, "backend"))
			continue; /* some of these say more than the name */
		if (!found || (device && found != device))
			return NULL;
		device = found;
	}
	return device;
}
