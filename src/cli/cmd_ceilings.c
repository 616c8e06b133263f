/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `brick ceilings`: the ceilings of this machine, measured now, or kept from a measurement on the
 * same CPU. The measurement itself is in src/analysis/machine/.
 */
#include "ui/text/ceilings_view.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "cli/command.h"
#include "cli/die.h"
#include "cli/options.h"
#include "analysis/machine/ceilings_file.h"
#include "analysis/machine/sweep.h"

struct options {
	bool json, force, quick;
	uint64_t begin_ns;
	unsigned long threads; /* 0: as many as there are CPUs */
	struct sweep_options sweep;
};

static const struct cli_option cmd_ceilings_option_table[] = {
	{"force", NULL, "measure again, and keep the best of all", option_flag, AT(force)},
	{"quick", NULL,
		"take 3 seconds instead of 12, 1 more for each device, with fewer repetitions and "
		"sizes",
		option_flag, AT(quick)},
	{"threads", "N", "on N threads at most (default: as many as there are CPUs)", option_number,
		AT(threads), .low = 1, .high = CPU_MAX},
	{"json", NULL, "as JSON (schema brick/ceilings/1)", option_flag, AT(json)},
	OPTION_HELP,
};

static void cmd_ceilings_show_progress(void *context, double share)
{
	const struct options *options = context;
	double seconds = (double)(monotonic_ns() - options->begin_ns) / 1e9;

	fprintf(stderr, "\rbrick: measuring ceilings: %3.0f%%", 100 * share);
	if (share > 0.05)
		fprintf(stderr, ", %.0f s left ", seconds * (1 - share) / share);
}

/* Rounds ceilings as the file does, so that they print the same as when they are read again. */
static struct ceilings *as_kept(struct ceilings *ceilings)
{
	struct ceilings_error error;
	struct ceilings *kept = NULL;
	SCOPED char *text = ceilings_text(ceilings);

	if (!text || ceilings_parse(&kept, text, strlen(text), &error))
		die(CLI_SYSTEM, "ceilings: %s", text ? error.text : "not enough memory");
	ceilings_destroy(ceilings);
	return kept;
}

/* Measures, and takes the best of former measurements, too. */
static struct ceilings *cmd_ceilings_measure(struct options *options, const struct ceilings *kept)
{
	struct ceilings *ceilings = NULL;
	bool shows = isatty(STDERR_FILENO);

	options->begin_ns = monotonic_ns();
	options->sweep.context = options;
	if (shows)
		options->sweep.progress = cmd_ceilings_show_progress;
	int rc = sweep_run(&ceilings, &options->sweep);
	if (shows)
		fputs("\r\033[K", stderr);
	if (!rc && kept && kept->usable_count)
		rc = ceilings_keep_best(ceilings, kept);
	if (rc)
		die(CLI_SYSTEM, "ceilings: %s",
			rc == -ENOMEM ? "not enough memory" : strerror(-rc));
	return as_kept(ceilings);
}

/* True if the kept ceilings were measured at least as carefully as is asked for now. */
static bool will_do(const struct ceilings *kept, const struct options *options)
{
	if (kept->quick && !options->sweep.quick)
		return false;
	if (!kept->devices || !kept->usable_count) /* from before anybody looked for these */
		return false;
	return options->sweep.threads <= kept->most_threads;
}

static int run_ceilings(int argc, char **argv)
{
	static struct cpu_info info;
	struct options options = {0};
	SCOPED char *path = NULL;

	options_parse(&command_ceilings, &options, argc, argv);
	options.sweep.quick = options.quick;
	options.sweep.threads = (unsigned)options.threads;
	if (optind < argc)
		die_usage("ceilings", "%s: takes no operand", argv[optind]);
	cpu_info_read(&info);
	struct ceilings *ceilings = ceilings_kept(info.host, info.model, &path);
	if (!ceilings || options.force || !will_do(ceilings, &options)) {
		SCOPED_TO(ceilings_destroy) struct ceilings *kept = ceilings;
		if (options.sweep.threads > 1 && options.sweep.threads > (unsigned)info.usable)
			die_usage("ceilings",
				"--threads %u: this program may use %u CPU%s, and threads that "
				"take turns on one measure nothing",
				options.sweep.threads, (unsigned)info.usable,
				plural_s((size_t)info.usable));
		ceilings = cmd_ceilings_measure(&options, kept);
		int rc = path ? ceilings_write(ceilings, path) : 0;
		if (rc)
			warn("%s: ceilings are not kept: %s", path, strerror(-rc));
	}
	if (options.json) {
		SCOPED char *text = ceilings_text(ceilings);
		if (!text)
			die(CLI_SYSTEM, "out of memory");
		fputs(text, stdout);
	} else {
		ceilings_print(ceilings, path, stdout);
	}
	ceilings_destroy(ceilings);
	return CLI_DONE;
}

const struct cli_command command_ceilings = {
	.name = "ceilings",
	.summary = "measure what this machine can do at most",
	.run = run_ceilings,
	.flags = CLI_ANSWERS,
	.usage = "[OPTIONS]",
	.about = "Measure what this machine can do at most: arithmetic by instruction set and "
		 "type, bandwidth of each cache and of memory, barriers; on one thread and on "
		 "more. Uses all CPUs for twelve seconds, longer on a busy machine, and says so. "
		 "It keeps the result, and shows it the next time.",
	.notes = "Other programs lower the results: stop them first.",
	.options = cmd_ceilings_option_table,
};
