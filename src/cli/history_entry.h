/* SPDX-License-Identifier: Apache-2.0 */
/* A recording as a history keeps it. Ends the program when there is no memory. Main thread. */
#pragma once

#include "analysis/history/history_run.h"
#include "trace/run.h"

/* path: where the recording is, whatever it was loaded by; NULL: it will not be kept. */
void history_entry_init(struct history_run *entry, const struct run *run, const char *path);

/* Of this machine, now, without anything in it: for what is no recording. */
void history_entry_here(struct history_run *entry, const char *kind, const char *command);

/* history_text_set() that ends the program; makes valid UTF-8 of it. */
void history_entry_text(char **text, const char *value);
