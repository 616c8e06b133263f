/* SPDX-License-Identifier: Apache-2.0 */
/* Why a file of brick-record --slow was kept, and what was different there. Any thread. */
#pragma once

#include <jansson.h>
#include "trace/run.h"

/* Sentences, which the caller frees. NULL: the file is none of these, or no memory. */
char *exemplar_text(const struct run *run);

/*
 * [ { "why", "ns" (since the begin of the run), "step", ... } ]; "step" is null where the step or
 * its neighbours are not whole in the file. A new reference.
 */
json_t *exemplar_json(const struct run *run);
