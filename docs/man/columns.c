/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies a manual page, and puts the list of a report's columns where it says so. Run by the build,
 * so that the manual and the program cannot differ.
 */
#include <stdio.h>
#include <string.h>

#include "ui/text/report_fields.h"

static const char mark[] = ".\\\" COLUMNS";

/* "Of rows by thread and queue." */
static void print_rows(const struct report_field *field, FILE *out)
{
	const char *before = "Of rows by";
	for (int by = 0; field->rows && by < SUMMARY_BY_COUNT; by++)
		if (field->rows >> by & 1) {
			fprintf(out, "%s %s", before, summary_by_name(by));
			before = " and";
		}
	if (field->rows)
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
	while (fgets(line, sizeof(line), in))
		if (!strncmp(line, mark, sizeof(mark) - 1))
			print_columns(out);
		else
			fputs(line, out);
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
