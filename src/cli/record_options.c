/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of `brick record` (record.h). Faulty values end it here, before CMD runs. */
#include "cli/cmd_record.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "brick/counters.h"
#include "brick/error.h"
#include "brick/session.h"
#include "cli/options.h"
#include "attach/rules/rules.h"
#include "cli/die.h"

enum { DEFAULT_INTERVAL_MS = 1000, MAX_INTERVAL_MS = 60000, MAX_RING_RECORDS = 1 << 26 };

static void add_variable(struct record_arguments *a, const char *name, const char *value)
{
	if (environment_add(&a->options.environment, "%s=%s", name, value))
		die(CLI_SYSTEM, "record: %s", strerror(ENOMEM));
}

static const char *const mode_names[] = {
	[BRICK_MODE_DEFERRED] = "deferred",
	[BRICK_MODE_PER_LAYER] = "per-layer",
	[BRICK_MODE_IMMEDIATE] = "immediate",
	[BRICK_MODE_NONE] = "none",
};

void words_record_mode(struct option_words *words)
{
	words_add_all(words, mode_names, sizeof(mode_names) / sizeof(mode_names[0]));
}

static void set_mode(const struct option_use *use, const char *text)
{
	struct record_arguments *a = use->to;
	int mode = option_choice(use, text);
	char value[12];

	snprintf(value, sizeof value, "%d", mode);
	a->off = mode == BRICK_MODE_NONE;
	add_variable(a, "BRICK_MODE", value);
}

/*
 * Faults in rules are reported now, not in the middle of somebody's run. Children may run in
 * another directory: the path must be whole.
 */
static void set_rules(const struct option_use *use, const char *path)
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
	add_variable(use->to, "BRICK_RULES", whole);
}

static void set_ring(const struct option_use *use, const char *text)
{
	unsigned long records;
	char value[24];

	option_number(&(struct option_use){use->command, use->option, &records}, text);
	snprintf(value, sizeof value, "%lu", records);
	add_variable(use->to, "BRICK_RING_RECORDS", value);
}

static void set_interval(const struct option_use *use, const char *text)
{
	struct record_arguments *a = use->to;
	unsigned long ms;

	option_number(&(struct option_use){use->command, use->option, &ms}, text);
	a->options.interval_ms = (uint32_t)ms;
}

/* auto, none, the methods of all attachers. */
void words_attach(struct option_words *words)
{
	words_add(words, "auto");
	words_add(words, "none");
	for (const struct attacher *const *at = attachers; *at; at++)
		for (const char *const *own = (*at)->methods; own && *own; own++)
			words_add(words, *own);
}

static void set_attach(const struct option_use *use, const char *text)
{
	struct record_arguments *a = use->to;
	int choice = option_choice(use, text);

	if (choice == 1)
		a->options.inject = 0;
	else if (choice)
		add_variable(a, "BRICK_ATTACH", text);
}

static const char *const tile_levels[] = {"macro", "midi", "micro"};

static void words_tiles(struct option_words *words)
{
	words_add_all(words, tile_levels, 3);
}

static WORDS(words_digest, "all")

	static void words_counters(struct option_words *words)
{
	static const char *const sets[] = {"all", "software", "hardware"};
	words_add_all(words, sets, 3);
	for (uint32_t kind = 0; brick_counters_name(kind); kind++)
		words_add(words, brick_counters_name(kind));
}

