/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which kinds of devices can be timed here: every backend is asked whether its driver is there.
 * Called by `brick doctor`.
 */
#include "brick/device.h"

#include <stdio.h>
#include <string.h>
#include "brick/abi/session.h"

#include "brick/error.h"
#include "cli/cmd_doctor.h"

static const char *times_of(uint32_t source)
{
	switch (source) {
	case BRICK_SOURCE_TSC:
		return "readings of the host's clock";
	case BRICK_SOURCE_DEVICE_EVENT:
		return "events on the device";
	case BRICK_SOURCE_DEVICE_ACTIVITY:
		return "activity records of its driver";
	case BRICK_SOURCE_TIMESTAMP_QUERY:
		return "timestamps in the device's command stream";
	default:
		return "a source of its own";
	}
}

static void add_backend(struct doctor *doctor, const struct brick_backend *backend)
{
	char reason[256] = "";
	int error = backend->probe(reason, sizeof(reason));
	if (error < 0)
		doctor_add(doctor, "Backends", backend->name, DOCTOR_ABSENT, NULL, "%s",
			reason[0] ? reason : brick_strerror(error));
	else if (!strcmp(backend->name, "null"))
		doctor_add(doctor, "Backends", backend->name, DOCTOR_OK, NULL,
			"works: a simulated device, for tests and benches");
	else
		doctor_add(doctor, "Backends", backend->name, DOCTOR_OK, NULL,
			"works: times are %s%s%s", times_of(backend->source), reason[0] ? "; " : "",
			reason);
}

void doctor_devices(struct doctor *doctor)
{
	const struct brick_backend *backend;
	const char *path, *reason;
	for (uint32_t i = 0; (backend = brick_backend_at(i)) != NULL; i++)
		add_backend(doctor, backend);
	for (uint32_t i = 0; (path = brick_backend_refused(i, &reason)) != NULL; i++)
		doctor_add(doctor, "Backends", "library", DOCTOR_NO,
			"BRICK_BACKEND_PATH leads to it: build it against this version, or leave "
			"it out",
			"%s: %s", path, reason);
}
