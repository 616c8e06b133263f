/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows on a terminal the progress of work that takes longer than two seconds, and the time left.
 * It shows nothing where stderr is no terminal, and nothing stays there. One at a time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct progress;

/*
 * done: returns how much is done, NULL: not known. Another thread calls it. total: 0 is not known.
 * Returns NULL if nobody is there to be told.
 */
struct progress *progress_start(const char *what, uint64_t (*done)(void), uint64_t total);

/* NULL is legal. */
void progress_end(struct progress *progress);

/* "run.pftrace: 43%, 5 s left"; with total 0 "run.pftrace: 120MB so far"; with neither "history:
 * waiting for 5 s". */
void progress_text(char *text, size_t bytes, const char *what, uint64_t done, uint64_t total,
	uint64_t elapsed_ns);
