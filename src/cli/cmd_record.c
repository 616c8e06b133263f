/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `brick record`: parses the command line (wrong values end it before CMD runs), calls
 * recorder_run(), prints the outcome on stderr, because stdout is the program's alone, and adds a
 * summary to the history. A failure to do the latter is a warning only. Returns the program's own
 * exit code.
 */
#include <stdbool.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "attach/rules/rules.h"
#include "base/file.h"
#include "base/number.h"
#include "brick/counters.h"
#include "brick/error.h"
#include "brick/session.h"
#include "cli/die.h"
#include "cli/foresight.h"
#include "cli/history_runs.h"
#include "cli/options.h"
#include "cli/program_files.h"
#include "cli/record_push.h"
#include "lib/sys/launcher.h"
#include "lib/keep/file_ring.h"
#include "record/recorder.h"
#include "record/stack_sampler.h"
#include "trace/load.h"
#include "ui/text/exemplar_text.h"
#include "ui/text/report_presence.h"
#include "ui/text/text.h"

struct record_arguments {
	struct recorder_options options;
	int quiet;
	int graph, tiles, digest, experts, measures_distortion;
	int off;	/* --mode none */
	int has_method; /* --attach METHOD */
	int no_history;
	int has_push;
	bool has_keep, has_slow, has_slow_limit;
	const char *db, *label; /* NULL: not given */
	const char *at_start;	/* an option that only a program's start can heed; NULL: none */
	char **process_command; /* with a process: its argv */
	char *rank_output;	/* the recording of one of a launcher's ranks; NULL: no launcher */
};

static struct record_push cmd_record_push; /* its thread may run until the process ends */

/* The command line. */

#define KEEP_BYTES 200000000ull /* without --keep SIZE */
#define KEEP_BYTES_LEAST 16e6
#define DURATION_NS_LEAST 10000000ull
#define DURATION_NS_MOST 1000000000000000ull
#define KEEP_NS_LEAST 10e9
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

	snprintf(value, sizeof(value), "%d", mode);
	a->off = mode == BRICK_MODE_NONE;
	add_variable(a, "BRICK_MODE", value);
}

/*
 * Reads the rules, so that their faults are reported before the run. Makes the path absolute,
 * because children may run in another directory.
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

static void set_sample(const struct option_use *use, const char *text)
{
	struct record_arguments *a = use->to;
	unsigned long hz = STACKS_HZ;

	if (text)
		option_number(&(struct option_use){use->command, use->option, &hz}, text);
	a->options.stacks_hz = (unsigned)hz;
}

static void set_nvtx(const struct option_use *use, const char *text)
{
	((struct record_arguments *)use->to)->at_start = "--nvtx";
	add_variable(use->to, "BRICK_EMIT", "nvtx");
}

static void set_inner(const struct option_use *use, const char *text)
{
	add_variable(use->to, "BRICK_INNER", "1");
}

static WORDS(words_cuda, "full", "light");

static void set_cuda(const struct option_use *use, const char *text)
{
	option_choice(use, text);
	((struct record_arguments *)use->to)->at_start = "--cuda";
	add_variable(use->to, "BRICK_CUDA", text);
}

static void set_ring(const struct option_use *use, const char *text)
{
	unsigned long records;
	char value[24];

	option_number(&(struct option_use){use->command, use->option, &records}, text);
	snprintf(value, sizeof(value), "%lu", records);
	add_variable(use->to, "BRICK_RING_RECORDS", value);
}

static void set_pid(const struct option_use *use, const char *text)
{
	struct record_arguments *a = use->to;
	unsigned long pid;

	option_number(&(struct option_use){use->command, use->option, &pid}, text);
	a->options.pid = (pid_t)pid;
}

static void cmd_record_set_duration(const struct option_use *use, const char *text)
{
	struct record_arguments *a = use->to;

	if (number_time_ns(text, "s", DURATION_NS_LEAST, DURATION_NS_MOST, &a->options.duration_ns))
		die_usage("record",
			"record: --duration %s: must be a number of seconds from 0.01 on, as in "
			"10s",
			text);
}

/* --keep: bytes or a time, each with a unit. */
static void set_keep(const struct option_use *use, const char *text)
{
	static const struct {
		const char *unit;
		double scale;
		bool is_time;
	} units[] = {{"MB", 1e6, false}, {"GB", 1e9, false}, {"TB", 1e12, false}, {"s", 1e9, true},
		{"min", 60e9, true}, {"h", 3600e9, true}, {"d", 86400e9, true}};
	struct record_arguments *a = use->to;
	size_t length = strspn(text, "0123456789.");
	char number[32] = "";
	double value;

	if (length < sizeof(number))
		memcpy(number, text, length);
	a->has_keep = true;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		double low = (units[i].is_time ? KEEP_NS_LEAST : KEEP_BYTES_LEAST) / units[i].scale;
		if (strcmp(text + length, units[i].unit) ||
			number_double(number, low, 1e18 / units[i].scale, &value))
			continue;
		*(units[i].is_time ? &a->options.keep_ns : &a->options.keep_bytes) =
			(uint64_t)(value * units[i].scale);
		return;
	}
	die_usage("record",
		"record: --keep %s: must be a size of at least 16MB, or a time of at "
		"least 10s (units: MB, GB, TB; s, min, h, d)",
		text);
}

