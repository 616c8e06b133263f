/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The backend's device: a pool of pairs of events, and those that are in flight. Everything is
 * under its lock; nothing is created after open.
 */
#pragma once

#include <pthread.h>
#include "lib/backends/cuda/cuda_driver.h"
#include "brick/abi/backend.h"

struct cuda_pair {
	struct cuda_pair *next;
	uint64_t ticket; /* 0: only shows that its queue has come so far */
	void *queue;
	void *begin, *end;	     /* events */
	void *begin_node, *end_node; /* in a graph, for a captured pair */
	int is_captured;	     /* a graph records into its events */
};

/* Pairs in the order in which they were added. */
struct cuda_pairs {
	struct cuda_pair *first, **last;
};

struct brick_backend_device {
	pthread_mutex_t lock;
	struct cuda_driver driver;
	struct brick_backend_host host;
	void *context;
	void *stream; /* our own, for reading the clock */
	void *anchor; /* event */
	int64_t anchor_ns;
	int may_capture;
	/* of `brick record`, or NULL */
	void (*exclude)(void *context, void *stream, void *owner);
	void (*include)(void *owner);
	struct cuda_pair *storage;
	uint32_t pair_count;
	struct cuda_pair *free;
	struct cuda_pair *open;	     /* begun; the newest first */
	struct cuda_pairs in_flight; /* ended */
	struct cuda_pairs captured;  /* ended, in a graph that nobody has taken yet */
};

void cuda_pairs_init(struct cuda_pairs *pairs);
void cuda_pairs_add(struct cuda_pairs *pairs, struct cuda_pair *pair);

/* A pair of events from the pool, or NULL. */
struct cuda_pair *cuda_pair_take(struct brick_backend_device *device);
void cuda_pair_give(struct brick_backend_device *device, struct cuda_pair *pair);

/* What runs in this stream is told here, and not by `brick record`, too; until close. */
void cuda_take_over(struct brick_backend_device *device, void *stream);

/* Calls of ours on this thread must not disturb a capture that goes on elsewhere. */
struct cuda_scope {
	int mode;
	int has_mode, has_context;
};
void cuda_scope_enter(struct brick_backend_device *device, struct cuda_scope *scope);
void cuda_scope_leave(struct brick_backend_device *device, const struct cuda_scope *scope);

/* For the table. */
int cuda_probe(char *reason, size_t bytes);
int cuda_open(struct brick_backend_device **out, const struct brick_backend_host *host,
	const struct brick_backend_options *options);
void cuda_close(struct brick_backend_device *device);
