/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `brick diff`: options, the two sides, and the verdict that its exit code is. Recordings and runs
 * of the history are read one after the other. The forms are in src/ui/text/diff.c.
 */
#include "ui/text/diff.h"

#include <string.h>

#include "analysis/compare/compare_operators.h"
#include "analysis/compare/history_parts.h"
#include "cli/command.h"
#include "cli/history_runs.h"
#include "cli/options.h"
#include "ui/page/page_diff.h"
#include "ui/page/page_json.h"
#include "ui/text/operators_view.h"
#include "cli/selection_options.h"
#include "cli/die.h"
#include "cli/input.h"
#include "cli/output.h"

struct options {
	struct selection selection;
	double threshold;
	int by, metric;
	unsigned long top;
	bool all, any, json, strict, disturbed;
	const char *db, *html;
};

struct sides {
	ARRAY(struct diff_origin) origins;
	ARRAY(struct compare_series) series; /* parallel to origins */
	struct compare_names names;
	size_t in_a, in_b; /* the number of operands; later of the runs that they name */
	bool from_history; /* at least one run is from the history */
	struct operators operators[2]; /* of the first recording of each side */
	struct page_diff *page;	       /* NULL: no page is to be written */
	double floor;		       /* a ratio: smaller effects are noise; 0: not known */
	uint64_t floor_ns;
};

static const struct cli_option cmd_diff_option_table[] = {
	{"by", "WHAT",
		"brick (default), category or layer: what the time of a step is divided into",
		option_index, AT(by), .words = words_rows},
	{"threshold", "PERCENT",
		"smaller differences do not matter (default: 1, or what identical runs differed "
		"by on this machine)",
		option_percent, AT(threshold)},
	{"metric", "WHAT",
		"decide by decode, prefill, mixed (tokens/s), other (steps/s), wall, printed or "
		"first-token "
		"(default: "
		"what is printed, else the first that differs of decode, wall, prefill, ...)",
		option_index, AT(metric), .words = words_metrics},
	{"strict", NULL, "exit code 1 also when the runs do not judge", option_flag, AT(strict)},
	{"any", NULL, "exit code 1 also when only a brick, layer or kernel got slower", option_flag,
		AT(any)},
	{"disturbed", NULL,
		"judge also where other programs disturbed more than half of a side's recordings",
		option_flag, AT(disturbed)},
	SELECTION_PHASE(offsetof(struct options, selection)),
	SELECTION_OPTIONS(offsetof(struct options, selection)),
	{"top", "N", "show N rows of each phase (default: 15)", option_number, AT(top), .low = 1,
		.high = UINT32_MAX},
	{"all", NULL, "show all rows", option_flag, AT(all)},
	{"json", NULL, "all of it as JSON (schema brick/diff/2)", option_flag, AT(json)},
	{"html", "FILE",
		"also write a page that shows it in a browser; - instead of what is printed",
		option_text, AT(html)},
	{"db", "WHERE", "the history that @NAME is in (default: BRICK_DB)", option_text, AT(db)},
	OPTION_HELP,
};

/*
 * "--" divides the sides. It would end the options, so an operand that is no file stands for it
 * while they are parsed.
 */
static char divider[] = "/--/";

static void keep_divider(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], "--")) {
			argv[i] = divider;
			return;
		}
}

/* Appends an empty series; returns its index. */
static size_t add_place(struct sides *sides)
{
	xpush(&sides->origins, (struct diff_origin){0});
	xpush(&sides->series, (struct compare_series){0});
	return sides->series.count - 1;
}

static void read_recording(
	struct sides *sides, int side, const char *path, const struct options *arguments)
{
	SCOPED_TO(run_destroy) struct run *run = input_load_telling(path);
	size_t at = add_place(sides);

	selection_narrow(&arguments->selection, run);

	if (!run->step_count)
		die(CLI_INPUT, "%s: holds no steps: there are no tokens to compare by", path);
	diff_origin_init(&sides->origins.items[at], run);
	if (compare_series_init(&sides->series.items[at], &sides->names, run,
		    (enum summary_by)arguments->by) < 0)
		die(CLI_SYSTEM, "%s: not enough memory", path);
	if (!sides->operators[side].bricks.count &&
		operators_init(&sides->operators[side], run) < 0)
		die(CLI_SYSTEM, "%s: not enough memory", path);
	if (selection_is_any(&arguments->selection))
		sides->series.items[at].wall_ns = 0; /* unknown for a part of a run */
	if (sides->page && page_diff_add(sides->page, side, run) < 0)
		die(CLI_SYSTEM, "%s: not enough memory for its layers", path);
}

