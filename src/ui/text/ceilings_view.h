/* SPDX-License-Identifier: Apache-2.0 */
/* What `brick ceilings` says, and how views come by ceilings. Main thread. */
#pragma once

#include <stdio.h>
#include "analysis/roofline/roofline.h"

/* For people. where: the file that keeps them, or NULL. */
void ceilings_print(const struct ceilings *ceilings, const char *where, FILE *out);

/*
 * Those kept for that host and CPU: NULL when there are none. What is kept but damaged or stale is
 * told on stderr. *where, if not NULL, gets the path, to be freed.
 */
struct ceilings *ceilings_kept(const char *host, const char *cpu, char **where);

/* Keep what a run of that machine has reached above them. Tells on stderr if that cannot be. */
void ceilings_learn(struct ceilings *kept, const char *where, const struct roofline *roofline);
