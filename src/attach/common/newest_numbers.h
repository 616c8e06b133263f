/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers of commands by two handles: the one launched last into a stream of a context, the one
 * that a value of a semaphore stands for. A key has one of a few places side by side; when these
 * are taken, the oldest command of theirs makes room and is not known any more. Any thread.
 */
#pragma once

#include <pthread.h>
#include <stdint.h>
#include "lib/probe/waits.h"

struct newest_number {
	uint64_t of, part, number; /* number 0: not known */
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

/* number 0: it is not known any more. */
void newest_numbers_set(struct newest_numbers *n, uint64_t of, uint64_t part, uint64_t number);

/* 0: not known. */
uint64_t newest_numbers_get(struct newest_numbers *n, uint64_t of, uint64_t part);

/* Forgets an object, or all of its parts: the next one may have the same handle. */
void newest_numbers_forget(struct newest_numbers *n, uint64_t of, uint64_t part);
void newest_numbers_forget_all(struct newest_numbers *n, uint64_t of);

/* Adds the numbers of all of its parts. */
void newest_numbers_waits(struct newest_numbers *n, uint64_t of, struct brick__waits *waits);
