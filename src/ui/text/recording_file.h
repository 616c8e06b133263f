/* SPDX-License-Identifier: Apache-2.0 */
/* The file of a recording, while it is written and later. Any thread. */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>
#include "trace/load.h"

/* Why run_load() failed with rc; the caller frees. */
char *recording_fault(int rc, const struct load_error *error);

/* By its name, or the one that it has while it is written (*is_part). False: there is neither. */
bool recording_stat(const char *path, struct stat *st, bool *is_part);

/* Whether somebody is writing it, by the same names; also where that cannot be known. */
bool recording_is_written(const char *path);

/* Whether a file is another than it was, or was written to since. */
bool recording_changed(const struct stat *before, const struct stat *now);
