/* SPDX-License-Identifier: Apache-2.0 */
/* `brick history plot`: one part of a token over runs. */
#include <stdlib.h>

#include "analysis/steps/step_times.h"
#include "cli/cmd_history.h"
#include "cli/die.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "ui/text/trend.h"

static int take(void *context, const struct history_point *point)
{
	struct trend *t = context;
	const struct trend_run run = {xstrdup(point->id), xstrdup(point->engine),
		xstrdup(point->labels), point->start_ns};

	return array_push(&t->runs, run) ? -ENOMEM : array_push(&t->ns, point->ns);
}

/* Which part of a token was asked for; the caller frees its name. */
static struct history_part part_of(const struct history_arguments *a)
{
	struct history_part part = {.phase = (char *)step_phase_name(a->phase)};

	if (!!a->brick + !!a->layer + !!a->kernel > 1)
		die_usage("history", "--brick, --layer and --kernel exclude each other");
	part.kind = a->brick ? "brick" : a->layer ? "layer" : a->kernel ? "kernel" : "step";
	part.name = a->layer ? xasprintf("layer %s", a->layer)
			     : xstrdup(a->brick	   ? a->brick
				       : a->kernel ? a->kernel
						   : "");
	return part;
}

static void write_file(const struct trend *t, const char *path,
	void (*write)(const struct trend *trend, FILE *out))
{
	struct output *output = output_open(path, NULL);

	write(t, output_stream(output));
	output_commit(output, 0);
}

static void show(const struct history_arguments *a, struct trend *t)
{
	long changes = change_points_find(&t->changes, t->ns.items, t->ns.count);

	if (changes < 0)
		die(CLI_SYSTEM, "not enough memory");
	t->change_count = (size_t)changes;
	if (a->svg)
		write_file(t, a->svg, trend_svg);
	if (a->html)
		write_file(t, a->html, trend_page);
	if (!a->svg && !a->html)
		(a->json ? trend_json : trend_text)(t, stdout);
}

int history_plot(const struct history_arguments *a)
{
	SCOPED_TO(history_store_close)
	struct history_store *store = history_runs_open(a->db, false);
	const struct history_filter filter = history_filter_of(a);
	struct history_part part = part_of(a);
	SCOPED char *what = xasprintf("%s, %s", *part.name ? part.name : "all of it", part.phase);
	struct trend trend = {.what = what};

	struct progress *progress = progress_start("history", NULL, 0);
	int rc = history_store_points(store, &filter, &part, take, &trend);
	progress_end(progress);
	history_runs_check(store, rc);
	if (!trend.ns.count)
		die(CLI_INPUT, "history: no run has %s", what);
	show(a, &trend);
	for (size_t i = 0; i < trend.runs.count; i++) {
		free(trend.runs.items[i].id);
		free(trend.runs.items[i].engine);
		free(trend.runs.items[i].labels);
	}
	array_fini(&trend.runs);
	array_fini(&trend.ns);
	free(trend.changes);
	free(part.name);
	return CLI_DONE;
}
