/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ceilings as JSON, schema brick/ceilings/1, and where they are kept: one file per host and CPU in
 * $XDG_CACHE_HOME/brick (~/.cache/brick). Files are not trusted. Any thread.
 */
#pragma once

#include <stddef.h>
#include "analysis/machine/ceilings.h"
#include "analysis/machine/machine_cpu.h"

/* Text with a newline at the end, the caller frees; NULL: no memory. */
char *ceilings_text(const struct ceilings *ceilings);

/* Why a file could not be read: a sentence without a newline. */
struct ceilings_error {
	size_t offset; /* in the file, 0: concerns all of it */
	char text[200];
};

/* BRICK_EFORMAT, BRICK_EVERSION, -ENOMEM. */
int ceilings_parse(
	struct ceilings **out, const char *text, size_t bytes, struct ceilings_error *error);

/* The same from a file of at most 16 MiB; -errno as well. */
int ceilings_read(struct ceilings **out, const char *path, struct ceilings_error *error);

/* Whole or not at all; makes the directory. -errno. */
int ceilings_write(const struct ceilings *ceilings, const char *path);

/* Path of the cache for a host and CPU, the caller frees; NULL: there is no home to keep it in. */
char *ceilings_cache_path(const char *host, const char *cpu);

/* Why kept ceilings no longer hold on this machine, a constant; NULL: they do. */
const char *ceilings_stale(const struct ceilings *ceilings, const struct cpu_info *cpu);
