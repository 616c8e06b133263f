/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows the progress of work that takes longer than two seconds, and the time left, on stderr if
 * that is a terminal. The line is erased at the end. Main thread; one progress at a time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct progress;

/*
 * done: called in another thread, returns the work that is done, in the units of `total`; NULL: not
 * known. total 0: not known. Returns NULL if stderr is no terminal.
 */
struct progress *progress_start(const char *what, uint64_t (*done)(void), uint64_t total);

/* NULL is legal. */
void progress_end(struct progress *progress);

/* "run.pftrace: 43%, 5 s left"; with total 0 "run.pftrace: 120MB so far"; with nothing done
 * "history: waiting for 5 s". */
void progress_text(char *text, size_t bytes, const char *what, uint64_t done, uint64_t total,
	uint64_t elapsed_ns);
