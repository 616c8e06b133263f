/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The origin of a recording, in words. The caller frees all results but that of
 * provenance_steps(). Any thread.
 */
#pragma once

#include "trace/run.h"

/* The recorded command with quotes where the shell needs them; NULL when it is not known. */
char *provenance_command(const struct run *run);

/* The start as RFC 3339 in UTC, to the ns; NULL when it is not known. */
char *provenance_start(const struct run *run);

/*
 * The different values of the notes with that key, in the order of the run, and NULL at the end.
 * The values are the run's. NULL: no memory.
 */
const char **provenance_notes(const struct run *run, const char *key);

/* "llama.cpp", or the name that the program gives itself; NULL: neither is known. */
char *provenance_provider(const struct run *run);

/* "llama.cpp (ggml 0.9.4)", or the name that the program gives itself. */
char *provenance_engine(const struct run *run);

/*
 * How steps were found in a file that names none: "detected, because ...", or "the file has none:
 * all of it is one step". NULL: the file names them. The run owns the text.
 */
const char *provenance_steps(const struct run *run);
