/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of `brick serve` share. Main thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "ui/page/page.h"
#include "trace/run.h"

/*
 * Where runs come from: a recording, which may still be written; that of a process; or, where a
 * process writes none, its session as it is now. Opening ends the program if there is no such
 * thing.
 */
struct serve_source;
struct serve_source *serve_source_open(const char *operand);

/* What is served, for people. */
const char *serve_source_name(const struct serve_source *source);

struct serve_reading {
	struct run *run; /* the caller's to destroy */
	bool live;	 /* there will be newer ones */
	char why[256];	 /* it could not be read */
};

/*
 * 1: there is something new, *reading holds it. 0: nothing new. Negative: it cannot be read, and
 * will not be tried again before it changes.
 */
int serve_source_read(struct serve_source *source, struct serve_reading *reading);
void serve_source_close(struct serve_source *source);

/* The numbers of a run as OpenMetrics text, but its end; the caller frees. */
char *serve_metrics(const struct page *page, bool live);

/* The whole of it, with what the server says of itself; the caller frees. */
char *serve_metrics_end(const char *metrics, uint64_t reads, uint64_t failures, size_t *bytes);

/* The same in Prometheus' text format 0.0.4; the caller frees. */
char *serve_metrics_plain(const char *metrics, size_t *bytes);

/*
 * The recording that a process, or what started it, is writing: its final name, for run_load(). The
 * caller frees. NULL: none of them has one open.
 */
char *serve_find(unsigned long pid);
