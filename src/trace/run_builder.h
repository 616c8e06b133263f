/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run from records: a sink (src/lib/writer/sink.h) whose product is a run, the same that a
 * recording of the records would load as. One thread at a time.
 */
#pragma once

#include "trace/run.h"
#include "lib/writer/writer.h"

struct run_builder;

/* Uses all options but compress and output. 0 or -ENOMEM; *out is untouched then. */
int run_builder_create(struct run_builder **out, const struct trace_writer_options *options);

/* The sink of the builder, until that is finished or abandoned. */
struct sink *run_builder_sink(struct run_builder *builder);

/* The run of all that was handed in; frees the builder. On error there is no run. */
int run_builder_finish(struct run_builder *builder, struct run **out);

/* Give up: free the builder. NULL is legal. */
void run_builder_abandon(struct run_builder *builder);
