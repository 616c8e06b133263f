/* SPDX-License-Identifier: Apache-2.0 */
/* The file of a recording: FILE, or FILE.part while it is being written. Any thread. */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>
#include "trace/load.h"

/* Why run_load() failed with rc, in words; the caller frees. */
char *recording_fault(int rc, const struct load_error *error);

/*
 * Finds the file by its name, or else with ".part" (*is_part is true then). False: neither exists.
 */
bool recording_stat(const char *path, struct stat *st, bool *is_part);

/* True if somebody is writing the file, under either name, or if that cannot be known. */
bool recording_is_written(const char *path);

/* True if the file was replaced or written to between two recording_stat(). */
bool recording_changed(const struct stat *before, const struct stat *now);
