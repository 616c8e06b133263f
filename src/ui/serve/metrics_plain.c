/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OpenMetrics text as the text format 0.0.4 that came before it: a counter's family carries
 * _total, there are no infos, units and end. Called by `brick serve` for those who do not ask for
 * OpenMetrics.
 */
#include "ui/serve/serve.h"

#include <stdio.h>
#include <string.h>

#include "ui/text/die.h"
#include "ui/text/exit_code.h"

enum { NAME_BYTES = 128 };

/* What the family of the line before was named, and what to add to it. */
struct family {
	char name[NAME_BYTES];
	const char *suffix;
};

static void put_type(FILE *out, struct family *family, const char *name, const char *type)
{
	snprintf(family->name, sizeof(family->name), "%s", name);
	family->suffix = !strcmp(type, "counter") ? "_total" : !strcmp(type, "info") ? "_info" : "";
	fprintf(out, "# TYPE %s%s %s\n", name, family->suffix,
		!strcmp(type, "info") ? "gauge" : type);
}

static void put_line(FILE *out, struct family *family, const char *line, size_t length)
{
	char text[NAME_BYTES], name[NAME_BYTES], type[16];

	snprintf(text, sizeof(text), "%.*s", (int)length, line);
	if (sscanf(text, "# TYPE %127s %15s", name, type) == 2)
		put_type(out, family, name, type);
	else if (!strncmp(text, "# HELP ", 7) && sscanf(text + 7, "%127s", name) == 1)
		fprintf(out, "# HELP %s%s%.*s\n", name, family->suffix,
			(int)(length - 7 - strlen(name)), line + 7 + strlen(name));
	else if (strncmp(text, "# ", 2) != 0)
		fprintf(out, "%.*s\n", (int)length, line);
}

char *serve_metrics_plain(const char *metrics, size_t *bytes)
{
	struct family family = {.suffix = ""};
	char *text = NULL;
	FILE *out = open_memstream(&text, bytes);

	if (!out)
		die(CLI_SYSTEM, "out of memory");
	for (const char *line = metrics; *line;) {
		size_t length = strcspn(line, "\n");
		put_line(out, &family, line, length);
		line += length + (line[length] == '\n');
	}
	if (fclose(out) != 0)
		die(CLI_SYSTEM, "out of memory");
	return text;
}