static void set_slow(const struct option_use *use, const char *text)
{
	struct record_arguments *a = use->to;

	a->has_slow = true;
	if (slow_limits_parse(&a->options.slow, text))
		die_usage("record",
			"record: --slow %s: must be p99, or a time from 1us on (units: us, ms, s); "
			"for one phase: decode=50ms (prefill, decode, mixed, warm-up, other); for "
			"requests: request=2s; or several with commas between",
			text);
}

static void set_slow_limit(const struct option_use *use, const char *text)
{
	struct record_arguments *a = use->to;
	unsigned long count;

	option_number(&(struct option_use){use->command, use->option, &count}, text);
	a->options.slow_per_hour = (unsigned)count;
	a->has_slow_limit = true;
}

static void cmd_record_set_interval(const struct option_use *use, const char *text)
{
	struct record_arguments *a = use->to;
	unsigned long ms;

	option_number(&(struct option_use){use->command, use->option, &ms}, text);
	a->options.interval_ms = (uint32_t)ms;
}

/* The words of --attach: auto, none, and the methods of all attachers. */
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
	a->has_method = choice > 1;
	if (a->has_method)
		add_variable(a, "BRICK_ATTACH", text);
}

static const char *const tile_levels[] = {"macro", "midi", "micro"};

static void words_tiles(struct option_words *words)
{
	words_add_all(words, tile_levels, 3);
}
static WORDS(words_digest, "all");

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

/* --max-cost: a part of the time, in per cent. */
static void set_max_cost(const struct option_use *use, const char *text)
{
	struct record_arguments *a = use->to;
	size_t length = strlen(text);
	char number[32] = "";
	double percent;

	if (length && length < sizeof(number) && text[length - 1] == '%')
		memcpy(number, text, length - 1);
	if (number_double(number, 0.01, 100, &percent))
		die_usage("record",
			"record: --max-cost %s: must be a share of the program's time, from 0.01%% "
			"to 100%%, as in 0.5%%",
			text);
	a->options.max_cost = percent / 100;
	add_variable(a, "BRICK_PLAIN_STEPS", "limit");
}

/* enum off_cpu_when */
static WORDS(words_off_cpu, "off", "on", "auto");

static void set_1(const struct option_use *use, const char *text)
{
	*(int *)use->to = 1;
}

static void set_0(const struct option_use *use, const char *text)
{
	*(int *)use->to = 0;
}

#define OF(member) offsetof(struct record_arguments, member)

static const struct cli_option cmd_record_option_table[] = {
	{"output", "FILE",
		"the recording (default: run.pftrace), of a launcher's rank run.RANK.pftrace, or "
		"%r in FILE; the one before is kept as FILE.old",
		option_text, .at = OF(options.output), .letter = 'o'},
	{"pid", "PID", "record this process, which runs already, instead of a CMD", set_pid,
		.at = 0, .low = 1, .high = INT_MAX, .letter = 'p'},
	{"duration", "S", "with --pid: leave the process S seconds after it was entered",
		cmd_record_set_duration, .at = 0},
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
	{"inner", NULL, "also record the operators that PyTorch's operators call", set_inner,
		.at = 0},
	{"experts", NULL, "also record which experts of a mixture get tokens", set_1,
		.at = OF(experts)},
	{"counters", "[=LIST]", "also count per step: cycles, page faults, ...", set_counters,
		.at = 0, .words = words_counters},
	{"nvtx", NULL, "also say bricks as NVTX ranges to the tool that NVTX would load", set_nvtx,
		.at = 0},
	{"off-cpu", "WHEN",
		"record when threads do not run: auto (default), while that costs the program less "
		"than 0.2 %; on, whatever it costs; or off",
		option_index, .at = OF(options.off_cpu), .words = words_off_cpu},
	{"sample", "[=HZ]",
		"also take stacks of all threads, HZ times in a second of CPU time: 99 (default) "
		"to 997",
		set_sample, .low = STACKS_HZ, .high = STACKS_HZ_MOST},
	{"cuda", "WHAT",
		"for replays of CUDA graphs: full, a record for each kernel; light, a record for "
		"each replay and one in 16 in full (default: by what a record costs)",
		set_cuda, .at = 0, .words = words_cuda},
	{"measure-distortion", NULL,
		"run one step in five without hooks, to measure what recording costs",
		set_plain_steps, .at = 0},
	{"max-cost", "SHARE",
		"take bricks of so many steps of llama.cpp only that recording costs at most this "
		"share of their time, as in 0.5%",
		set_max_cost, .at = 0},
	{"ring", "N", "records that a thread can be ahead of the recorder (default: 262144)",
		set_ring, .low = 1, .high = MAX_RING_RECORDS},
	{"interval", "MS", "drain at least this often (default: 1000)", cmd_record_set_interval,
		.low = 1, .high = MAX_INTERVAL_MS},
	{"no-compress", NULL, "write plain packets", set_0, .at = OF(options.compress)},
	{"keep-going", NULL, "run CMD even where it cannot be recorded", set_1,
		.at = OF(options.keep_going)},
	{"idle", NULL, "record nothing until 'brick on' switches it on", set_1,
		.at = OF(options.idle)},
	{"always", NULL, "for programs without an end: keep the newest only, in a ring of files",
		set_1, .at = OF(options.always)},
	{"keep", "AMOUNT",
		"how much --always keeps: a size (default: 200MB), or a time, such as 10min; or "
		"each",
		set_keep, .at = 0},
	{"slow", "WHEN",
		"with --always: keep the seconds around steps that take longer than a time, such "
		"as decode=50ms, or than the p99 of their phase, or around requests that take "
		"longer, as request=2s, in files of their own",
		set_slow, .at = 0},
	{"slow-limit", "N", "write at most N of these files in an hour (default: 6)",
		set_slow_limit, .at = 0, .low = 1, .high = 3600},
	{"wait", NULL, "wait for all recorded processes, not only for CMD", set_1,
		.at = OF(options.wait)},
	{"no-history", NULL, "do not keep its summary in the history", set_1, .at = OF(no_history)},
	{"push", NULL, "send its windows, with --always file by file, as 'brick push' does", set_1,
		.at = OF(has_push)},
	{"db", "WHERE", "the history to keep it in (default: BRICK_DB)", option_text, .at = OF(db)},
	{"label", "NAME", "give it this label in the history: diff @NAME", option_text,
		.at = OF(label)},
	{"quiet", NULL, "no summary", set_1, .at = OF(quiet), .letter = 'q'},
	OPTION_HELP,
};

