/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The GPUs of a trace, for Perfetto's `gpu` table, from the notes of the processes that use them
 * (lib/device/gpus.h). A GPU that several processes or backends use is listed once, if their
 * drivers tell that it is the same one. One thread at a time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include "base/array.h"
#include "lib/writer/packets.h"

/* The texts of Perfetto's packet about a GPU: X(the field's number, the note's and member's name).
 */
#define GPU_TEXTS(X)                      \
	X(GPU_NAME, name)                 \
	X(GPU_VENDOR, vendor)             \
	X(GPU_MODEL, model)               \
	X(GPU_ARCHITECTURE, architecture) \
	X(GPU_PCI, pci)

/* As one process knows it. */
struct gpu_entry {
	uint32_t process; /* number in the trace */
	uint32_t number;  /* the process's own: brick_queue_gpu(); 0: the GPU is not known */
	uint32_t index;	  /* in the trace; GPU_UNUSED: nothing has run on it yet */
	char backend[16];
	char uuid[33]; /* hexadecimal */
#define X(field, text) char text[192];
	GPU_TEXTS(X)
#undef X
};
#define GPU_UNUSED UINT32_MAX

struct gpu_list {
	ARRAY(struct gpu_entry) entries;
	uint32_t used; /* indexes that were given out: 0 to used - 1 */
};

void gpu_list_fini(struct gpu_list *list);

/* Takes the lines "gpu.NUMBER...=VALUE" from all notes of a process. 0, or the packets' error. */
int gpu_list_notes(struct gpu_list *list, struct packets *packets, uint32_t process,
	const char *notes, size_t bytes);

/*
 * Returns the index in the trace of a process's GPU on which something runs now. At the first call
 * for a GPU the list is written to the trace.
 */
uint32_t gpu_list_use(
	struct gpu_list *list, struct packets *packets, uint32_t process, uint32_t number);

/* Returns the name of the GPU's architecture, as its compiler has it; "": not known. */
const char *gpu_list_architecture(const struct gpu_list *list, uint32_t index);
