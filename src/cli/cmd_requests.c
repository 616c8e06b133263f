/* SPDX-License-Identifier: Apache-2.0 */
/* `brick requests`: options, and the choice of the form (src/ui/text/requests_view.h). */
#include "ui/text/requests_view.h"

#include <stdbool.h>
#include <stdint.h>

#include "brick/error.h"
#include "cli/command.h"
#include "cli/die.h"
#include "cli/input.h"
#include "cli/selection_options.h"
#include "ui/text/json_out.h"

struct options {
	unsigned long slowest;
	bool json, csv;
};

static const struct cli_option cmd_requests_option_table[] = {
	{"slowest", "N", "the N requests whose first token took longest, and the N longest gaps",
		option_number, AT(slowest), .low = 1, .high = UINT32_MAX},
	{"json", NULL, "all of it as JSON (schema brick/requests/1)", option_flag, AT(json)},
	{"csv", NULL, "a line for each request as CSV", option_flag, AT(csv)},
	OPTION_HELP,
};

static int run_requests(int argc, char **argv)
{
	struct options options = {0};
	struct step_index index;
	struct requests *requests;
	struct interference *interference;
	struct speculations *speculations;

	options_parse(&command_requests, &options, argc, argv);
	if (options.json && options.csv)
		die_usage("requests", "--json and --csv: one of them, please");
	SCOPED_TO(run_destroy) struct run *run = input_load_telling(input_operand(argc, argv));
	int rc = requests_create(&requests, run);
	if (rc == BRICK_ENOTRECORDED)
		die(CLI_INPUT, "%s: %s", run->path,
			!run->step_count	    ? "has no steps"
			: run->sequence_event_count ? "has no step of a request that was evaluated"
						    : "does not say whose tokens its steps "
						      "evaluate: its engine is not known to, or "
						      "an older Brick recorded it");
	if (rc == 0)
		rc = interference_create(&interference, requests);
	if (rc == 0)
		rc = speculations_create(&speculations, requests);
	if (rc == 0)
		rc = step_index_init(&index, run);
	SCOPED uint32_t *numbers = rc == 0 ? step_number_list(run, &index) : NULL;
	if (!numbers)
		die(CLI_SYSTEM, "%s: not enough memory for its requests", run->path);
	struct requests_view view = {.run = run,
		.requests = requests,
		.interference = interference,
		.speculations = speculations,
		.numbers = numbers,
		.slowest = options.slowest};
	presence_of_run(&view.presence, run, &index);
	if (options.json)
		json_print(requests_to_json(&view), stdout);
	else if (options.csv)
		requests_csv(&view, stdout);
	else
		requests_text(&view, stdout);
	step_index_fini(&index);
	speculations_destroy(speculations);
	interference_destroy(interference);
	requests_destroy(requests);
	return CLI_DONE;
}

const struct cli_command command_requests = {
	.name = "requests",
	.summary = "say how long each request took, and who made it wait",
	.run = run_requests,
	.flags = CLI_ANSWERS | CLI_READS,
	.usage = "[OPTIONS] [FILE]",
	.about = "Show for each request of a server when its first token came, how long it waited "
		 "between tokens, and what made it wait; how many tokens of its prompt were found "
		 "in the cache, and why others were evaluated again; what prompts cost other "
		 "requests; and how many drafts held, and which length would have been best.",
	.options = cmd_requests_option_table,
};
