/* SPDX-License-Identifier: Apache-2.0 */
/*
 * brick record: parses the command line, has record/ run the program, says on stderr what came of
 * it. Returns the program's own exit code; stdout is the program's alone.
 */
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rules/rules.h"
#include "brick/counters.h"
#include "brick/error.h"
#include "brick/session.h"
#include "cli/command.h"
#include "view/die.h"
#include "view/text.h"
#include "view/units.h"
#include "record/recorder.h"

enum { DEFAULT_INTERVAL_MS = 1000, MOST_INTERVAL_MS = 60000, MOST_RING_RECORDS = 1 << 26 };

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
	OPTION_PLAIN,
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
	{"no-compress", no_argument, NULL, OPTION_PLAIN},
	{"wait", no_argument, NULL, OPTION_WAIT},
	{"quiet", no_argument, NULL, 'q'},
	{"help", no_argument, NULL, 'h'},
	{NULL, 0, NULL, 0},
};

static void print_help(void)
{
	fputs("Usage: brick record [OPTIONS] [--] CMD [ARGS...]\n"
	      "\n"
	      "Run CMD, record it and its children, and return its exit code (128 + signal when a\n"
	      "signal ended it, 127 when there is no such command). What uses ggml, OpenCL, "
	      "Vulkan\n"
	      "or CUDA through shared libraries is attached to; programs with libbrick inside\n"
	      "record themselves.\n"
	      "\n"
	      "Options:\n"
	      "  -o, --output FILE   the recording; overwritten (default: run.pftrace)\n"
	      "      --mode MODE     when to synchronise with devices: deferred (default),\n"
	      "                      per-layer, immediate; none records nothing\n"
	      "      --attach WHAT   auto (default); none: only programs with libbrick inside;\n"
	      "                      for ggml also: nodes, callback, graph (see the manual)\n"
	      "      --rules FILE    map operations to bricks by these rules\n"
	      "      --graph         also record the execution graph\n"
	      "      --tiles[=WHICH] also record tiles: macro,midi (default), micro\n"
	      "      --digest[=all]  also record digests of results: of bricks, or of all nodes\n"
	      "      --counters[=LIST]  also count per step: cycles, page faults, ...\n"
	      "      --ring N        records that a thread can be ahead by (default: 262144)\n"
	      "      --interval MS   drain at least this often (default: 1000)\n"
	      "      --no-compress   write plain packets\n"
	      "      --wait          wait for all recorded processes, not only for CMD\n"
	      "  -q, --quiet         no summary\n"
	      "  -h, --help          show this and exit\n"
	      "\n"
	      "Then: brick report FILE\n",
		stdout);
}

/* ---- the command line ---- */

struct arguments {
	struct recorder_options options;
	int quiet;
	int graph, tiles, digest;
	int off; /* --mode none */
};

static void add_variable(struct arguments *a, const char *name, const char *value)
{
	if (spawn_environment_add(&a->options.environment, "%s=%s", name, value))
		die(CLI_SYSTEM, "record: %s", strerror(ENOMEM));
}

static unsigned long number(
	const char *option, const char *text, unsigned long least, unsigned long most)
{
	char *end;

	errno = 0;
	unsigned long value = strtoul(text, &end, 10);
	if (!isdigit((unsigned char)*text) || *end || errno || value < least || value > most)
		die_usage("record", "record: %s %s: must be a number from %lu to %lu", option, text,
			least, most);
	return value;
}

static void set_mode(struct arguments *a, const char *name)
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
static void set_rules(struct arguments *a, const char *path)
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

static void set_ring(struct arguments *a, const char *text)
{
	char value[12];

	snprintf(value, sizeof value, "%lu", number("--ring", text, 1, MOST_RING_RECORDS));
	add_variable(a, "BRICK_RING_RECORDS", value);
}

static void set_attach(struct arguments *a, const char *what)
{
	if (!strcmp(what, "none"))
		a->options.inject = 0;
	else if (!strcmp(what, "nodes") || !strcmp(what, "callback") || !strcmp(what, "graph"))
		add_variable(a, "BRICK_ATTACH", what);
	else if (strcmp(what, "auto"))
		die_usage("record",
			"record: --attach %s: must be auto, nodes, callback, graph or none", what);
}

static void set_tiles(struct arguments *a, const char *levels)
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

static void set_capture(struct arguments *a)
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

static void set_option(struct arguments *a, int option)
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
		a->options.interval_ms =
			(uint32_t)number("--interval", optarg, 1, MOST_INTERVAL_MS);
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
	case OPTION_PLAIN:
		a->options.compress = 0;
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

