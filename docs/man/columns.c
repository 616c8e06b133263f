/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies a manual page, and writes the list of a report's columns anew between two marks. Run by
 * the build, so that the manual and the program cannot differ; integration/cli_manual holds the
 * page in the tree to it.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "ui/text/report_fields.h"

static const char mark[] = ".\\\" COLUMNS", end_mark[] = ".\\\" END OF COLUMNS";

/* Ends the list before, and begins that of the columns that only these rows have. */
static void print_rows(unsigned rows, FILE *out)
{
	unsigned all = (1u << SUMMARY_BY_COUNT) - 1;
	bool most =
		__builtin_popcount(rows & all) > SUMMARY_BY_COUNT / 2; /* the others are fewer */
	const char *before = most ? "All but rows by" : "Only rows by";

	fputs(".El\n.Pp\n", out);
	for (int by = 0; by < SUMMARY_BY_COUNT; by++)
		if ((most ? ~rows : rows) >> by & 1) {
			fprintf(out, "%s %s", before, summary_by_name(by));
			before = " and";
		}
	fputs(" have:\n.Bl -tag -width \"GB/s, GFLOP/s\"\n", out);
}

/* Each sentence on a line of its own, as mdoc wants it. */
static void print_sentences(const char *text, FILE *out)
{
	for (; *text; text++)
		if (!strncmp(text, ". ", 2)) {
			fputs(".\n", out);
			text++;
		} else {
			fputc(*text, out);
		}
	fputc('\n', out);
}

/* The columns of all rows, then the columns of some rows, by the rows that have them. */
static void print_columns(FILE *out)
{
	for (size_t first = 0; first < report_field_count; first++) {
		unsigned rows = report_fields[first].rows;
		size_t i = 0;
		while (report_fields[i].rows != rows)
			i++;
		if (i < first)
			continue; /* the list of these rows is done */
		if (rows)
			print_rows(rows, out);
		for (; i < report_field_count; i++)
			if (report_fields[i].rows == rows) {
				fprintf(out, ".It %s Pq %s\n", report_fields[i].title,
					report_fields[i].key);
				print_sentences(report_fields[i].means, out);
			}
	}
}

static void copy(FILE *in, FILE *out)
{
	char line[1024];
	bool is_old = false;

	while (fgets(line, sizeof(line), in)) {
		if (!strncmp(line, end_mark, sizeof(end_mark) - 1))
			is_old = false;
		if (!is_old)
			fputs(line, out);
		if (strncmp(line, mark, sizeof(mark) - 1) != 0)
			continue;
		print_columns(out);
		is_old = true;
	}
}

int main(int argc, char **argv)
{
	FILE *in = argc == 3 ? fopen(argv[1], "r") : NULL;
	FILE *out = in ? fopen(argv[2], "w") : NULL;
	if (!out) {
		perror(argc == 3 ? argv[in ? 2 : 1] : "columns IN OUT");
		return 1;
	}
	copy(in, out);
	int failed = ferror(in);
	fclose(in);
	return fclose(out) || failed;
}
