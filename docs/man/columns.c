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

/* "In rows by thread and queue." */
static void print_rows(const struct report_field *field, FILE *out)
{
	unsigned all = (1u << SUMMARY_BY_COUNT) - 1, rows = field->rows & all;
	bool most = __builtin_popcount(rows) > SUMMARY_BY_COUNT / 2; /* the others are fewer */
	const char *before = most ? "Not in rows by" : "In rows by";

	for (int by = 0; rows && by < SUMMARY_BY_COUNT; by++)
		if ((most ? ~rows : rows) >> by & 1) {
			fprintf(out, "%s %s", before, summary_by_name(by));
			before = most ? " or" : " and";
		}
	if (rows)
		fputs(".\n", out);
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

static void print_columns(FILE *out)
{
	for (size_t i = 0; i < report_field_count; i++) {
		const struct report_field *field = &report_fields[i];
		fprintf(out, ".It %s Pq %s\n", field->title, field->key);
		print_sentences(field->means, out);
		print_rows(field, out);
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
