/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table for a backend whose headers were missing when Brick was built. Its probe() fails with the
 * reason; the host then calls none of its other functions. Included by one file of each such
 * backend. A new member of struct brick_backend that is not optional goes into the table here, too.
 */
#pragma once

#include <errno.h>
#include <stdio.h>
#include "brick/abi/session.h"
#include "brick/error.h"
#include "lib/backends/backend_load.h"

static int absent_open(struct brick_backend_device **out, const struct brick_backend_host *host,
	const struct brick_backend_options *options)
{
	return BRICK_EUNSUPPORTED;
}

static int absent_stamp(struct brick_backend_device *device, void *queue, uint64_t ticket)
{
	return BRICK_EUNSUPPORTED;
}

static int absent_drain(struct brick_backend_device *device)
{
	return BRICK_EUNSUPPORTED;
}

static int absent_synchronise(struct brick_backend_device *device, void *queue)
{
	return BRICK_EUNSUPPORTED;
}

static int absent_correlate(struct brick_backend_device *device, struct brick_reading *reading)
{
	return -ENOTSUP;
}

static void absent_close(struct brick_backend_device *device)
{
}

/* Defines the table `symbol` of a backend, and its probe. `why`: a literal without '%'. */
#define BRICK_BACKEND_ABSENT(symbol, its_name, its_source, why) \
	static int absent_probe(char *reason, size_t bytes)     \
	{                                                       \
		snprintf(reason, bytes, why);                   \
		return BRICK_EUNSUPPORTED;                      \
	}                                                       \
	const struct brick_backend symbol = {                   \
		.size = sizeof(struct brick_backend),           \
		.version = BRICK_BACKEND_VERSION,               \
		.source = its_source,                           \
		.name = its_name,                               \
		.probe = absent_probe,                          \
		.open = absent_open,                            \
		.begin = absent_stamp,                          \
		.end = absent_stamp,                            \
		.drain = absent_drain,                          \
		.synchronise = absent_synchronise,              \
		.correlate = absent_correlate,                  \
		.close = absent_close,                          \
	}
