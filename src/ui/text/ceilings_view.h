/* SPDX-License-Identifier: Apache-2.0 */
/* The output of `brick ceilings`; the ceilings that are kept for a machine. Main thread. */
#pragma once

#include <stdio.h>
#include "analysis/roofline/roofline.h"

/* Prints ceilings for people. where: the file that keeps them, or NULL. */
void ceilings_print(const struct ceilings *ceilings, const char *where, FILE *out);

/*
 * Returns the ceilings that are kept for that host and CPU; NULL: there are none. The caller
 * destroys them. Says on stderr if they are damaged or stale. `where` may be NULL; *where gets the
 * path, which the caller frees.
 */
struct ceilings *ceilings_kept(const char *host, const char *cpu, char **where);

/* Raises kept ceilings to rates that a run of that machine reached. Says on stderr if it cannot. */
/* learned: 1 if `kept` has learned more already, 0 if not, or an error of that. */
void ceilings_learn(
	struct ceilings *kept, const char *where, const struct roofline *roofline, int learned);
