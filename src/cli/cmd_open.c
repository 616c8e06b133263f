/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `brick open`: a recording in the browser: as the page of `brick report --html`, or in Perfetto's
 * own page, which gets it from here once (open_once.c).
 */
#include <errno.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "cli/open_once.h"
#include "cli/selection_options.h"
#include "ui/page/page_json.h"
#include "cli/die.h"
#include "cli/input.h"
#include "ui/text/report_view.h"

struct options {
	struct selection selection;
	bool perfetto;
};

static const struct cli_option option_table[] = {
	{"perfetto", NULL,
		"in https://ui.perfetto.dev; the recording goes from this machine to the browser "
		"on it, and nowhere else",
		option_flag, AT(perfetto)},
	SELECTION_OPTIONS(offsetof(struct options, selection)),
	OPTION_HELP,
};

/* $BROWSER, else what the desktop takes. Says where it is if nothing can show it. */
static void show(const char *url)
{
	extern char **environ;
	const char *browser = getenv("BROWSER");
	char *argv[] = {(char *)(browser && *browser ? browser : "xdg-open"), (char *)url, NULL};
	int status;
	pid_t pid;
	printf("%s\n", url);
	fflush(stdout);
	int error = posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ);
	if (error)
		warn("%s: %s; open it yourself, or set BROWSER", argv[0], strerror(error));
	else if (waitpid(pid, &status, 0) == pid && status)
		warn("%s could not show it; open it yourself, or set BROWSER", argv[0]);
}

static void open_page(const struct options *options, const char *path)
{
	const char *base = getenv("TMPDIR");
	if (!page_available())
		die(CLI_SYSTEM, "open: %s", page_missing());
	struct run *run = input_load(path);
	selection_narrow(&options->selection, run);
	SCOPED char *directory =
		xasprintf("%s/brick-open-XXXXXX", base && *base == '/' ? base : "/tmp");
	if (!mkdtemp(directory))
		die(CLI_SYSTEM, "%s: %s", directory, strerror(errno));
	SCOPED char *page = xasprintf("%s/brick.html", directory);
	report_html(run, page);
	run_destroy(run);
	SCOPED char *url = xasprintf("file://%s", page);
	show(url);
}

static void open_perfetto(const char *path)
{
	struct open_once *once;
	int error = open_once_start(&once, path);
	if (error == -EADDRINUSE)
		die(CLI_SYSTEM, "open: port %d, from which Perfetto takes recordings, is taken",
			OPEN_ONCE_PORT);
	if (error < 0)
		die(CLI_INPUT, "%s: %s", path, strerror(-error));
	SCOPED char *url = xasprintf(
		"https://ui.perfetto.dev/#!/?url=http://127.0.0.1:%d/recording", OPEN_ONCE_PORT);
	show(url);
	error = open_once_serve(once);
	if (error < 0)
		die(CLI_SYSTEM, "open: the browser did not take the recording: %s",
			strerror(-error));
}

static int run_open(int argc, char **argv)
{
	struct options options = {.selection = SELECTION_INIT};
	options_parse(&command_open, &options, argc, argv);
	const char *path = input_operand(argc, argv);
	if (!options.perfetto)
		open_page(&options, path);
	else if (options.selection.brick || options.selection.thread ||
		 options.selection.layer != SELECTION_ALL_LAYERS ||
		 selection_has_steps(&options.selection))
		die_usage("open", "--perfetto: shows all of the recording");
	else
		open_perfetto(path);
	return CLI_DONE;
}

const struct cli_command command_open = {
	.name = "open",
	.summary = "show a recording in the browser",
	.run = run_open,
	.usage = "[OPTIONS] [FILE]",
	.about = "Show a recording in the browser: as the page of 'brick report --html', which "
		 "stays in a temporary directory, or in Perfetto. The browser is $BROWSER, else "
		 "what xdg-open takes.",
	.flags = CLI_READS,
	.options = option_table,
};
