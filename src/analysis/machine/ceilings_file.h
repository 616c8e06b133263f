/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ceilings as JSON, schema brick/ceilings/1, and their files: one per host and CPU in
 * $XDG_CACHE_HOME/brick (~/.cache/brick). The schema is stored: keys stay, and a new one must be
 * optional for the reader. Files are not trusted. Any thread.
 */
#pragma once

#include <stddef.h>
#include "analysis/machine/ceilings.h"
#include "analysis/machine/machine_cpu.h"

/* The JSON text with a newline at the end; the caller frees it. NULL: no memory. */
char *ceilings_text(const struct ceilings *ceilings);

/* Why a file could not be read: a sentence without a newline. */
struct ceilings_error {
	size_t offset; /* in the file; 0: the whole file */
	char text[200];
};

/*
 * 0 and *out, which the caller destroys; or BRICK_EFORMAT, BRICK_EVERSION or -ENOMEM, and *error.
 */
int ceilings_parse(
	struct ceilings **out, const char *text, size_t bytes, struct ceilings_error *error);

/* As ceilings_parse(), from a file of at most 16 MiB; also -errno. */
int ceilings_read(struct ceilings **out, const char *path, struct ceilings_error *error);

/* Writes the whole file or nothing, and makes its directory. 0 or -errno. */
int ceilings_write(const struct ceilings *ceilings, const char *path);

/*
 * Path of the file for a host and CPU; the caller frees it. NULL: no home directory, or no memory.
 */
char *ceilings_cache_path(const char *host, const char *cpu);

/* Why stored ceilings do not hold on this machine, a constant text; NULL: they hold. */
const char *ceilings_stale(const struct ceilings *ceilings, const struct cpu_info *cpu);
