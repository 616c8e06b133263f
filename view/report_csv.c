/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A report's rows as CSV (RFC 4180): the names of JSON's fields, times in ns, nothing where
 * unknown, and a last row with what is in none of the others. Called by `brick report --csv`.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/unknown.h"
#include "view/csv.h"
#include "view/input.h"
#include "view/die.h"
#include "view/report.h"

static void print_row(const struct report *report, const struct summary_row *row, FILE *out)
{
	char *sources = report_sources(report, row->sources);
	csv_text(out, row->name);
	csv_text(out, row->category);
	csv_text(out, report_backend(report, row));
	csv_text(out, sources);
	const uint64_t times[] = {row->count, row->total_ns, row->self_ns, row->wait_ns};
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		csv_number(out, times[i]);
	csv_ratio(out, row->share);
	const uint64_t others[] = {row->avg_ns, row->min_ns, row->p50_ns, row->p95_ns, row->p99_ns,
		row->max_ns, row->elements, row->bytes, row->flops};
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		csv_number(out, others[i]);
	csv_number(out, row->device_count);
	csv_number(out, row->device_ns);
	csv_end(out);
	free(sources);
}

static void print_unattributed(const struct summary *summary, FILE *out)
{
	if (!summary->wall_ns || summary->by >= SUMMARY_BY_KERNEL)
		return;
	csv_text(out, "unattributed");
	for (int i = 0; i < 5; i++)
		csv_text(out, NULL);
	csv_number(out, summary->unattributed_ns);
	csv_text(out, NULL);
	csv_ratio(out, 1 - summary->coverage);
	for (int i = 0; i < 11; i++)
		csv_text(out, NULL);
	csv_end(out);
}

void report_csv(const struct report *report, FILE *out)
{
	static const char *const titles[] = {"name", "category", "backend", "source", "count",
		"total_ns", "self_ns", "wait_ns", "share", "avg_ns", "min_ns", "p50_ns", "p95_ns",
		"p99_ns", "max_ns", "elements", "bytes", "flops", "device_count", "device_ns"};
	for (size_t i = 0; i < sizeof(titles) / sizeof(titles[0]); i++)
		csv_text(out, titles[i]);
	csv_end(out);
	for (size_t i = 0; i < report->shown; i++)
		print_row(report, &report->summary->rows[i], out);
	if (report->shown == report->summary->row_count)
		print_unattributed(report->summary, out);
	/* There is no place for losses in the rows, but none is kept silent. */
	input_tell_losses(report->run, &report->losses);
}
