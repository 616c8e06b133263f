/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The GPUs of a trace, for Perfetto's `gpu` table: from what processes note of theirs
 * (lib/device/gpus.h). One that several processes or backends use is there once, if their drivers
 * tell that it is the same. One thread at a time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include "base/array.h"
#include "lib/writer/packets.h"

/* What a packet of Perfetto's says of a GPU: X(field's number, name of the note). */
#define GPU_TEXTS(X)                      \
	X(GPU_NAME, name)                 \
	X(GPU_VENDOR, vendor)             \
	X(GPU_MODEL, model)               \
	X(GPU_ARCHITECTURE, architecture) \
	X(GPU_PCI, pci)

/* As one process knows it. */
struct gpu_entry {
	uint32_t process, number; /* its own, brick_queue_gpu(); 0: the GPU is not known */
	uint32_t index;		  /* in the trace; GPU_UNUSED: nothing has run on it yet */
	char backend[16];
	char uuid[33]; /* hexadecimal */
#define X(field, text) char text[192];
	GPU_TEXTS(X)
#undef X
};
#define GPU_UNUSED UINT32_MAX

struct gpu_list {
	ARRAY(struct gpu_entry) entries;
	uint32_t used; /* indexes so far */
};

void gpu_list_fini(struct gpu_list *list);

/* A process's notes, whole: lines "gpu.NUMBER...=VALUE" count. 0, or the error of the packets. */
int gpu_list_notes(struct gpu_list *list, struct packets *packets, uint32_t process,
	const char *notes, size_t bytes);

/* Where something runs now: its index in the trace, which then says what is known of it. */
uint32_t gpu_list_use(
	struct gpu_list *list, struct packets *packets, uint32_t process, uint32_t number);

/* What the GPU's compiler calls what it runs; "": not known. */
const char *gpu_list_architecture(const struct gpu_list *list, uint32_t index);