/* The argv of the process; without the right to read it, its number. */
static char **command_of_process(pid_t pid)
{
	char path[64];
	char *text = NULL;
	size_t bytes = 0, count = 1;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	if (file_read(&text, &bytes, path, 4 << 20) || !bytes) {
		free(text);
		text = xasprintf("process %d", (int)pid);
		bytes = strlen(text) + 1;
	}
	for (size_t i = 0; i < bytes; i++)
		count += !text[i];
	char **argv = xcalloc(count + 1, sizeof(*argv));
	size_t n = 0;
	for (const char *at = text; at < text + bytes && n < count; at += strlen(at) + 1)
		argv[n++] = xstrdup(at);
	free(text);
	return argv;
}

/*
 * Each rank that a launcher starts writes a recording of its own: %r in the name is its rank, which
 * else stands before the ending: run.3.pftrace.
 */
static void record_name_rank(struct record_arguments *a)
{
	const struct launcher launcher = brick__launcher();
	const char *name = a->options.output, *slash = strrchr(name, '/');
	const char *at = strstr(name, "%r"), *ending = strrchr(slash ? slash + 1 : name, '.');

	if (at && !launcher.name)
		die_usage("record",
			"record: --output %s: %%r is the rank, and no launcher (mpirun, srun, "
			"torchrun) started this process",
			name);
	if (at)
		a->rank_output =
			xasprintf("%.*s%d%s", (int)(at - name), name, (int)launcher.rank, at + 2);
	else if (launcher.world < 2)
		return;
	else if (ending && ending > (slash ? slash + 1 : name))
		a->rank_output = xasprintf(
			"%.*s.%d%s", (int)(ending - name), name, (int)launcher.rank, ending);
	else
		a->rank_output = xasprintf("%s.%d", name, (int)launcher.rank);
	a->options.output = a->rank_output;
}

static void record_process_only(struct record_arguments *a)
{
	const struct recorder_options *o = &a->options;
	const char *wrong = a->measures_distortion ? "--measure-distortion"
			    : a->digest		   ? "--digest"
			    : a->has_method	   ? "--attach"
			    : !o->inject	   ? "--attach none"
			    : o->max_cost > 0	   ? "--max-cost"
			    : o->wait		   ? "--wait"
			    : o->keep_going	   ? "--keep-going"
						   : a->at_start;

	if (wrong)
		die_usage("record",
			"record: %s: is for a program from its start on, and does not go with "
			"--pid",
			wrong);
	a->process_command = command_of_process(o->pid);
}

