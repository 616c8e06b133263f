/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A simulated asynchronous device, behind the backend "null": the reference for how a backend
 * behaves, and what tests and benches measure against, since it tells what really happened. It has
 * queues that run one command after the other, a clock of its own with offset, rate and drift, and
 * losses and failures on demand. Nothing runs: when a command begins and ends is computed when it
 * is submitted, against CLOCK_MONOTONIC or against a clock that only the test moves. Any thread.
 *
 * Give the device to brick_device_open() as options.native[0]; queues are brick_null_queue(n).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include "brick/export.h"

BRICK_BEGIN_DECLS

enum { BRICK_NULL_QUEUES = 16, BRICK_NULL_HISTORY = 65536 };

struct brick_null;

struct brick_null_config {
	size_t size;
	uint64_t offset_ns;	/* what the device's clock shows at first */
	int64_t rate_ppb;	/* how much faster it runs than the host's, in 10^-9 */
	int64_t drift_ppb_s;	/* and how much of that comes each second */
	uint32_t resolution_ns; /* of its timestamps; 0: 1 */
	uint32_t reserved;
	uint64_t latency_ns;	/* from the host's call until an idle device begins */
	uint64_t completion_ns; /* from the end of a command until the host can know */
	uint32_t lose_every;	/* the times of every n-th pair get lost; 0: none */
	uint32_t fail_every;	/* every n-th pair comes back as an error; 0: none */
	uint64_t fail_after;	/* the device fails for good after so many pairs; 0: never */
	uint8_t silent;		/* losses are not told */
	uint8_t reversed;	/* results come in the opposite order */
	uint8_t manual;		/* its time moves by brick_null_advance() and synchronise() only */
	uint8_t no_clock;	/* its clock cannot be read */
	uint32_t reserved2;
};

#define BRICK_NULL_CONFIG_INIT                                                                \
	{                                                                                     \
		sizeof(struct brick_null_config), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 \
	}

/* config may be NULL. -EINVAL: of another size; -ENOMEM. */
BRICK_API int brick_null_create(struct brick_null **out, const struct brick_null_config *config);

/* After the devices that were opened on it. NULL is legal. */
BRICK_API void brick_null_destroy(struct brick_null *device);

/* Handle of queue 0 to BRICK_NULL_QUEUES - 1; that of queue 0 is NULL. */
static inline void *brick_null_queue(uint32_t n)
{
	return (void *)(uintptr_t)n;
}

/* A kernel of so many ns of the host; returns its number, counted from 0. -EINVAL: no queue. */
BRICK_API int64_t brick_null_submit(struct brick_null *device, void *queue, uint64_t ns);

/* The device's host time, and moving it (manual). */
BRICK_API uint64_t brick_null_now(struct brick_null *device);
BRICK_API void brick_null_advance(struct brick_null *device, uint64_t ns);

/* What really happened: on CLOCK_MONOTONIC, and as the device's clock shows it. */
struct brick_null_times {
	uint64_t begin_ns, end_ns;
	uint64_t device_begin_ns, device_end_ns;
};

/* Of the n-th kernel or begin/end pair. -ENOENT: not there (yet), or too long ago. */
BRICK_API int brick_null_kernel(
	struct brick_null *device, uint64_t n, struct brick_null_times *times);
BRICK_API int brick_null_pair(
	struct brick_null *device, uint64_t n, struct brick_null_times *times);

/* Pairs that were begun. */
BRICK_API uint64_t brick_null_pairs(struct brick_null *device);

BRICK_END_DECLS
