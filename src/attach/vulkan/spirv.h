/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a SPIR-V module says of its entry points (SPIR-V specification 1.6, sections 2.3 physical
 * layout, 3.37 instructions). The module is the program's: nothing in it is trusted. Pure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct spirv_entry {
	uint32_t size[3]; /* of a work group; 0: not known (given by specialisation) */
	int found;
};

/* Look for the entry point of that name. words: of the module, count of them. */
void spirv_entry_find(
	struct spirv_entry *entry, const uint32_t *words, size_t count, const char *name);

/* FNV-1a 64 of the module's bytes. */
uint64_t spirv_hash(const uint32_t *words, size_t count);