static void record_parse(
	struct record_arguments *a, const struct cli_command *command, int argc, char **argv)
{
	*a = (struct record_arguments){.options = {
					       .output = "run.pftrace",
					       .interval_ms = DEFAULT_INTERVAL_MS,
					       .compress = 1,
					       .inject = 1,
					       .off_cpu = OFF_CPU_IF_CHEAP,
					       .keep_bytes = KEEP_BYTES,
					       .warn = warn,
					       .system_root = getenv("BRICK_SYSTEM_ROOT") ?: "",
				       }};
	options_parse(command, a, argc, argv);
	if (a->options.pid && optind < argc)
		die_usage("record", "record: --pid and %s: a process or a command, please",
			argv[optind]);
	if (!a->options.pid && a->options.duration_ns)
		die_usage("record", "record: --duration: goes with --pid");
	if (!a->options.pid && optind >= argc)
		die_usage("record", "record: which command?");
	if (a->options.pid)
		record_process_only(a);
	if (!*a->options.output)
		die_usage("record", "record: --output: the name is empty");
	record_name_rank(a);
	if (a->options.idle && a->options.stacks_hz)
		die_usage("record", "record: --idle records nothing at first, and --sample cannot "
				    "begin later");
	if (a->has_keep && !a->options.always)
		die_usage("record", "record: --keep says how much --always keeps");
	if (a->options.always && a->options.stacks_hz)
		die_usage("record", "record: --always begins new files, and --sample names "
				    "functions once");
	if (a->has_slow && !a->options.always)
		die_usage("record", "record: --slow: goes with --always; any other recording has "
				    "all steps");
	if (a->has_slow_limit && !a->has_slow)
		die_usage("record", "record: --slow-limit: how many files of --slow?");
	if (a->has_slow && !a->has_slow_limit)
		a->options.slow_per_hour = SLOW_PER_HOUR;
	a->no_history |= a->options.always; /* a part of a run is no run */
	cmd_record_push.db = a->db;
	if (a->has_push && a->options.always) {
		a->options.file_ended = record_push_file;
		a->options.file_context = &cmd_record_push;
	}
	if (a->options.max_cost > 0 && (a->measures_distortion || a->digest))
		die_usage("record",
			"record: --max-cost leaves steps whole, as many as it needs: not with %s",
			a->digest ? "--digest" : "--measure-distortion");
	if (a->measures_distortion && a->digest)
		die_usage("record", "record: --measure-distortion leaves nodes out, and --digest "
				    "wants them all");
	if (a->graph || a->digest || a->experts) {
		char list[48];
		snprintf(list, sizeof(list), "%s%s%s", a->graph ? "graph," : "",
			a->experts ? "experts," : "",
			a->digest > 1 ? "digest,digest-all,"
			: a->digest   ? "digest,"
				      : "");
		list[strlen(list) - 1] = '\0';
		add_variable(a, "BRICK_CAPTURE", list);
	}
	a->options.command = a->options.pid ? a->process_command : argv + optind;
}

/* Parse the command line, or end the program. */
static void record_arguments_fini(struct record_arguments *a)
{
	environment_fini(&a->options.environment);
	for (char **word = a->process_command; word && *word; word++)
		free(*word);
	free(a->process_command);
	free(a->rank_output);
}

/* The summary. */

static const char *plural(uint64_t count, const char *one, const char *many)
{
	return count == 1 ? one : many;
}

static void print_totals(const struct recorder_result *r)
{
	char samples[UNITS_BYTES], steps[UNITS_BYTES], wall[UNITS_BYTES];

	if (!r->processes) {
		warn("no process recorded anything; %s", units_time(wall, r->wall_ns));
		return;
	}
	fprintf(stderr, "brick: %s %s in %s %s; %u %s, %llu %s; %s\n",
		units_count(samples, r->samples), plural(r->samples, "sample", "samples"),
		units_count(steps, r->steps), plural(r->steps, "step", "steps"), r->processes,
		plural(r->processes, "process", "processes"), (unsigned long long)r->threads,
		plural(r->threads, "thread", "threads"), units_time(wall, r->wall_ns));
}

/* Joins the different values of a note. False if there is no such note. */
static bool join_notes(const char *notes, const char *key, char *out, size_t bytes)
{
	size_t n = strlen(key), used = 0;

	out[0] = '\0';
	for (const char *at = notes; at && *at;) {
		size_t line = strcspn(at, "\n");
		char value[256];
		if (line > n && !strncmp(at, key, n) && at[n] == '=') {
			snprintf(value, sizeof(value), "%.*s", (int)(line - n - 1), at + n + 1);
			if (!strstr(out, value) && used < bytes)
				used += (size_t)snprintf(
					out + used, bytes - used, "%s%s", used ? "; " : "", value);
		}
		at += line + (at[line] == '\n');
	}
	return used > 0;
}

/* Attached libraries leave notes about themselves. */
static bool print_attached(const char *notes)
{
	char method[512], version[512];

	if (!join_notes(notes, "attach", method, sizeof(method)))
		return false;
	for (const struct attacher *const *a = attachers; *a; a++)
		if ((*a)->version_note &&
			join_notes(notes, (*a)->version_note, version, sizeof(version))) {
			warn("attached to %s %s: %s", (*a)->title, version, method);
			return true;
		}
	warn("attached: %s", method);
	return true;
}

