/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cache from what a record says to the registered kernel . CUPTI gives all records of
 * a function the same name, at the same address; its text is compared all the same, since a module
 * may be gone and another be there.
 */
#include "attach/cuda/cuda_kernels.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "attach/cuda/modules.h"
#include "base/demangle.h"
#include "base/hash.h"
#include "brick/abi/session.h"
#include "brick/queue.h"

/* The session's table of kernels is shared: when so many are ours, further grids have no rows. */
enum { PLACES = 4096, NAME_BYTES = 64, MAX_KERNELS = BRICK_MAX_KERNELS / 2 };

struct entry {
	const char *address;
	uint64_t code;
	int32_t grid[3], block[3];
	int32_t static_shared, dynamic_shared;
	uint32_t registers, index; /* index 0: the table is full */
	int is_used;
	uint32_t generation;	/* of modules, in which `code` was right */
	char begin[NAME_BYTES]; /* of the name */
};

static struct entry cache[PLACES];
static uint32_t newest_index; /* how full the table is: indices count up */

/* Apart from their code. */
static int cuda_kernels_same(const struct entry *known, const struct entry *e, const char *name)
{
	return known->address == e->address && !memcmp(known->grid, e->grid, sizeof(e->grid)) &&
	       !memcmp(known->block, e->block, sizeof(e->block)) &&
	       known->static_shared == e->static_shared &&
	       known->dynamic_shared == e->dynamic_shared && known->registers == e->registers &&
	       !strncmp(known->begin, name, NAME_BYTES - 1);
}

static uint64_t not_negative(int32_t value)
{
	return value > 0 ? (uint64_t)value : 0;
}

static uint32_t cuda_kernels_add(const struct entry *e, const char *name)
{
	char *readable = demangle(name);
	struct brick_kernel kernel = {
		.size = sizeof(struct brick_kernel),
		.name = readable ? readable : name,
		.backend = "cuda",
		.kind = BRICK_KERNEL_COMPUTE,
		.registers = e->registers,
		.shared_bytes = not_negative(e->static_shared) + not_negative(e->dynamic_shared),
		.code = e->code,
		.dynamic_shared = (uint32_t)not_negative(e->dynamic_shared) + 1,
	};

	for (int i = 0; i < 3; i++) {
		kernel.grid[i] = (uint32_t)not_negative(e->grid[i]);
		kernel.block[i] = (uint32_t)not_negative(e->block[i]);
	}
	if (newest_index >= MAX_KERNELS)
		kernel = (struct brick_kernel){.size = sizeof(kernel),
			.name = kernel.name,
			.backend = "cuda",
			.kind = kernel.kind};
	uint32_t index = brick_kernel_register(&kernel);
	newest_index = index > newest_index ? index : newest_index;
	free(readable);
	return index;
}

uint32_t kernels_of(const struct cupti_kernel *record)
{
	const char *name = record->name ? record->name : "unnamed kernel";
	struct entry e = {
		.address = record->name,
		.static_shared = record->static_shared,
		.dynamic_shared = record->dynamic_shared,
		.registers = record->registers,
	};
	uint64_t hash = hash_add(hash_pointer(e.address), e.registers);

	for (int i = 0; i < 3; i++) {
		e.grid[i] = record->grid[i];
		e.block[i] = record->block[i];
		hash = hash_add(hash_add(hash, (uint32_t)e.grid[i]), (uint32_t)e.block[i]);
	}
	struct entry *known = &cache[hash_add(hash, (uint32_t)e.dynamic_shared) % PLACES];
	bool is_same = known->is_used && cuda_kernels_same(known, &e, name);

	e.generation = modules_generation();
	if (is_same && known->generation == e.generation)
		return known->index;
	e.code = modules_code(name);
	if (is_same && known->code == e.code) {
		known->generation = e.generation;
		return known->index;
	}
	snprintf(e.begin, sizeof(e.begin), "%s", name);
	e.index = cuda_kernels_add(&e, name);
	e.is_used = 1;
	*known = e;
	return known->index;
}

static uint32_t transfer(uint32_t kind, const char *name)
{
	static uint32_t known[BRICK_KERNEL_OTHER + 1];
	struct brick_kernel kernel = {
		.size = sizeof(struct brick_kernel), .name = name, .backend = "cuda", .kind = kind};

	if (!known[kind])
		known[kind] = brick_kernel_register(&kernel);
	return known[kind];
}

uint32_t kernels_copy(uint8_t copy)
{
	switch (copy) {
	case CUPTI_COPY_HTOD:
	case CUPTI_COPY_HTOA:
		return transfer(BRICK_KERNEL_H2D, "copy host to device");
	case CUPTI_COPY_DTOH:
	case CUPTI_COPY_ATOH:
		return transfer(BRICK_KERNEL_D2H, "copy device to host");
	case CUPTI_COPY_HTOH:
		return transfer(BRICK_KERNEL_OTHER, "copy host to host");
	default:
		return transfer(BRICK_KERNEL_D2D, "copy device to device");
	}
}

uint32_t kernels_graph(uint32_t id)
{
	static uint32_t known_id, known_index;
	char name[32] = "graph";
	struct brick_kernel kernel = {.size = sizeof(kernel),
		.name = name,
		.backend = "cuda",
		.kind = BRICK_KERNEL_COMPUTE};

	if (known_index && known_id == id)
		return known_index;
	if (newest_index < MAX_KERNELS)
		snprintf(name, sizeof(name), "graph %u", id);
	known_id = id;
	known_index = brick_kernel_register(&kernel);
	newest_index = known_index > newest_index ? known_index : newest_index;
	return known_index;
}

uint32_t kernels_fill(void)
{
	return transfer(BRICK_KERNEL_FILL, "fill");
}
