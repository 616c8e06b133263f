/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table of command numbers by two handles: the last command in a stream of a context, or the
 * command behind a value of a semaphore. A key has a few possible places side by side; if these are
 * taken, a new key replaces the key with the lowest number, which is then unknown. Any thread.
 */
#pragma once

#include <pthread.h>
#include <stdint.h>
#include "lib/probe/waits.h"

struct newest_number {
	uint64_t of, part; /* the key: context and stream, or semaphore and value */
	uint64_t number;   /* 0: a free place */
};

struct newest_numbers {
	pthread_mutex_t lock;
	struct newest_number *places;
	uint32_t count; /* a power of two */
};

#define NEWEST_NUMBERS(array)                                       \
	{                                                           \
		.lock = PTHREAD_MUTEX_INITIALIZER, .places = array, \
		.count = sizeof(array) / sizeof(*array)             \
	}

/* Set the number of a key; 0: forget it. */
void newest_numbers_set(struct newest_numbers *n, uint64_t of, uint64_t part, uint64_t number);

/* The number of a key; 0: not known. */
uint64_t newest_numbers_get(struct newest_numbers *n, uint64_t of, uint64_t part);

/* Forget a key, or all keys of an object: a new object may get the same handle. */
void newest_numbers_forget(struct newest_numbers *n, uint64_t of, uint64_t part);
void newest_numbers_forget_all(struct newest_numbers *n, uint64_t of);

/* Add the numbers of all keys of an object to `waits`. */
void newest_numbers_waits(struct newest_numbers *n, uint64_t of, struct brick__waits *waits);