/* True for `env -i`: it removes the variables through which Brick gets into a program. */
static bool empties_environment(char *const *command)
{
	const char *slash = strrchr(command[0], '/');

	if (strcmp(slash ? slash + 1 : command[0], "env"))
		return false;
	for (command++; *command && **command == '-'; command++) {
		const char *letters = *command + 1;
		size_t flags = strcspn(letters, "uCS"); /* the options of env(1) with a value */
		if (!*letters || !strcmp(letters, "-ignore-environment"))
			return true;
		if (*letters != '-' && memchr(letters, 'i', flags))
			return true;
		bool is_short = *letters != '-' && letters[flags] && !letters[flags + 1];
		if ((is_short || !strcmp(letters, "-unset") || !strcmp(letters, "-chdir")) &&
			command[1])
			command++;
	}
	return false;
}

/*
 * Examines the program, its libraries and the files that its arguments name, as `brick doctor`
 * does, and prints which attachers might have recorded it, or that a file has ggml without symbols.
 * False: nothing is known.
 */
static bool tell_foreseen(const struct program_files *files, const char *title, const char *notes)
{
	struct foresight f;
	SCOPED char *kinds = NULL;
	char refused[64], text[512];
	bool told = false;

	foresight_of(&f, files);
	for (size_t i = 0; i < files->paths.count && !told; i++) {
		told = f.ggml[i].way == PROGRAM_GGML_STRIPPED;
		if (told)
			warn("nothing was attached: %s: %s; %s", files->paths.items[i],
				f.ggml[i].missing, f.ggml[i].advice);
	}
	if (f.static_mpi) {
		warn("nothing was attached: %s " FORESIGHT_STATIC_MPI, f.static_mpi);
		told = true;
	}
	for (size_t i = 0; i < f.may.count; i++) {
		const struct foreseen *may = &f.may.items[i];
		snprintf(refused, sizeof(refused), "%s.refused", may->attacher->name);
		told = true;
		if (!join_notes(notes, refused, text, sizeof(text)))
			xappend(&kinds, ", ", "%s (%s)", may->attacher->title, may->why);
	}
	if (kinds)
		warn("nothing was attached: %s computed nothing with what it may use: %s", title,
			kinds);
	foresight_fini(&f);
	return told;
}

/* Advice for engines that report their work by NVTX only if an option or a variable says so. */
static void tell_switch(char *const *command)
{
	static const struct {
		const char *word, *engine, *how;
	} switches[] = {
		{"vllm", "vLLM", "--enable-layerwise-nvtx-tracing"},
		{"sglang", "SGLang", "--enable-layerwise-nvtx-marker"},
		{"tensorrt_llm", "TensorRT-LLM", "TLLM_LLMAPI_ENABLE_NVTX=1 in the environment"},
		{"trtllm", "TensorRT-LLM", "TLLM_LLMAPI_ENABLE_NVTX=1 in the environment"},
	};

	for (size_t i = 0; i < sizeof(switches) / sizeof(*switches); i++)
		for (char *const *word = command; *word; word++)
			if (strstr(*word, switches[i].word)) {
				warn("%s says its layers by NVTX if it is asked to: %s",
					switches[i].engine, switches[i].how);
				return;
			}
}

static void cmd_record_print_nothing(
	const struct record_arguments *a, const struct recorder_result *r)
{
	const char *why = inject_obstacle_text(r->obstacle);
	const char *advice = inject_obstacle_advice(r->obstacle);
	char kinds[INJECT_KINDS_BYTES];
	struct program_files files;

	if (a->off) {
		warn("nothing was recorded: --mode none switches recording off");
	} else if (empties_environment(a->options.command)) {
		warn("nothing was recorded: %s empties the environment, through which Brick gets "
		     "into the program; put it in front instead: env -i ... brick record -- ...",
			a->options.command[0]);
	} else if (!a->options.inject && !*why) {
		warn("nothing was recorded: %s has no libbrick inside, and --attach none adds none",
			a->options.command[0]);
	} else if (r->left_behind) {
		warn("nothing was recorded yet: %s has ended, and process %d, which it left "
		     "behind, goes on; --wait waits for it",
			a->options.command[0], r->left_behind);
	} else {
		if (*why)
			warn("nothing was attached: %s%s%s", why, advice ? "; " : "",
				advice ? advice : "");
		bool is_known = !program_files_of_command(&files, a->options.command, false);
		const char *title = a->options.command[0];
		if (is_known)
			title = program_files_title(&files, title);
		if (!(is_known && tell_foreseen(&files, title, r->notes)) && !*why)
			warn("nothing was attached: %s computed nothing with %s through shared "
			     "libraries; 'brick doctor -- CMD' says what it consists of",
				title, inject_kinds(kinds));
		if (is_known)
			program_files_fini(&files);
		if (*r->static_name && !*why)
			warn("%s, which it started: %s; %s", r->static_name,
				inject_obstacle_text(INJECT_STATIC),
				inject_obstacle_advice(INJECT_STATIC));
		tell_switch(a->options.command);
	}
}