static void read_history(struct sides *sides, const char *name, const struct options *arguments)
{
	if (selection_is_any(&arguments->selection))
		die_usage("diff", "%s: the history has whole runs: no part of one can be chosen",
			name);
	SCOPED_TO(history_store_close)
	struct history_store *store = history_runs_open(arguments->db, false);
	SCOPED_BY(history_runs_fini) struct history_runs runs = {0};

	history_runs_find(&runs, store, name);
	history_runs_keep_measured(&runs, 0, name);
	history_runs_keep_alike(&runs, 0, name);
	for (size_t i = 0; i < runs.list.count; i++) {
		size_t at = add_place(sides);
		diff_origin_of_history(&sides->origins.items[at], &runs.list.items[i]);
		if (history_parts_series(&sides->series.items[at], &sides->names,
			    &runs.list.items[i], (enum summary_by)arguments->by) < 0)
			die(CLI_SYSTEM, "not enough memory");
	}
	sides->from_history = true;
}

static size_t read_side(
	struct sides *sides, int side, char **paths, size_t count, const struct options *arguments)
{
	size_t before = sides->series.count;

	for (size_t i = 0; i < count; i++)
		if (is_history_reference(paths[i]))
			read_history(sides, paths[i], arguments);
		else
			read_recording(sides, side, paths[i], arguments);
	return sides->series.count - before;
}

static const char *fact_of(const struct diff_origin *origin, const char *key)
{
	for (size_t i = 0; i < origin->facts.count; i++)
		if (!strcmp(origin->facts.items[i].key, key))
			return origin->facts.items[i].value;
	return "";
}

/* The measured floor of the host, if all recordings are from one: smaller differences are noise. */
static double cmd_diff_threshold_of(struct sides *sides, const struct options *arguments)
{
	const char *host = sides->series.count ? fact_of(&sides->origins.items[0], "host") : "";

	if (arguments->threshold >= 0)
		return arguments->threshold;
	for (size_t i = 0; i < sides->series.count; i++)
		if (strcmp(fact_of(&sides->origins.items[i], "host"), host))
			return arguments->threshold;
	sides->floor = history_runs_floor(arguments->db, host, &sides->floor_ns);
	return sides->floor > 0.01 ? sides->floor : arguments->threshold;
}

/*
 * True if the whole fails or, with --any, a part. An uncertain verdict is a failure only for the
 * whole, and only with --strict.
 */
static bool fails(const struct compare *compare, const struct options *arguments)
{
	for (size_t i = 0; i < compare->row_count && arguments->any; i++)
		if (difference_fails(compare->rows[i].difference.verdict, false) &&
			compare->rows[i].kind != COMPARE_OFF_CPU)
			return true;
	return difference_fails(compare->verdict, arguments->strict);
}

/* Recordings must have a phase in common, plain runs have only their wall time. */
static bool has_common(const struct compare *compare)
{
	bool any = compare->runs[0].plain && compare->runs[1].plain;

	for (int phase = 0; phase < STEP_PHASES; phase++)
		any |= compare->phases[phase].is_known;
	return any && compare->row_count;
}

