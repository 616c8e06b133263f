/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `brick diverge`: options, and the verdict that its exit code is. The forms are in diverge_text.c
 * and diverge_json.c.
 */
#include "view/diverge.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "brick/error.h"
#include "cli/command.h"
#include "view/die.h"
#include "view/input.h"
#include "cli/options.h"

static const char help[] =
	"Usage: brick diverge [OPTIONS] A B\n"
	"\n"
	"Say where the numbers of two runs part ways: the first result that differs by more than\n"
	"rounding explains, how much of that it inherited and how much it added. A and B are\n"
	"recordings with digests (brick record --digest, or brick_digest() in an engine); A is\n"
	"what B is measured by. Exit code 1 when they diverge.\n"
	"\n"
	"  --threshold X    the squared relative error (NMSE) that any result may have\n"
	"                   (default: by type and depth, see --rules)\n"
	"  --allow-formats  what different formats of weights explain is no divergence\n"
	"  --top N          show the N first places that diverge (default: 10)\n"
	"  --all            show all places that were compared\n"
	"  --rules          say which limits apply to what, and exit\n"
	"  --json           all of it as JSON (schema brick/diverge/1)\n"
	"  -h, --help       show this and exit\n";

static const char rules[] =
	"Results are compared by |A - B|^2 / |A|^2 (NMSE), which may be at most:\n"
	"\n"
	"  5e-4         products with quantised weights in both runs\n"
	"  32 u^2       attention over a 16-bit cache (7.6e-6)\n"
	"  4 u^2        results in 16-bit floating point, or computed from such values in both\n"
	"               runs; u is half of the distance of 1 and the next number:\n"
	"               2^-11 for F16 (9.5e-7), 2^-8 for BF16 (6.1e-5)\n"
	"  1e-7         everything else\n"
	"\n"
	"times the depth: 1 before the first layer, 2 in layer 0, 3 in layer 1, ...; behind the\n"
	"last layer as in it. A result also has the limits of those before it that B has not,\n"
	"and 4 times the NMSE that was allowed to 16-bit and quantised values that it was\n"
	"computed from. --threshold replaces all of it.\n"
	"\n"
	"Where one run computes with 16-bit weights and the other does not, each such product\n"
	"explains 4 u^2 more of what follows it (5e-4 for quantised ones). The report says which\n"
	"divergence is within that; it is one all the same, unless --allow-formats is given.\n"
	"\n"
	"NaN and infinite values that are not at the same places always diverge.\n";

struct arguments {
	struct diverge_options options;
	unsigned long top;
	bool all, json, rules;
};

static double threshold(const char *text)
{
	char *end;

	errno = 0;
	double value = strtod(text, &end);
	if (errno || end == text || *end || !(value >= 0) || isinf(value))
		die_usage("diverge", "--threshold %s: must be a number that is not negative", text);
	return value;
}

static void parse(struct arguments *arguments, int argc, char **argv)
{
	static const struct option longs[] = {
		{"threshold", required_argument, NULL, 't'},
		{"allow-formats", no_argument, NULL, 'f'},
		{"top", required_argument, NULL, 'n'},
		{"all", no_argument, NULL, 'a'},
		{"rules", no_argument, NULL, 'r'},
		{"json", no_argument, NULL, 'j'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	bool has_top = false;
	int c;

	while ((c = options_next(argc, argv, "", longs, help)) != -1) {
		switch (c) {
		case 't':
			arguments->options.threshold = threshold(optarg);
			break;
		case 'f':
			arguments->options.allow_formats = 1;
			break;
		case 'n':
			arguments->top = options_number("diverge", "--top", optarg, 1, UINT32_MAX);
			has_top = true;
			break;
		case 'a':
			arguments->all = true;
			break;
		case 'r':
			arguments->rules = true;
			break;
		case 'j':
			arguments->json = true;
			break;
		}
	}
	if (has_top && arguments->all)
		die_usage("diverge", "--top and --all exclude each other");
	if (arguments->rules && arguments->json)
		die_usage("diverge", "--rules: the rules are text");
}

static struct diverge *compare(
	const struct run *a, const struct run *b, const struct diverge_options *options)
{
	struct diverge *diverge;
	int which;
	int rc = diverge_create(&diverge, a, b, options, &which);

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
	return diverge;
}

static int run_diverge(int argc, char **argv)
{
	struct arguments arguments = {.options = {.threshold = -1}, .top = 10};

	parse(&arguments, argc, argv);
	if (arguments.rules) {
		fputs(rules, stdout);
		return CLI_DONE;
	}
	if (argc - optind != 2)
		die_usage("diverge", "diverge: two recordings, please");
	struct run *a = input_load_telling(argv[optind]);
	struct run *b = input_load_telling(argv[optind + 1]);
	struct diverge *diverge = compare(a, b, &arguments.options);
	const struct diverge_view view = {
		a, b, diverge, &arguments.options, arguments.top, arguments.all};
	if (arguments.json)
		diverge_json(&view, stdout);
	else
		diverge_text(&view, stdout);
	int rc = diverge->first == RUN_NONE ? CLI_DONE : CLI_GATE;
	diverge_destroy(diverge);
	run_destroy(a);
	run_destroy(b);
	return rc;
}

const struct cli_command command_diverge = {
	.name = "diverge",
	.summary = "find where the numbers of two runs part ways",
	.run = run_diverge,
	.flags = CLI_ANSWERS,
};
