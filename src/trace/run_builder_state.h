/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the run builder share. Nothing else includes this. */
#pragma once

#include "trace/build.h"
#include "lib/writer/trace_records.h"
#include "trace/run_builder.h"

/* A process's tables, and what of them is in the run: index + 1, 0: not yet. */
struct builder_process {
	uint32_t number;
	struct tables tables;
	uint32_t bricks[BRICK_MAX_BRICKS];
	uint32_t kernels[BRICK_MAX_KERNELS];
	uint32_t *sites; /* executed as their own brick */
	size_t site_capacity;
};

struct builder_lane {
	struct run_builder *builder;
	struct builder_process *process;
	struct build_lane *lane;
	struct records_lane records;
	uint64_t tid;
	char name[BRICK_NAME_BYTES]; /* of which some has been read */
};

struct run_builder {
	struct sink sink; /* first */
	struct build build;
	uint64_t bad_records;
	struct builder_process **processes; /* [build.run->process_count] */
	struct builder_lane **lanes;	    /* [build.run->lane_count] */
	size_t process_capacity, lane_capacity;
};

static inline struct run_builder *run_builder_of(struct sink *sink)
{
	return (struct run_builder *)sink;
}

/* A text of a fixed field replaces *to. */
void run_set_text(struct run_builder *b, char **to, const char *from, size_t bytes);
void run_set_ledger(struct brick_ledger *to, const struct brick_ledger *from);

/* run_facts.c: of the sink's table */
int run_on_code(struct sink *sink, const struct sink_code *code);
int run_on_off_cpu(struct sink *sink, int lane, const struct sink_off_cpu *intervals, size_t count);
int run_on_lane_stats(struct sink *sink, int lane, const struct brick_lane *state);
int run_on_histograms(
	struct sink *sink, int process, uint32_t brick_count, const uint64_t *const *histograms);
int run_on_notes(struct sink *sink, int process, const char *notes, size_t bytes);
int run_on_digest(struct sink *sink, int process, const struct brick_session_digest *digest);
int run_on_account(struct sink *sink, const struct sink_account *account);

/* run_records.c */
extern const struct records_target run_records;

/* run_names.c: the run's index of an entry of a process's tables; RUN_NONE: failed, too many */
uint32_t run_brick_of(struct run_builder *b, struct builder_process *process, uint32_t brick);
uint32_t run_kernel_of(struct run_builder *b, struct builder_process *process, uint32_t kernel);
/* executed as `brick` (of the process) */
uint32_t run_site_of(
	struct run_builder *b, struct builder_process *process, uint32_t site, uint32_t brick);
/* Text of a fixed field, copied; NULL: no memory. */
char *run_text_of(struct run_builder *b, const char *from, size_t bytes);
