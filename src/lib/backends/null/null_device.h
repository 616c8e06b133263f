/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A simulated asynchronous device, behind the backend "null". It is the reference for how a backend
 * behaves; tests and benches measure against it, since it tells what really happened. It has queues
 * that run one command after the other, a clock of its own with offset, rate and drift, and losses
 * and failures on demand. Nothing runs: the begin and end of a command are computed when it is
 * submitted, against CLOCK_MONOTONIC or against a clock that only the test moves. Any thread.
 *
 * Give the device to brick_device_open() as options.native[0]; queues are brick_null_queue(n).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include "brick/export.h"

BRICK_BEGIN_DECLS

enum {
	BRICK_NULL_QUEUES = 16,
	BRICK_NULL_HISTORY = 65536, /* the newest kernels, and pairs, whose times are kept */
};

struct brick_null;

struct brick_null_config {
	size_t size;
	uint64_t offset_ns;	/* what the device's clock shows at first */
	int64_t rate_ppb;	/* how much faster it runs than the host's, in 10^-9 */
	int64_t drift_ppb_s;	/* how much that rate grows each second, in 10^-9 */
	uint32_t resolution_ns; /* of its timestamps; 0: 1 ns */
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

/* Makes a device. config may be NULL. 0. -EINVAL: config has another size. -ENOMEM. */
BRICK_API int brick_null_create(struct brick_null **out, const struct brick_null_config *config);

/* Frees a device. Close the brick_devices that were opened on it before. NULL is legal. */
BRICK_API void brick_null_destroy(struct brick_null *device);

/* Handle of queue 0 to BRICK_NULL_QUEUES - 1; that of queue 0 is NULL. */
static inline void *brick_null_queue(uint32_t n)
{
	return (void *)(uintptr_t)n;
}

/*
 * Submits a kernel that takes `ns` on the host's clock; returns its number, counted from 0.
 * -EINVAL: no such queue.
 */
BRICK_API int64_t brick_null_submit(struct brick_null *device, void *queue, uint64_t ns);

/* Returns the host time as the device sees it; with config.manual advance() moves it by `ns`. */
BRICK_API uint64_t brick_null_now(struct brick_null *device);
BRICK_API void brick_null_advance(struct brick_null *device, uint64_t ns);

/* What really happened: on CLOCK_MONOTONIC, and as the device's clock shows it. */
struct brick_null_times {
	uint64_t begin_ns, end_ns;
	uint64_t device_begin_ns, device_end_ns;
};

/*
 * Get the times of the n-th kernel, or of the n-th begin/end pair, counted from 0. 0. -ENOENT: it
 * is not there (yet), or too old (BRICK_NULL_HISTORY).
 */
BRICK_API int brick_null_kernel(
	struct brick_null *device, uint64_t n, struct brick_null_times *times);
BRICK_API int brick_null_pair(
	struct brick_null *device, uint64_t n, struct brick_null_times *times);

/* Returns how many begin/end pairs were begun. */
BRICK_API uint64_t brick_null_pairs(struct brick_null *device);

BRICK_END_DECLS