static void set_tiles(const struct option_use *use, const char *text)
{
	struct record_arguments *a = use->to;
	const char *levels = text ? text : "macro,midi";

	for (const char *at = levels; *at; at += strcspn(at, ",") + (at[strcspn(at, ",")] == ',')) {
		size_t n = strcspn(at, ","), i = 0;
		while (i < 3 && (strlen(tile_levels[i]) != n || strncmp(at, tile_levels[i], n)))
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

static void set_digest(const struct option_use *use, const char *text)
{
	struct record_arguments *a = use->to;

	if (text && strcmp(text, "all"))
		die_usage("record", "record: --digest=%s: must be all, or nothing", text);
	a->digest = text ? 2 : 1;
}

static void set_counters(const struct option_use *use, const char *text)
{
	if (brick_counters_parse(text ? text : "all") < 0)
		die_usage("record",
			"record: --counters=%s: must be all, software, hardware, or names "
			"of counters with commas between",
			text);
	add_variable(use->to, "BRICK_COUNTERS", text ? text : "all");
}

static void set_plain_steps(const struct option_use *use, const char *text)
{
	struct record_arguments *a = use->to;

	a->measures_distortion = 1;
	add_variable(a, "BRICK_PLAIN_STEPS", "5");
}

/* enum off_cpu_when */
static WORDS(words_off_cpu, "off", "on", "auto")

	static void set_1(const struct option_use *use, const char *text)
{
	*(int *)use->to = 1;
}

static void set_0(const struct option_use *use, const char *text)
{
	*(int *)use->to = 0;
}

#define OF(member) offsetof(struct record_arguments, member)

const struct cli_option record_option_table[] = {
	{"output", "FILE",
		"the recording (default: run.pftrace); the one before is kept as FILE.old",
		option_text, .at = OF(options.output), .letter = 'o'},
	{"mode", "MODE",
		"when to synchronise with devices: deferred (default), per-layer, immediate; none "
		"records nothing",
		set_mode, .at = 0, .words = words_record_mode},
	{"attach", "WHAT", "auto (default); none: only programs with libbrick inside; or a method",
		set_attach, .at = 0, .words = words_attach},
	{"rules", "FILE", "map operations to bricks by these rules", set_rules, .at = 0},
	{"graph", NULL, "also record the execution graph", set_1, .at = OF(graph)},
	{"tiles", "[=LIST]", "also record tiles: macro,midi (default), micro", set_tiles, .at = 0,
		.words = words_tiles},
	{"digest", "[=all]", "also record digests of results: of bricks, or of all nodes",
		set_digest, .at = 0, .words = words_digest},
	{"counters", "[=LIST]", "also count per step: cycles, page faults, ...", set_counters,
		.at = 0, .words = words_counters},
	{"off-cpu", "WHEN",
		"when threads do not run: auto (default), while that costs the program less than "
		"0.2 %; on, whatever it costs; or off",
		option_index, .at = OF(options.off_cpu), .words = words_off_cpu},
	{"measure-distortion", NULL,
		"record one step in five as one piece, to hold the others against it",
		set_plain_steps, .at = 0},
	{"ring", "N", "records that a thread can be ahead of the recorder (default: 262144)",
		set_ring, .low = 1, .high = MAX_RING_RECORDS},
	{"interval", "MS", "drain at least this often (default: 1000)", set_interval, .low = 1,
		.high = MAX_INTERVAL_MS},
	{"no-compress", NULL, "write plain packets", set_0, .at = OF(options.compress)},
	{"keep-going", NULL, "run CMD even where it cannot be recorded", set_1,
		.at = OF(options.keep_going)},
	{"wait", NULL, "wait for all recorded processes, not only for CMD", set_1,
		.at = OF(options.wait)},
	{"no-history", NULL, "do not keep its summary in the history", set_1, .at = OF(no_history)},
	{"db", "WHERE", "the history to keep it in (default: BRICK_DB)", option_text, .at = OF(db)},
	{"label", "NAME", "call it so in the history: diff @NAME", option_text, .at = OF(label)},
	{"quiet", NULL, "no summary", set_1, .at = OF(quiet), .letter = 'q'},
	OPTION_HELP,
};

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

void record_parse(
	struct record_arguments *a, const struct cli_command *command, int argc, char **argv)
{
	*a = (struct record_arguments){.options = {
					       .output = "run.pftrace",
					       .interval_ms = DEFAULT_INTERVAL_MS,
					       .compress = 1,
					       .inject = 1,
					       .off_cpu = OFF_CPU_IF_CHEAP,
					       .warn = warn,
				       }};
	options_parse(command, a, argc, argv);
	if (optind >= argc)
		die_usage("record", "record: which command?");
	if (!*a->options.output)
		die_usage("record", "record: --output: the name is empty");
	if (a->measures_distortion && a->digest)
		die_usage("record", "record: --measure-distortion leaves nodes out, and --digest "
				    "wants them all");
	set_capture(a);
	a->options.command = argv + optind;
}

void record_arguments_fini(struct record_arguments *a)
{
	environment_fini(&a->options.environment);
}