static int run_diff(int argc, char **argv)
{
	struct options arguments = {
		.selection = SELECTION_INIT, .threshold = -1, .by = SUMMARY_BY_BRICK};
	struct sides sides = {0};

	keep_divider(argc, argv);
	options_parse(&command_diff, &arguments, argc, argv);
	if (arguments.top && arguments.all)
		die_usage("diff", "--top and --all exclude each other");
	if (!arguments.top)
		arguments.top = 15;
	char **operands = argv + optind;
	size_t count = (size_t)(argc - optind), in_a = 0;
	while (in_a < count && operands[in_a] != divider)
		in_a++;
	bool is_divided = in_a < count;
	if (is_divided)
		memmove(operands + in_a, operands + in_a + 1,
			(count - in_a - 1) * sizeof(*operands));
	else
		in_a = 1;
	count -= is_divided;
	if (!in_a || count <= in_a)
		die_usage("diff", "two recordings, please, or several: A... -- B...");
	if (!is_divided && count != 2)
		die_usage("diff", "which of %zu recordings are on which side? A... -- B...", count);
	if (arguments.html && !page_available())
		die(CLI_SYSTEM, "--html: %s", page_missing());
	if (arguments.html && !(sides.page = page_diff_create()))
		die(CLI_SYSTEM, "not enough memory for the page");
	input_batch_begin(operands, count);
	sides.in_a = read_side(&sides, 0, operands, in_a, &arguments);
	sides.in_b = read_side(&sides, 1, operands + in_a, count - in_a, &arguments);
	input_batch_end();
	for (size_t i = 0; i < sides.series.count && sides.from_history; i++)
		if (compare_series_reduce(&sides.series.items[i]) < 0)
			die(CLI_SYSTEM, "not enough memory");
	struct diff_origins origins;
	struct compare *compare;
	const struct compare_rule rule = {.threshold = cmd_diff_threshold_of(&sides, &arguments),
		.metric = (enum compare_metric)arguments.metric,
		.even_disturbed = arguments.disturbed};
	if (compare_create(
		    &compare, sides.series.items, sides.in_a, sides.in_b, &sides.names, &rule) < 0)
		die(CLI_SYSTEM, "not enough memory to compare");
	struct operator_changes changes;
	if (operator_changes_init(&changes, &sides.operators[0], &sides.operators[1]) < 0)
		die(CLI_SYSTEM, "not enough memory to compare");
	bool has_operators = sides.operators[0].bricks.count && sides.operators[1].bricks.count;
	if (!has_common(compare) && has_operators)
		operators_text(&changes, arguments.all ? 0 : arguments.top, stdout);
	if (!has_common(compare))
		die(has_operators ? CLI_DONE : CLI_INPUT,
			"the recordings have no phase in common: %s",
			has_operators ? "only operators were compared" : "nothing was compared");
	if (!compare->by && rule.metric == COMPARE_BY_DEFAULT)
		die(CLI_INPUT, "nothing that decides is known of both sides");
	if (!compare->by)
		die(CLI_INPUT, "--metric %s is not known of both sides",
			compare_metric_name(rule.metric));
	diff_origins_init(&origins, sides.origins.items, sides.in_a, sides.in_b);
	const struct diff_view view = {compare, &origins, (enum summary_by)arguments.by,
		arguments.top, arguments.all, sides.floor, has_operators ? &changes : NULL};
	if (sides.page) {
		struct output *output = output_open(arguments.html, sides.origins.items[0].path);
		if (page_diff_write(sides.page, &view, sides.series.items, output_stream(output)) <
			0)
			die(CLI_SYSTEM, "not enough memory for the page");
		output_commit(output, 0);
	}
	if (!sides.page || strcmp(arguments.html, "-"))
		(arguments.json ? diff_json : diff_text)(&view, stdout);
	int rc = compare->is_disturbed	      ? CLI_NOT_KNOWN
		 : fails(compare, &arguments) ? CLI_GATE
					      : CLI_DONE;
	operator_changes_fini(&changes);
	for (int side = 0; side < 2; side++)
		operators_fini(&sides.operators[side]);
	compare_destroy(compare);
	diff_origins_fini(&origins);
	for (size_t i = 0; i < sides.series.count; i++)
		compare_series_fini(&sides.series.items[i]);
	array_fini(&sides.series);
	page_diff_destroy(sides.page);
	compare_names_fini(&sides.names);
	return rc;
}

const struct cli_command command_diff = {
	.name = "diff",
	.summary = "say which runs are faster, by which brick, and if that is noise",
	.run = run_diff,
	.flags = CLI_ANSWERS | CLI_READS,
	.usage = "[OPTIONS] A B\n[OPTIONS] A... -- B...",
	.about = "Compare recordings, or runs of the history (@last, @3, @NAME): is B faster than "
		 "A, which brick did it, and could that be noise? Record at least four runs of "
		 "each side, in turns; ten are better. Exit code 1 when B is slower, with --strict "
		 "also when the runs do not judge; 125 when other programs disturbed most runs.",
	.options = cmd_diff_option_table,
	.operands = words_references,
};
