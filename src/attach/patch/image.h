/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file of a program or library, read by libelf: its sections, the functions that its symbol
 * tables or its debug file name, and whether calls of these go through the dynamic linker.
 * Addresses are the file's own. The file is untrusted. Read-only once open: any thread. Pointers
 * are valid until image_close().
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "base/array.h"
#include "base/hash_index.h"
#include "attach/patch/debug_file.h"

struct image_function {
	const char *name;
	uint64_t address, bytes;
	uint8_t is_exported; /* 1: a preloaded definition can replace it */
	uint8_t is_reached;  /* 1: this object refers to it through the dynamic linker */
};

/* A section that is mapped when the program runs. */
struct image_part {
	const char *name;
	uint64_t address, bytes;
	const uint8_t *data;
	bool is_code;
};

struct image {
	struct Elf *elf;
	int fd;
	struct Elf *debug; /* its debug file; NULL: none was needed, or found */
	int debug_fd;
	bool has_symbols;			/* it or its debug file has a .symtab */
	bool has_dynamic;			/* it has a .dynsym */
	char build_id[DEBUG_FILE_ID_BYTES];	/* in hexadecimal; "": none */
	ARRAY(struct image_part) parts;		/* by address */
	ARRAY(struct image_function) functions; /* by address, then by name */
	ARRAY(uint64_t) pointers;		/* addresses that relocations write into data */
	ARRAY(const char *) imports;		/* symbols that other objects must define */
	struct hash_index names;		/* of `functions` */
};

/*
 * -errno; BRICK_EFORMAT: no ELF file, or a damaged one; BRICK_EUNSUPPORTED: of another kind of CPU,
 * or not 64-bit. On success image_close() it.
 */
int image_open(struct image *image, const char *path);
void image_close(struct image *image);

/*
 * The function of that name, or what a link-time optimiser made of it (NAME.lto_priv.0). NULL:
 * there is none, or several, which differ, and then *ambiguous is set, where it is not NULL.
 */
const struct image_function *image_find(
	const struct image *image, const char *name, int *ambiguous);

/*
 * Bytes of the name that a function has in its source: a link-time optimiser calls a function that
 * it makes local NAME.lto_priv.NUMBER.
 */
size_t image_name_length(const char *name);

/* True if a function of that name is_exported; is_reached. */
bool image_exports(const struct image *image, const char *name);
bool image_reaches(const struct image *image, const char *name);

/* The function that an address lies in, or NULL. */
const struct image_function *image_function_at(const struct image *image, uint64_t address);

/* The part that holds all of these bytes, or NULL. */
const struct image_part *image_part_at(const struct image *image, uint64_t address, uint64_t bytes);

/* True if all of these bytes will be mapped to be executed, whatever sections say. */
bool image_is_executed(const struct image *image, uint64_t address, uint64_t bytes);

/* The bytes at `address`; *available: how many there are up to the part's end. NULL: in no part. */
const uint8_t *image_bytes(const struct image *image, uint64_t address, uint64_t *available);
