/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of `brick record` (record.h). Faulty values end it here, before CMD runs. */
#include "cli/record.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "brick/counters.h"
#include "brick/error.h"
#include "brick/session.h"
#include "cli/command.h"
#include "rules/rules.h"
#include "view/die.h"

enum { DEFAULT_INTERVAL_MS = 1000, MAX_INTERVAL_MS = 60000, MAX_RING_RECORDS = 1 << 26 };

enum {
	OPTION_MODE = 256,
	OPTION_RING,
	OPTION_INTERVAL,
	OPTION_RULES,
	OPTION_ATTACH,
	OPTION_GRAPH,
	OPTION_TILES,
	OPTION_DIGEST,
	OPTION_COUNTERS,
	OPTION_OFF_CPU,
	OPTION_PLAIN,
	OPTION_KEEP_GOING,
	OPTION_WAIT
};

static const struct option long_options[] = {
	{"output", required_argument, NULL, 'o'},
	{"mode", required_argument, NULL, OPTION_MODE},
	{"ring", required_argument, NULL, OPTION_RING},
	{"interval", required_argument, NULL, OPTION_INTERVAL},
	{"rules", required_argument, NULL, OPTION_RULES},
	{"attach", required_argument, NULL, OPTION_ATTACH},
	{"graph", no_argument, NULL, OPTION_GRAPH},
	{"tiles", optional_argument, NULL, OPTION_TILES},
	{"digest", optional_argument, NULL, OPTION_DIGEST},
	{"counters", optional_argument, NULL, OPTION_COUNTERS},
	{"off-cpu", required_argument, NULL, OPTION_OFF_CPU},
	{"no-compress", no_argument, NULL, OPTION_PLAIN},
	{"keep-going", no_argument, NULL, OPTION_KEEP_GOING},
	{"wait", no_argument, NULL, OPTION_WAIT},
	{"quiet", no_argument, NULL, 'q'},
	{"help", no_argument, NULL, 'h'},
	{NULL, 0, NULL, 0},
};

static void add_variable(struct record_arguments *a, const char *name, const char *value)
{
	if (environment_add(&a->options.environment, "%s=%s", name, value))
		die(CLI_SYSTEM, "record: %s", strerror(ENOMEM));
}

static unsigned long number(
	const char *option, const char *text, unsigned long low, unsigned long high)
{
	uint64_t value;

	if (number_u64(text, low, high, &value))
		die_usage("record", "record: %s %s: must be a number from %lu to %lu", option, text,
			low, high);
	return (unsigned long)value;
}

static void set_mode(struct record_arguments *a, const char *name)
{
	static const char *const names[] = {
		[BRICK_MODE_DEFERRED] = "deferred",
		[BRICK_MODE_PER_LAYER] = "per-layer",
		[BRICK_MODE_IMMEDIATE] = "immediate",
		[BRICK_MODE_NONE] = "none",
	};
	char value[12];

	for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
		if (!strcmp(name, names[i])) {
			snprintf(value, sizeof value, "%u", i);
			a->off = i == BRICK_MODE_NONE;
			add_variable(a, "BRICK_MODE", value);
			return;
		}
	die_usage("record", "record: --mode %s: must be deferred, per-layer, immediate or none",
		name);
}

/*
 * Faulty rules are told now, not in the middle of somebody's run. Children may run in another
 * directory: the path must be whole.
 */
static void set_rules(struct record_arguments *a, const char *path)
{
	char whole[PATH_MAX];
	struct rules *rules;
	struct rules_error fault;
	int error = rules_load(&rules, path, &fault);

	if (error == BRICK_EFORMAT)
		die_usage("record", "record: %s:%u: %s", path, fault.line, fault.text);
	if (error || !realpath(path, whole))
		die_usage("record", "record: %s: %s", path,
			error ? brick_strerror(error) : strerror(errno));
	rules_destroy(rules);
	add_variable(a, "BRICK_RULES", whole);
}

static void set_ring(struct record_arguments *a, const char *text)
{
	char value[12];

	snprintf(value, sizeof value, "%lu", number("--ring", text, 1, MAX_RING_RECORDS));
	add_variable(a, "BRICK_RING_RECORDS", value);
}

static void set_method(struct record_arguments *a, const char *method)
{
	for (const struct attacher *const *at = attachers; *at; at++)
		for (const char *const *own = (*at)->methods; own && *own; own++)
			if (!strcmp(method, *own)) {
				add_variable(a, "BRICK_ATTACH", method);
				return;
			}
	char known[256] = "";
	for (const struct attacher *const *at = attachers; *at; at++)
		for (const char *const *own = (*at)->methods; own && *own; own++) {
			size_t used = strlen(known);
			snprintf(known + used, sizeof known - used, "%s, ", *own);
		}
	die_usage("record", "record: --attach %s: must be auto, %sor none", method, known);
}

