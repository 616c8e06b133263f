/* SPDX-License-Identifier: Apache-2.0 */
/* The file of a recording, while it is written and later. Any thread. */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>
#include "trace/load.h"

/* Why run_load() failed with rc; the caller frees. */
char *recording_fault(int rc, const struct load_error *error);

/*
 * Finds the file by its name, or by the name that it has while it is being written (*is_part).
 * False: neither exists.
 */
bool recording_stat(const char *path, struct stat *st, bool *is_part);

/* True if somebody is writing the file, under either name, or if that cannot be known. */
bool recording_is_written(const char *path);

/* True if the file was replaced, or written to since. */
bool recording_changed(const struct stat *before, const struct stat *now);