/* The text for an error found before a program starts: the reason, else the error's own text. */
static const char *cmd_record_refusal_text(int error, bool is_gone)
{
	switch (error) {
	case -ENOEXEC:
		return inject_obstacle_text(INJECT_FOREIGN);
	case -ELIBBAD:
		return inject_obstacle_text(INJECT_OTHER_LIBC);
	case -ELIBACC:
		return "our libraries are not there where it runs";
	case -ENODATA:
		return "it was started without its parent's environment, through which Brick gets "
		       "in";
	case -EPERM:
		return "it runs as another user, to whom the recorder's directory is closed";
	case -ENOENT:
		return is_gone ? "the recorder's directory was removed meanwhile"
			       : "the recorder's directory is not there where it runs (other "
				 "mounts)";
	case -EACCES:
		return "it runs with other rights than who started it";
	case -ENOSYS:
		return "its system calls were filtered (seccomp) before its first brick";
	case -ENODEV:
		return "it switched off the reading of the CPU's counter before its first brick";
	default:
		return brick_strerror(error);
	}
}

static void cmd_record_print_losses(const struct recorder_result *r)
{
	char count[UNITS_BYTES];

	if (r->dropped)
		fprintf(stderr,
			"brick: %s %s dropped (statistics are exact without them; "
			"--ring takes more)\n",
			units_count(count, r->dropped), plural(r->dropped, "record", "records"));
	if (r->without_lane)
		warn("%s %s lost: their threads could have no ring, for lack of memory, "
		     "descriptors, files' size or a way to the recorder's directory",
			units_count(count, r->without_lane),
			plural(r->without_lane, "record is", "records are"));
	if (r->refused_processes && !r->refused_records)
		warn("%llu %s could not record: %s (process %u): %s; what it did is missing",
			(unsigned long long)r->refused_processes,
			plural(r->refused_processes, "process", "processes"), r->refused_name,
			r->refused_pid,
			cmd_record_refusal_text(r->refused_error, r->is_directory_gone));
	else if (r->refused_processes)
		warn("%llu %s could not record: %s (process %u): %s; %s %s lost",
			(unsigned long long)r->refused_processes,
			plural(r->refused_processes, "process", "processes"), r->refused_name,
			r->refused_pid,
			cmd_record_refusal_text(r->refused_error, r->is_directory_gone),
			units_count(count, r->refused_records),
			plural(r->refused_records, "record is", "records are"));
	else if (r->refused_records)
		warn("%s %s lost: handlers of signals came while their threads got ready",
			units_count(count, r->refused_records),
			plural(r->refused_records, "record is", "records are"));
	if (r->lost)
		warn("%u %s could not be read in full: %s", r->lost,
			plural(r->lost, "process", "processes"), r->fault);
	if (r->dead)
		fprintf(stderr,
			"brick: %u %s ended by _exit() or a signal; what was recorded until then "
			"is there\n",
			r->dead, plural(r->dead, "process", "processes"));
	if (r->left_behind && r->processes)
		fprintf(stderr,
			"brick: process %d, which it left behind, goes on and has recorded nothing "
			"so far (--wait waits for it)\n",
			r->left_behind);
	if (r->outlived)
		fprintf(stderr,
			"brick: %u %s still running; recorded until now (--wait waits for them)\n",
			r->outlived, plural(r->outlived, "process is", "processes are"));
}

/* Prints why intervals off the CPU are missing or incomplete. */
static void print_off_cpu(const struct off_cpu_account *o)
{
	char count[UNITS_BYTES], reason[128];

	report_off_cpu_reason(o->error, reason, sizeof(reason));
	if (o->error)
		warn("when threads were off their CPUs is not known: %s", reason);
	if (o->lost)
		fprintf(stderr, "brick: %s context %s lost: times off the CPU are not complete\n",
			units_count(count, o->lost), plural(o->lost, "switch is", "switches are"));
	if (o->gap_count)
		fprintf(stderr,
			"brick: threads left their CPUs %s times a second, and to record that took "
			"%.1f us each: it was stopped%s; --off-cpu on records it all the same\n",
			units_count(count, o->gaps[0].per_s), (double)o->gaps[0].each_ns / 1e3,
			o->gaps[o->gap_count - 1].end_ns == UINT64_MAX ? "" : " for a while");
}

/* Prints the result of --sample, or suggests the option if nothing else of the program is known. */
static void print_stacks(const struct record_arguments *a, const struct recorder_result *r)
{
	const struct stack_account *s = &r->stacks;
	char count[UNITS_BYTES];

	if (!s->hz && !r->samples && !a->off)
		warn("record --sample shows the functions that a program spends its time in, "
		     "whatever it uses");
	if (s->hz && !s->error)
		fprintf(stderr,
			"brick: %s %s of functions; to see them: brick report --by "
			"function %s\n",
			units_count(count, s->taken), plural(s->taken, "stack", "stacks"),
			a->options.output);
	if (s->lost)
		fprintf(stderr, "brick: %s %s of the kernel lost: stacks are not complete\n",
			units_count(count, s->lost), plural(s->lost, "record is", "records are"));
	if (s->throttled)
		fprintf(stderr,
			"brick: the kernel left stacks out %s times, as they cost it too "
			"much\n",
			units_count(count, s->throttled));
}