static void set_attach(struct record_arguments *a, const char *what)
{
	if (!strcmp(what, "none"))
		a->options.inject = 0;
	else if (strcmp(what, "auto"))
		set_method(a, what);
}

static void set_tiles(struct record_arguments *a, const char *levels)
{
	static const char *const names[] = {"macro", "midi", "micro"};

	for (const char *at = levels; *at; at += strcspn(at, ",") + (at[strcspn(at, ",")] == ',')) {
		size_t n = strcspn(at, ","), i = 0;
		while (i < 3 && (strlen(names[i]) != n || strncmp(at, names[i], n)))
			i++;
		if (i == 3)
			die_usage("record",
				"record: --tiles=%s: must be macro, midi, micro or some "
				"of them with commas between",
				levels);
	}
	a->tiles = 1;
	add_variable(a, "BRICK_TILES", levels);
}

static void set_capture(struct record_arguments *a)
{
	char list[48];

	if (!a->graph && !a->digest)
		return;
	snprintf(list, sizeof list, "%s%s", a->graph ? "graph," : "",
		a->digest > 1 ? "digest,digest-all,"
		: a->digest   ? "digest,"
			      : "");
	list[strlen(list) - 1] = '\0';
	add_variable(a, "BRICK_CAPTURE", list);
}

static void set_off_cpu(struct record_arguments *a, const char *when)
{
	a->options.off_cpu = !strcmp(when, "on");
	if (!a->options.off_cpu && strcmp(when, "off"))
		die_usage("record", "record: --off-cpu %s: must be on or off", when);
}

static void set_option(struct record_arguments *a, int option)
{
	switch (option) {
	case 'o':
		a->options.output = optarg;
		break;
	case 'q':
		a->quiet = 1;
		break;
	case OPTION_MODE:
		set_mode(a, optarg);
		break;
	case OPTION_RING:
		set_ring(a, optarg);
		break;
	case OPTION_INTERVAL:
		a->options.interval_ms = (uint32_t)number("--interval", optarg, 1, MAX_INTERVAL_MS);
		break;
	case OPTION_RULES:
		set_rules(a, optarg);
		break;
	case OPTION_ATTACH:
		set_attach(a, optarg);
		break;
	case OPTION_GRAPH:
		a->graph = 1;
		break;
	case OPTION_TILES:
		set_tiles(a, optarg ? optarg : "macro,midi");
		break;
	case OPTION_COUNTERS:
		if (brick_counters_parse(optarg ? optarg : "all") < 0)
			die_usage("record",
				"record: --counters=%s: must be all, software, hardware, or names "
				"of counters with commas between",
				optarg);
		add_variable(a, "BRICK_COUNTERS", optarg ? optarg : "all");
		break;
	case OPTION_DIGEST:
		if (optarg && strcmp(optarg, "all"))
			die_usage("record", "record: --digest=%s: must be all, or nothing", optarg);
		a->digest = optarg ? 2 : 1;
		break;
	case OPTION_OFF_CPU:
		set_off_cpu(a, optarg);
		break;
	case OPTION_PLAIN:
		a->options.compress = 0;
		break;
	case OPTION_KEEP_GOING:
		a->options.keep_going = 1;
		break;
	case OPTION_WAIT:
		a->options.wait = 1;
		break;
	}
}

static void bad_option(int argc, char **argv, int option)
{
	const char *word = optind > 0 && optind <= argc ? argv[optind - 1] : "?";

	if (option == ':')
		die_usage("record", "record: %s: needs a value", word);
	if (optopt > 0 && optopt < 256)
		die_usage("record", "record: -%c: no such option", optopt);
	die_usage("record", "record: %s: no such option", word);
}

int record_parse(struct record_arguments *a, int argc, char **argv)
{
	int option;

	*a = (struct record_arguments){.options = {
					       .output = "run.pftrace",
					       .interval_ms = DEFAULT_INTERVAL_MS,
					       .compress = 1,
					       .inject = 1,
					       .off_cpu = 1,
					       .warn = warn,
				       }};
	opterr = 0;
	while ((option = getopt_long(argc, argv, "+:o:qh", long_options, NULL)) >= 0) {
		if (option == '?' || option == ':')
			bad_option(argc, argv, option);
		if (option == 'h')
			return 0;
		set_option(a, option);
	}
	if (optind >= argc)
		die_usage("record", "record: which command?");
	if (!*a->options.output)
		die_usage("record", "record: --output: the name is empty");
	set_capture(a);
	a->options.command = argv + optind;
	return 1;
}

void record_arguments_fini(struct record_arguments *a)
{
	environment_fini(&a->options.environment);
}
