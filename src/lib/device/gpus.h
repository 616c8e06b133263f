/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The GPUs of the process, as their drivers describe them. A queue knows on which GPU it is; each
 * session in which the queue has a lane gets notes about that GPU. "gpu.NUMBER" is its backend;
 * "gpu.NUMBER.name", ".vendor", ".model", ".architecture", ".pci" and ".uuid" are from its driver.
 * Any thread.
 */
#pragma once

#include <stdint.h>
#include "brick/export.h"

struct brick_session;

/* What a driver tells of a GPU; each member may be NULL or "": not told. */
struct gpu_facts {
	const char *name, *vendor, *model, *architecture;
	const char *pci;     /* domain:bus:device.function */
	const uint8_t *uuid; /* 16 bytes */
};

/*
 * Describes the GPU that a backend knows by `id`, which is unique in that backend. The first
 * description of a GPU counts. Takes the session lock.
 */
BRICK_API void brick__gpu_describe(const char *backend, uint64_t id, const struct gpu_facts *facts);

/*
 * Returns the number, from 1 on, of the GPU that a backend knows by `id`; 0: there is no room for
 * more GPUs. Takes the session lock.
 */
uint32_t brick__gpu_number(const char *backend, uint64_t id);

/*
 * Under the session lock: adds the notes about a GPU to a session that has none of them yet.
 * number: brick_queue_gpu(); 0 does nothing.
 */
void brick__gpu_note(struct brick_session *session, uint32_t number);
