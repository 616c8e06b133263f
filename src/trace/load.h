/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loading a recording into a run. Input is never trusted: any file gives a run or an error that
 * names the offset; a file cut off anywhere loads up to its last whole packet. Any thread, and
 * several at once.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include "trace/run.h"

/* The place and the reason of a failure; text is a sentence without a newline. */
struct load_error {
	uint64_t offset; /* in the file */
	char text[256];
};

/*
 * Loads the recording at `path`. 0, and *out, which the caller destroys (run_destroy()); or an
 * error and *error. -errno: it cannot be read. BRICK_EFORMAT: it is no trace, or none of Brick's.
 * BRICK_EVERSION: it is of a newer format. -ENOMEM. When PATH does not exist but PATH.part does
 * (its writer was killed or still runs), PATH.part is loaded, and run->path says so. Samples beyond
 * 64 MB go to a file without a name (src/trace/sample_store.h).
 */
int run_load(struct run **out, const char *path, struct load_error *error);

/*
 * As run_load(), but only the statistics: of all that was recorded before the file's end, also
 * where the file is the newest of several, and run_load() leaves statistics out.
 */
int run_load_totals(struct run **out, const char *path, struct load_error *error);

/* As run_load(), with `sample_bytes` in place of the 64 MB. */
int run_load_within(
	struct run **out, const char *path, size_t sample_bytes, struct load_error *error);

/* As run_load(), from memory (tests, fuzzing). `name` becomes run->path. */
int run_load_memory(struct run **out, const void *data, size_t bytes, const char *name,
	struct load_error *error);

/* Returns the bytes of files that this process has read by now; any thread, while others load. */
uint64_t run_load_read_bytes(void);