/* Returns 0 when help was asked for. */
static int parse(struct arguments *a, int argc, char **argv)
{
	int option;

	*a = (struct arguments){.options = {
					.output = "run.pftrace",
					.interval_ms = DEFAULT_INTERVAL_MS,
					.compress = 1,
					.inject = 1,
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

/* ---- the summary ---- */

static const char *plural(uint64_t count, const char *one, const char *many)
{
	return count == 1 ? one : many;
}

static void print_totals(const struct recorder_result *r)
{
	char samples[UNITS_BYTES], steps[UNITS_BYTES], wall[UNITS_BYTES];

	fprintf(stderr, "brick: %s %s in %s %s; %u %s, %llu %s; %s\n",
		units_count(samples, r->samples), plural(r->samples, "sample", "samples"),
		units_count(steps, r->steps), plural(r->steps, "step", "steps"), r->processes,
		plural(r->processes, "process", "processes"), (unsigned long long)r->threads,
		plural(r->threads, "thread", "threads"), units_time(wall, r->wall_ns));
}

/* The different values of a note, joined; 0 when there is none. */
static int join_notes(const char *notes, const char *key, char *out, size_t bytes)
{
	size_t n = strlen(key), used = 0;

	out[0] = '\0';
	for (const char *at = notes; at && *at;) {
		size_t line = strcspn(at, "\n");
		char value[256];
		if (line > n && !strncmp(at, key, n) && at[n] == '=') {
			snprintf(value, sizeof value, "%.*s", (int)(line - n - 1), at + n + 1);
			if (!strstr(out, value) && used < bytes)
				used += (size_t)snprintf(
					out + used, bytes - used, "%s%s", used ? "; " : "", value);
		}
		at += line + (at[line] == '\n');
	}
	return used > 0;
}

/* What was attached says so itself, in notes. */
static int print_attached(const char *notes)
{
	char method[512], engine[512];

	if (!join_notes(notes, "attach", method, sizeof method))
		return 0;
	if (join_notes(notes, "ggml.version", engine, sizeof engine))
		warn("attached to ggml %s: %s", engine, method);
	else
		warn("attached: %s", method);
	return 1;
}

static void print_nothing(const struct arguments *a, const struct recorder_result *r)
{
	const char *why = inject_obstacle_text(r->obstacle);

	if (a->off)
		warn("nothing was recorded: --mode none switches recording off");
	else if (*why)
		warn("nothing was attached: %s", why);
	else if (a->options.inject)
		warn("nothing was attached: %s uses no ggml, OpenCL, Vulkan or CUDA through shared "
		     "libraries",
			a->options.command[0]);
	else
		warn("nothing was recorded: %s has no libbrick inside, and --attach none adds none",
			a->options.command[0]);
}

static void print_losses(const struct recorder_result *r)
{
	char count[UNITS_BYTES];

	if (r->dropped)
		fprintf(stderr,
			"brick: %s %s dropped (statistics are exact without them; "
			"--ring takes more)\n",
			units_count(count, r->dropped), plural(r->dropped, "record", "records"));
	if (r->lost)
		warn("%u %s could not be read in full: %s", r->lost,
			plural(r->lost, "process", "processes"), r->trouble);
	if (r->dead)
		fprintf(stderr,
			"brick: %u %s died without ending the recording; what was recorded "
			"until then is there\n",
			r->dead, plural(r->dead, "process", "processes"));
	if (r->outlived)
		fprintf(stderr,
			"brick: %u %s still running; recorded until now (--wait waits for "
			"them)\n",
			r->outlived, plural(r->outlived, "process is", "processes are"));
}

static void print_missing_captures(const struct arguments *a, const struct recorder_result *r)
{
	static const char *const names[] = {"graph", "tiles", "digest"};
	const int wanted[] = {a->graph, a->tiles, a->digest};

	for (unsigned i = 0; i < 3; i++) {
		char key[32], value[64];
		snprintf(key, sizeof key, "capture.%s", names[i]);
		if (wanted[i] && !join_notes(r->notes, key, value, sizeof value))
			fprintf(stderr, "brick: --%s: nothing in this run could record it\n",
				names[i]);
	}
}

static void print_summary(const struct arguments *a, const struct recorder_result *r)
{
	char bytes[UNITS_BYTES];

	if (!r->recorded)
		return;
	print_totals(r);
	if (!print_attached(r->notes) && !r->samples)
		print_nothing(a, r);
	print_missing_captures(a, r);
	print_losses(r);
	warn("%s: %s; to see it: brick report %s", a->options.output, units_bytes(bytes, r->bytes),
		a->options.output);
}

static int run(int argc, char **argv)
{
	struct arguments arguments;
	struct recorder_result result;

	if (!parse(&arguments, argc, argv)) {
		print_help();
		return CLI_DONE;
	}
	recorder_run(&arguments.options, &result);
	if (!arguments.quiet)
		print_summary(&arguments, &result);
	recorder_result_fini(&result);
	spawn_environment_fini(&arguments.options.environment);
	return result.exit_code;
}

const struct cli_command command_record = {
	.name = "record",
	.summary = "run a program and record it",
	.run = run,
};
