/* SPDX-License-Identifier: Apache-2.0 */
/* The answer of `brick history plot`, and its forms. Main thread. */
#pragma once

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>
#include "analysis/compare/change_points.h"
#include "base/array.h"

struct trend_run {
	char *id, *engine, *labels;
	uint64_t start_ns;
};

/* Runs of one workload (src/analysis/history/history_workload.h) on one machine. */
struct trend_workload {
	char *workload, *host, *cpu;
	uint64_t runs;
};

struct trend {
	const char *what; /* "DownProjection, decode" */
	const struct trend_workload *workload, *left_out;
	size_t left_out_count;
	ARRAY(struct trend_run) runs;
	ARRAY(double) ns; /* a token; of each run */
	struct change_point *changes;
	size_t change_count;
};

/* The workload of an answer, and those that it left out. */
struct terminal;
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
