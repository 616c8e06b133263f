/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `brick diverge`: options, and the verdict that its exit code is. ui/text/diverge_view.c writes
 * the answer.
 */
#include "ui/text/diverge_view.h"

#include <float.h>
#include <stdint.h>

#include "brick/error.h"
#include "cli/command.h"
#include "cli/die.h"
#include "cli/input.h"
#include "cli/options.h"

static const char cmd_diverge_rules[] =
	"Results are compared by |A - B|^2 / |A|^2 (NMSE), which may be at most:\n"
	"\n"
	"  5e-4         products with quantised weights in both runs\n"
	"  32 u^2       attention over a 16-bit cache (7.6e-6)\n"
	"  4 u^2        results in 16-bit floating point, or computed from such values in both\n"
	"               runs; u is half of the distance of 1 and the next number:\n"
	"               2^-11 for F16 (9.5e-7), 2^-8 for BF16 (6.1e-5)\n"
	"  1e-7         everything else\n"
	"\n"
	"times the depth: 1 before the first layer, 2 in layer 0, 3 in layer 1, ...; after the\n"
	"last layer as in it. A result also has the limits of those before it that B lacks,\n"
	"and 4 times the NMSE that was allowed to 16-bit and quantised values that it was\n"
	"computed from. --threshold replaces all of it.\n"
	"\n"
	"Where the runs' formats differ, a result's own formats explain 4 u^2 where only one run\n"
	"has 16-bit values (32 u^2 of attention), and where only one has quantised weights 4 "
	"times\n"
	"the NMSE that the middle one of such results adds to its inputs' in these runs; its\n"
	"inputs explain 4 times the part of their own NMSE that formats explain. An\n"
	"error that makes a result longer or shorter, or sits in a few elements, is not "
	"explained.\n"
	"The answer says which divergence is within that; it is one all the same, unless\n"
	"--allow-formats is given, for which weights that both runs have quantised may be so in\n"
	"different ways. Attention's scores are judged by the softmax after them. A mistake that\n"
	"is smaller than the formats' errors and spread like rounding is not seen. Where the\n"
	"runs go on with other tokens their inputs differ: the comparison ends.\n"
	"\n"
	"NaN and infinite values that are not at the same places always diverge.\n";

struct options {
	struct diverge_options options;
	unsigned long top;
	bool all, json, rules;
};

static void set_threshold(const struct option_use *use, const char *text)
{
	*(double *)use->to = option_double(use, text, 0, DBL_MAX, "a number that is not negative");
}

static void set_formats(const struct option_use *use, const char *text)
{
	*(int *)use->to = 1;
}

static const struct cli_option cmd_diverge_option_table[] = {
	{"threshold", "X",
		"the squared relative error (NMSE) that any result may have (default: by type and "
		"depth, see --rules)",
		set_threshold, AT(options.threshold)},
	{"allow-formats", NULL, "what different formats of weights may explain is no divergence",
		set_formats, AT(options.allow_formats)},
	{"top", "N", "show the first N places that diverge (default: 10)", option_number, AT(top),
		.low = 1, .high = UINT32_MAX},
	{"all", NULL, "show all places that were compared", option_flag, AT(all)},
	{"rules", NULL, "say which limits apply to what, and exit", option_flag, AT(rules)},
	{"json", NULL, "all of it as JSON (schema brick/diverge/1)", option_flag, AT(json)},
	OPTION_HELP,
};

static int run_diverge(int argc, char **argv)
{
	struct options arguments = {.options = {.threshold = -1}};

	options_parse(&command_diverge, &arguments, argc, argv);
	if (arguments.top && arguments.all)
		die_usage("diverge", "--top and --all exclude each other");
	if (arguments.rules && arguments.json)
		die_usage("diverge", "--rules: the rules are text");
	if (!arguments.top)
		arguments.top = 10;
	if (arguments.rules) {
		fputs(cmd_diverge_rules, stdout);
		return CLI_DONE;
	}
	if (argc - optind != 2)
		die_usage("diverge", "diverge: two recordings, please");
	input_batch_begin(argv + optind, 2);
	SCOPED_TO(run_destroy) struct run *a = input_load_telling(argv[optind]);
	SCOPED_TO(run_destroy) struct run *b = input_load_telling(argv[optind + 1]);
	input_batch_end();
	struct diverge *diverge;
	int which;
	int rc = diverge_create(&diverge, a, b, &arguments.options, &which);
	if (rc == BRICK_ENOTRECORDED)
		die(CLI_INPUT, "%s: holds no digests (brick record --digest)",
			(which ? b : a)->path);
	if (rc < 0)
		die(CLI_SYSTEM, "%s: not enough memory", a->path);
	if (!diverge->place_count)
		die(CLI_INPUT,
			"%s and %s: no result of one is a result of the other: %u digests in %u "
			"steps, %u in %u; nothing was compared",
			a->path, b->path, diverge->digests_a, diverge->steps_a, diverge->digests_b,
			diverge->steps_b);
	const struct diverge_view view = {
		a, b, diverge, &arguments.options, arguments.top, arguments.all};
	if (arguments.json)
		diverge_json(&view, stdout);
	else
		diverge_text(&view, stdout);
	rc = diverge->diverges ? CLI_GATE : CLI_DONE;
	diverge_destroy(diverge);
	return rc;
}

const struct cli_command command_diverge = {
	.name = "diverge",
	.summary = "find where the numbers of two runs part ways",
	.run = run_diverge,
	.flags = CLI_ANSWERS | CLI_READS,
	.usage = "[OPTIONS] A B",
	.about = "Say where the numbers of two runs part ways: the first result that differs by "
		 "more than rounding explains, how much of its error came with its inputs, and how "
		 "much it added. A and B are recordings with digests (brick record --digest, or "
		 "brick_digest() in an engine); A is the reference. Exit code 1 when they diverge.",
	.options = cmd_diverge_option_table,
};
