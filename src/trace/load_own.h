/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events of the run's own: what it says of itself, of processes and lanes. Those that return
 * something return 0 for an event that could not be used.
 */
#pragma once

#include "lib/writer/format.h"
#include "trace/load_annotation.h"
#include "trace/load_state.h"

/* load_run.c: any of them */
int load_own_event(struct load *l, struct pb_reader event);

/* What several kinds have. A text replaces *to; what is not there changes nothing. */
void load_text_of(struct load *l, struct pb_reader event, const char *name, char **to);
void load_ledger(struct pb_reader event, struct brick_ledger *ledger);
/* The process that an event is about; NULL when there is none of that number. */
struct build_process *load_process(struct load *l, struct pb_reader event, uint64_t *number);

/* load_statistics.c */
int load_statistics(struct load *l, struct pb_reader event);
int load_histogram(struct load *l, struct pb_reader event);

/* load_digest.c */
int load_digest(struct load *l, struct pb_reader event);