static void print_missing_captures(
	const struct record_arguments *a, const struct recorder_result *r)
{
	static const char *const names[] = {"graph", "tiles", "digest", "experts"};
	const int wanted[] = {a->graph, a->tiles, a->digest, a->experts};

	for (unsigned i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		char key[32], value[64];
		snprintf(key, sizeof(key), "capture.%s", names[i]);
		if (wanted[i] && !join_notes(r->notes, key, value, sizeof(value)))
			fprintf(stderr, "brick: --%s: nothing in this run could record it\n",
				names[i]);
	}
}

/* Larger recordings (some three million samples) are not read again after the program's end: nobody
 * asked for that, so it must not take much time or memory. */
enum { BYTES_MAX = 8 << 20 };

/* The newest files of --slow are read only up to this: the recorder is to be gone soon. */
enum { EXEMPLARS_BYTES = 2 << 20 };

/* Names the files of --slow, and says what was different in them. */
static void print_exemplars(const struct record_arguments *a, const struct recorder_result *r)
{
	const struct exemplars_count *count = &r->exemplars;
	char name[PATH_MAX], ring[FORMAT_RING_DIGITS + 1];
	off_t bytes = 0;
	uint64_t told = 0;

	for (unsigned i = 0; i <= FILE_RING_EARLIER && told < count->kept &&
			     exemplars_name(a->options.output, i, name);
		i++) {
		struct load_error error = {0};
		struct run *run = NULL;
		struct stat info;
		if (!file_ring_read(name, ring) || strcmp(ring, count->ring) || stat(name, &info))
			continue; /* the oldest go, and others' files are none of ours */
		told++;
		bytes += info.st_size;
		bool is_read = bytes <= EXEMPLARS_BYTES && run_load(&run, name, &error) == 0;
		SCOPED char *why = is_read ? exemplar_text(run) : NULL;
		warn("%s%s%s", name, why ? ": " : "", why ? why : "");
		run_destroy(run);
	}
	if (count->left)
		warn("%llu more slow %s no file: --slow-limit is %u an hour",
			(unsigned long long)count->left,
			plural(count->left, "step has", "steps have"), a->options.slow_per_hour);
	if (count->failed)
		warn("%llu %s of slow steps could not be written: %s",
			(unsigned long long)count->failed, plural(count->failed, "file", "files"),
			brick_strerror(count->error));
}

/* Says which steps have bricks, and why. */
static void print_cost(const struct record_arguments *a, const struct recorder_result *r)
{
	const struct cost_limit *c = &r->cost;
	uint64_t steps = c->with_bricks + c->without;
	char most[UNITS_BYTES], cost[UNITS_BYTES], low[UNITS_BYTES], high[UNITS_BYTES];

	if (!(a->options.max_cost > 0) || !steps)
		return;
	units_percent(most, c->most);
	if (!c->without)
		warn("--max-cost %s: no step could do without its hooks: 'brick report' states "
		     "what "
		     "recording cost",
			most);
	else if (!c->blocks)
		warn("--max-cost %s: %llu of %llu steps have bricks; the steps were too few to "
		     "measure what these cost",
			most, (unsigned long long)c->with_bricks, (unsigned long long)steps);
	else
		warn("--max-cost %s: %llu of %llu steps have bricks, which cost %s of such a step "
		     "(%s to %s)",
			most, (unsigned long long)c->with_bricks, (unsigned long long)steps,
			units_percent(cost, c->cost), units_percent(low, c->low),
			units_percent(high, c->high));
}

/* Tells on stderr how a recording went. */
static void record_summary(const struct record_arguments *a, const struct recorder_result *r)
{
	char bytes[UNITS_BYTES], key[64], note[512];

	if (!r->recorded)
		return;
	static const char no_step[] = "no step began in that time, and nothing is recorded of a "
				      "call that began before";
	if (a->options.pid && (!r->has_entered || !r->samples)) {
		if (!r->refused && r->has_entered)
			warn("nothing was recorded: %s", no_step);
		else if (!r->refused && r->was_called)
			warn("nothing was recorded: process %d had not loaded Brick's library by "
			     "then, as it is busy or waits; try again",
				(int)a->options.pid);
		else if (!r->refused)
			warn("nothing was recorded: process %d computed nothing with its engine in "
			     "that time",
				(int)a->options.pid);
		return;
	}
	print_totals(r);
	if (!print_attached(r->notes) && !r->samples &&
		(!r->refused_processes || *inject_obstacle_text(r->obstacle) ||
			empties_environment(a->options.command)))
		cmd_record_print_nothing(a, r);
	if (join_notes(r->notes, "torch.modules", note, sizeof(note)))
		warn("modules of PyTorch are %s", note);
	else if (a->options.pid && !r->steps &&
		 join_notes(r->notes, "torch.version", note, sizeof(note)))
		warn("%s", no_step);
	if (join_notes(r->notes, "graph.wrong", note, sizeof(note)))
		warn("graph: %s", note);
	/* an attacher may time less of a device's work than of a thread's */
	for (const struct attacher *const *x = attachers; *x; x++)
		if ((*x)->limit_note && join_notes(r->notes, (*x)->limit_note, note, sizeof(note)))
			warn("on a device %s", note);
	/* an attacher may not support the version of the engine that it found */
	for (const struct attacher *const *x = attachers; *x; x++) {
		snprintf(key, sizeof(key), "%s.refused", (*x)->name);
		if (join_notes(r->notes, key, note, sizeof(note)))
			warn("%s%s", note,
				r->stacks.hz ? "" : "; record --sample shows its functions");
	}
	/* a program that contains libbrick may have made a recording of its own */
	if (join_notes(r->notes, "embedded.output", note, sizeof(note)))
		warn("%s is not written by the program itself: its bricks are in %s", note,
			a->options.output);
	print_missing_captures(a, r);
	cmd_record_print_losses(r);
	print_off_cpu(&r->off_cpu);
	print_stacks(a, r);
	print_exemplars(a, r);
	print_cost(a, r);
	warn("%s recorded; to see it: brick report %s", units_bytes(bytes, r->bytes),
		a->options.output);
}

