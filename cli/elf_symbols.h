/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a shared object exports and which of its calls can be interposed, read from its file. The
 * file is untrusted: every offset and size is checked. Read-only once open: any thread.
 */
#pragma once

struct elf_symbols;

/*
 * -errno; BRICK_EFORMAT: no ELF file, or one that is damaged; BRICK_EUNSUPPORTED: not 64-bit
 * little-endian; BRICK_ENOTRECORDED: it has no dynamic symbols (linked statically).
 */
int elf_symbols_open(struct elf_symbols **out, const char *path);

/* Whether it exports a definition of the symbol. */
int elf_symbols_defines(const struct elf_symbols *symbols, const char *name);

/* Whether it reaches the symbol through the dynamic linker, so that a preloaded one comes first. */
int elf_symbols_refers(const struct elf_symbols *symbols, const char *name);

/* NULL is legal. */
void elf_symbols_close(struct elf_symbols *symbols);
