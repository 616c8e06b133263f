/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The GPUs of the process, as their drivers describe them. A queue says on which one it is. Each
 * session in which it has a lane hears what that GPU is, in notes: "gpu.NUMBER" is its backend, and
 * "gpu.NUMBER.name", ".vendor", ".model", ".architecture", ".pci" and ".uuid" are what its driver
 * told. Any thread.
 */
#pragma once

#include <stdint.h>
#include "brick/export.h"

struct brick_session;

/* NULL or "": not told. */
struct gpu_facts {
	const char *name, *vendor, *model, *architecture;
	const char *pci;     /* domain:bus:device.function */
	const uint8_t *uuid; /* 16 bytes */
};

/* Tells of the GPU that a backend knows by `id`, which nothing else of it has. The first counts. */
BRICK_API void brick__gpu_describe(const char *backend, uint64_t id, const struct gpu_facts *facts);

/* The number, from 1 on, of the GPU that a backend knows by `id`; 0: no room for more. */
uint32_t brick__gpu_number(const char *backend, uint64_t id);

/* The session hears of a GPU, if it has not yet. number: brick_queue_gpu(). Under its lock. */
void brick__gpu_note(struct brick_session *session, uint32_t number);