/* The history. */

static bool is_worth_it(const struct record_arguments *a, const struct recorder_result *r)
{
	struct stat info;

	if (a->no_history || !r->recorded || !r->steps || stat(a->options.output, &info) ||
		!S_ISREG(info.st_mode))
		return 0;
	if (info.st_size <= BYTES_MAX)
		return 1;
	if (!a->quiet)
		warn("%s: is large; 'brick history add %s' keeps its summary in the history",
			a->options.output, a->options.output);
	return 0;
}

/* Keeps the summary of the recording in the history, if there is one. */
static void record_history(const struct record_arguments *a, const struct recorder_result *r)
{
	struct load_error error = {0};
	struct history_run entry;
	struct run *run = NULL;
	SCOPED char *where = a->db ? NULL : history_default();

	if ((a->db || where) && is_worth_it(a, r) &&
		run_load(&run, a->options.output, &error) == 0) {
		history_entry_init(&entry, run, a->options.output);
		if (!a->label || history_run_label(&entry, a->label) == 0)
			history_runs_keep(a->db, &entry);
		history_run_fini(&entry);
		run_destroy(run);
	}
}

/* The command. */

/* Warns before recording takes several times the program's time. */
static void warn_of_splits(const struct record_arguments *a)
{
	if (a->options.pid || a->quiet || a->off || !a->options.inject || a->has_method ||
		!foresight_is_split(a->options.command, a->digest != 0))
		return;
	warn("nodes of this program can only be timed by splitting its "
	     "graphs: " FORESIGHT_SPLITS_COST
	     "; --attach graph leaves graphs whole, and times no nodes");
}

/* The methods of --attach, from the table of attachers. */
static char *notes(void)
{
	char *all = NULL;
	for (const struct attacher *const *a = attachers; *a; a++) {
		char *methods = NULL;
		if (!(*a)->methods)
			continue;
		for (const char *const *method = (*a)->methods; *method; method++)
			xappend(&methods, ", ", "%s", *method);
		xappend(&all, "", "Methods of --attach for %s: %s. ", (*a)->title, methods);
		free(methods);
	}
	xappend(&all, "", "Then: brick report FILE");
	return all;
}

static char *cmd_record_about(void)
{
	char kinds[INJECT_KINDS_BYTES];
	return xasprintf(
		"Run CMD, record it and its children, and return its exit code (128 + "
		"signal when a signal ended it, 127 when there is no such command). "
		"It attaches to programs that use %s; programs with libbrick inside record "
		"themselves. Or record a process that runs already, until --duration is over, the "
		"process ends, or you press Ctrl-C.",
		inject_kinds(kinds));
}

static int cmd_record_run(int argc, char **argv)
{
	SCOPED_BY(record_arguments_fini) struct record_arguments arguments;
	struct recorder_result result;

	struct cli_command command = command_record;
	command.about = cmd_record_about();
	command.notes = notes();
	record_parse(&arguments, &command, argc, argv);
	warn_of_splits(&arguments);
	if (arguments.has_push)
		record_push_start(&cmd_record_push);
	recorder_run(&arguments.options, &result);
	if (result.refused)
		result.exit_code = CLI_SYSTEM;
	if (!arguments.quiet)
		record_summary(&arguments, &result);
	record_history(&arguments, &result);
	if (arguments.has_push)
		record_push_end(
			&cmd_record_push, result.recorded ? arguments.options.output : NULL);
	recorder_result_fini(&result);
	free((char *)command.about);
	free((char *)command.notes);
	return result.exit_code;
}

const struct cli_command command_record = {
	.name = "record",
	.summary = "run a program and record it",
	.run = cmd_record_run,
	.flags = CLI_RUNS,
	.usage = "[OPTIONS] [--] CMD [ARGS...]\n[OPTIONS] --pid PID",
	.about = "Run a program and record it.",
	.options = cmd_record_option_table,
};
