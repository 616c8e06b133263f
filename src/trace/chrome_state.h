/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the Chrome export share. Nothing outside of chrome*.c includes this. */
#pragma once

#include <stdio.h>
#include "trace/owners.h"

struct site_text {
	char *head; /* {"ph":"X","name":...,"cat":... */
	char *args; /* without braces; may be empty */
};

struct chrome {
	const struct run *run;
	FILE *out;
	struct site_text *sites;
	struct owners owners;
	size_t command;	       /* the next one, in the order of samples */
	const char *separator; /* before the next event */
};

/* The separator before the next event. */
void chrome_next(struct chrome *c);
/* Its time: us since the run's start. */
void chrome_time(const struct chrome *c, uint64_t ns);
/* Its pid and tid: that of the lane's owner at that time. */
void chrome_place(const struct chrome *c, uint32_t lane, uint64_t ns);

/* chrome_owner.c */
int chrome_owners(struct chrome *c);

/* chrome_flow.c: all arrows of the run */
void chrome_flows(struct chrome *c);
