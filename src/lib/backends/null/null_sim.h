/* SPDX-License-Identifier: Apache-2.0 */
/* The simulated device, for the backend on it. Everything is under its lock. */
#pragma once

#include <pthread.h>
#include "lib/backends/null/null_device.h"

struct brick_null {
	pthread_mutex_t lock;
	struct brick_null_config config;
	uint64_t start_ns;  /* CLOCK_MONOTONIC when it was made */
	uint64_t manual_ns; /* its time, when that is moved by hand */
	uint64_t free_at[BRICK_NULL_QUEUES];
	uint32_t used; /* bit per queue */
	uint64_t kernel_count, pair_count, ended_count;
	struct brick_null_times *kernels, *pairs; /* [BRICK_NULL_HISTORY]; end 0: not ended */
};

uint64_t sim_now(const struct brick_null *sim);

/* The device's clock at a time of the host. */
uint64_t sim_device_ns(const struct brick_null *sim, uint64_t host_ns);

/* When a command that is submitted now begins, with everything before it in the queue done. */
uint64_t sim_reach(struct brick_null *sim, uint32_t queue);

/* Wait (or move the time) until then. Takes the lock itself. */
void sim_wait(struct brick_null *sim, uint64_t until_ns);

/* Number of a queue's handle, or -EINVAL. */
int sim_queue(const void *handle);
