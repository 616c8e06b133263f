/* SPDX-License-Identifier: Apache-2.0 */
/* The recordings of a job's ranks, as operands name them. Main thread. */
#pragma once

#include "base/array.h"

struct job_files {
	ARRAY(char *) paths; /* in order */
};

/*
 * Takes all recordings that the operands name: files, directories (their *.pftrace) and patterns.
 * Ends the program where an operand names none, or two the same.
 */
void job_files_take(struct job_files *files, char *const *operands, size_t count);
void job_files_fini(struct job_files *files);

/* True if an operand can name several recordings: a directory, or a pattern that is no file. */
bool job_files_is_several(const char *operand);
