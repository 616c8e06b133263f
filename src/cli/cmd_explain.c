/* SPDX-License-Identifier: Apache-2.0 */
/* `brick explain`: the recording, the ceilings kept for its machine, and the choice of the form. */
#include <stdlib.h>

#include "cli/command.h"
#include "cli/history_runs.h"
#include "cli/options.h"
#include "cli/selection_options.h"
#include "ui/text/explain_view.h"
#include "ui/text/ceilings_view.h"
#include "cli/die.h"
#include "cli/input.h"

struct options {
	struct selection selection;
	unsigned long top;
	bool json;
};

static const struct cli_option cmd_explain_option_table[] = {
	SELECTION_PHASE(offsetof(struct options, selection)),
	SELECTION_OPTIONS(offsetof(struct options, selection)),
	{"top", "N", "show the N findings that cost most only", option_number, AT(top), .low = 1,
		.high = UINT32_MAX},
	{"json", NULL, "as JSON of at most 8 kB (schema brick/explain/2)", option_flag, AT(json)},
	OPTION_HELP,
};

/* Compares the whole recording with earlier ones of its workload, if there is a history. */
static void cmd_explain_find_usual(struct usual_times *usual, const struct run *run)
{
	SCOPED_BY(history_run_fini) struct history_run now = {0};
	struct history_runs earlier = {0};

	history_entry_init(&now, run, run->path);
	history_runs_earlier(&earlier, &now);
	xcheck(usual_times_init(usual, run, &now, earlier.list.items, earlier.list.count));
	history_runs_fini(&earlier);
}

static int run_explain(int argc, char **argv)
{
	struct options options = {.selection = SELECTION_INIT};
	SCOPED char *where = NULL;

	options_parse(&command_explain, &options, argc, argv);
	SCOPED_TO(run_destroy) struct run *run = input_load_telling(input_operand(argc, argv));
	selection_narrow(&options.selection, run);
	if (!run->step_count)
		die(CLI_INPUT, "%s: holds no steps: there are no tokens to explain", run->path);
	SCOPED_TO(ceilings_destroy)
	struct ceilings *ceilings = ceilings_kept(run->host, run->cpu, &where);
	SCOPED_BY(usual_times_fini) struct usual_times usual = {0};
	SCOPED_BY(explain_facts_fini) struct explain_facts facts;
	SCOPED_BY(findings_fini) struct findings findings;
	if (!selection_is_any(&options.selection))
		cmd_explain_find_usual(&usual, run);
	int rc = explain_facts_init(&facts, run, ceilings);
	facts.usual = &usual;
	if (rc < 0 || findings_init(&findings, &facts) < 0)
		die(CLI_SYSTEM, "%s: not enough memory", run->path);
	(options.json ? explain_json : explain_text)(&facts, &findings, options.top, stdout);
	if (ceilings)
		ceilings_learn(
			ceilings, where, facts.roofline, expectation_learn(ceilings, &facts));
	return CLI_DONE;
}

const struct cli_command command_explain = {
	.name = "explain",
	.summary = "say what costs time, with the evidence, and what to try",
	.run = run_explain,
	.flags = CLI_ANSWERS | CLI_READS,
	.usage = "[OPTIONS] [FILE]",
	.about =
		"Find causes of lost time, the most expensive first, each with its cost per token, "
		"the evidence, what to try and what to expect of it, and the command that shows "
		"it. A setting of yours, such as a long context, ranks as if it cost a quarter.",
	.notes = "What is below 2 % of a phase is no finding. Rooflines need 'brick ceilings' to "
		 "have been run once on the machine.",
	.options = cmd_explain_option_table,
};
