/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `brick record` with a table of attachers of its own, in place of src/record/inject/attachers.c:
 * what the entry of a new attacher looks like, tried without adding it to Brick. Its libraries are
 * in
 * ../lib.
 */
#include <stdarg.h>
#include <stdio.h>
#include "record/inject/attachers.h"
#include "record/recorder.h"

static const struct attacher_note toy_notes[] = {{"toy.version", "Toy"}, {0}};

static const struct attacher toy = {
	.name = "toy",
	.title = "Toy",
	.library = "libbrick-toy.so",
	.entry = ATTACHER_PRELOAD,
	.version_note = "toy.version",
	.notes = toy_notes,
};

const struct attacher *const attachers[] = {&toy, NULL};

static void __attribute__((format(printf, 1, 2))) warn(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
}

int main(int argc, char **argv)
{
	struct recorder_options options = {
		.off_cpu = 1,
		.output = argc > 1 ? argv[1] : "",
		.command = argv + 2,
		.interval_ms = 1000,
		.compress = 1,
		.inject = 1,
		.warn = warn,
	};
	struct recorder_result result;

	if (argc < 3)
		return fprintf(stderr, "usage: record FILE CMD [ARGS...]\n"), 2;
	recorder_run(&options, &result);
	fprintf(stderr, "%s", result.notes ? result.notes : "");
	recorder_result_fini(&result);
	return result.exit_code;
}
