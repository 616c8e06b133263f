/* SPDX-License-Identifier: Apache-2.0 */
/* The output of `brick ceilings`, and the way views get ceilings. Main thread. */
#pragma once

#include <stdio.h>
#include "analysis/roofline/roofline.h"

/* For people. where: the file that keeps them, or NULL. */
void ceilings_print(const struct ceilings *ceilings, const char *where, FILE *out);

/*
 * Returns the ceilings that are kept for that host and CPU; NULL: there are none. Says on stderr
 * which kept ones are damaged or stale. *where, if not NULL, gets the path, to be freed.
 */
struct ceilings *ceilings_kept(const char *host, const char *cpu, char **where);

/* Keeps rates that a run of that machine reached above them. Says on stderr if it cannot. */
void ceilings_learn(struct ceilings *kept, const char *where, const struct roofline *roofline);
