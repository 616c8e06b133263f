/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names the kernels of graphs' replays by the trace of the graphs' capture. One call launches all
 * kernels of a replay, so only the capture tells which operator, module and layer made each. One
 * thread at a time.
 */
#pragma once

#include "import/import.h"

struct import_capture_counts {
	uint64_t captures; /* that the traces have */
	uint64_t replays;  /* in `imported` */
	uint64_t named;	   /* replays that have a capture */
};

/*
 * Reads the capture traces at `path`, a file or a folder of *.json and *.json.gz, and gives their
 * names to the commands of `imported`, which has been read and not been written. A replay belongs
 * to the first capture with the same kernels in the same order that none before it took; when all
 * are taken, they begin again. Captures that tell no kernels' names belong to replays of as many
 * kernels. 0, or *error and a negative code, as import_read().
 */
int import_capture(struct imported *imported, const char *path,
	struct import_capture_counts *counts, struct import_error *error);
