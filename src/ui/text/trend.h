/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The answer of `brick history plot`: the time of a part of a token over the runs of one workload.
 * And its forms. Main thread.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>
#include "analysis/compare/change_points.h"
#include "base/array.h"

struct trend_run {
	char *id, *engine;
	char *labels;	   /* with commas between */
	uint64_t start_ns; /* Unix time */
};

/* Runs of one workload (src/analysis/history/history_workload.h) on one machine. */
struct trend_workload {
	char *workload, *host, *cpu;
	uint64_t runs;
};

struct trend {
	const char *what;		       /* "DownProjection, decode" */
	const struct trend_workload *workload; /* of these runs */
	const struct trend_workload *left_out; /* [left_out_count] */
	size_t left_out_count;
	ARRAY(struct trend_run) runs; /* oldest first */
	ARRAY(double) ns;	      /* of each run, a token */
	struct change_point *changes;
	size_t change_count;
};

struct terminal;

/* Print the workload of an answer (`of`), and the workloads that it left out. */
void trend_workloads_text(const struct terminal *terminal, const struct trend_workload *of,
	const struct trend_workload *left_out, size_t count);
void trend_workloads_json(json_t *json, const struct trend_workload *of,
	const struct trend_workload *left_out, size_t count);

void trend_text(const struct trend *trend, FILE *out);
void trend_json(const struct trend *trend, FILE *out);
void trend_svg(const struct trend *trend, FILE *out);

/* A page with the picture, and the changes and runs as tables. */
void trend_page(const struct trend *trend, FILE *out);

/* "2026-11-22 08:51"; the caller frees. */
char *trend_date(uint64_t start_ns);
