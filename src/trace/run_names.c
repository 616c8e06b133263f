/* SPDX-License-Identifier: Apache-2.0 */
/* Entries of a process's tables become the run's own, each when it is first used. */
#include <stdlib.h>
#include <string.h>
#include "lib/writer/format.h"
#include "trace/run_builder_state.h"

enum { MAX_FIELD = 256 }; /* more than any field of the tables has */

char *run_text_of(struct run_builder *b, const char *from, size_t bytes)
{
	size_t length = strnlen(from, bytes);
	char *text = malloc(length + 1);

	if (text)
		tables_text(text, length + 1, from, length);
	else
		build_no_memory(&b->build);
	return text;
}

uint32_t run_brick_of(struct run_builder *b, struct builder_process *process, uint32_t id)
{
	const struct brick_session_brick *entry = &process->tables.bricks[id];
	const struct brick_session_category *category = tables_category(&process->tables, id);
	char name[MAX_FIELD];

	if (!process->bricks[id]) {
		size_t size = tables_text(name, sizeof name, entry->name, sizeof entry->name);
		process->bricks[id] = build_brick(&b->build, name, size) + 1;
	}
	if (!process->bricks[id])
		return RUN_NONE;
	struct run_brick *brick = &b->build.run->bricks[process->bricks[id] - 1];
	if (brick->category == RUN_NONE && category) {
		size_t size = tables_text(name, sizeof name, category->name, sizeof category->name);
		brick->category = build_category(&b->build, name, size);
	}
	return process->bricks[id] - 1;
}

static uint32_t new_site(
	struct run_builder *b, const struct brick_session_site *entry, uint32_t brick)
{
	char operation[MAX_FIELD], label[MAX_FIELD];
	uint32_t known = entry->flags &
			 (BRICK_SITE_HAS_ELEMENTS | BRICK_SITE_HAS_BYTES | BRICK_SITE_HAS_FLOPS |
				 BRICK_SITE_UNKNOWN_OPERATION | BRICK_SITE_AT_MOST);
	struct run_site site = {.brick = brick, .layer = entry->layer, .flags = known};

	if (known & BRICK_SITE_HAS_ELEMENTS)
		site.elements = entry->elements;
	if (known & BRICK_SITE_HAS_BYTES)
		site.bytes = entry->bytes;
	if (known & BRICK_SITE_HAS_FLOPS)
		site.flops = entry->flops;
	if (tables_text(operation, sizeof operation, entry->operation, sizeof entry->operation))
		site.operation = operation;
	if (tables_text(label, sizeof label, entry->label, sizeof entry->label))
		site.label = label;
	return build_site(&b->build, &site);
}

static int grow_sites(struct run_builder *b, struct builder_process *process)
{
	size_t count = process->tables.site_count;
	uint32_t *sites = realloc(process->sites, count * sizeof *sites);

	if (!sites)
		return build_no_memory(&b->build);
	memset(sites + process->site_capacity, 0, (count - process->site_capacity) * sizeof *sites);
	process->sites = sites;
	process->site_capacity = count;
	return 0;
}

uint32_t run_site_of(
	struct run_builder *b, struct builder_process *process, uint32_t id, uint32_t brick)
{
	const struct brick_session_site *entry = &process->tables.sites[id];
	uint32_t index = run_brick_of(b, process, brick);

	if (index == RUN_NONE || (id >= process->site_capacity && grow_sites(b, process)))
		return RUN_NONE;
	if (entry->brick != brick)
		return new_site(b, entry, index);
	if (!process->sites[id])
		process->sites[id] = new_site(b, entry, index) + 1;
	return process->sites[id] - 1;
}

uint32_t run_kernel_of(struct run_builder *b, struct builder_process *process, uint32_t id)
{
	const struct brick_session_kernel *entry = &process->tables.kernels[id];
	char name[MAX_FIELD], backend[MAX_FIELD];
	struct run_kernel kernel = {.name = name,
		.kind = entry->kind < FORMAT_KERNEL_KIND_COUNT ? entry->kind : BRICK_KERNEL_OTHER,
		.registers = entry->registers,
		.shared_bytes = entry->shared_bytes,
		.code = entry->code};

	if (process->kernels[id])
		return process->kernels[id] - 1;
	tables_text(name, sizeof name, entry->name, sizeof entry->name);
	if (tables_text(backend, sizeof backend, entry->backend, sizeof entry->backend))
		kernel.backend = backend;
	if (entry->grid[0])
		memcpy(kernel.grid, entry->grid, sizeof kernel.grid);
	if (entry->block[0])
		memcpy(kernel.block, entry->block, sizeof kernel.block);
	process->kernels[id] = build_kernel(&b->build, &kernel) + 1;
	return process->kernels[id] - 1;
}
