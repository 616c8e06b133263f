/* SPDX-License-Identifier: Apache-2.0 */
#include "ui/text/exemplar_text.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "analysis/accounts/slow_step.h"
#include "ui/text/json_out.h"
#include "ui/text/text.h"

enum { EXEMPLARS_SHOWN = 3 };

static const char *slow_part_name(const struct slow_step_part *part)
{
	return part->brick ? part->brick : "in no brick";
}

/* ": DownProjection +80.2ms (blocked 79.9ms), Sampling +3ms" */
static char *parts_text(const struct slow_step *slow)
{
	char more[UNITS_BYTES], off[UNITS_BYTES];
	char *text = NULL;

	for (size_t i = 0; i < slow->part_count; i++) {
		const struct slow_step_part *part = &slow->parts[i];
		uint64_t more_ns = part->took_ns - part->usual_ns;
		text_append(&text, ", ", "%s +%s", slow_part_name(part), units_time(more, more_ns));
		if (part->blocked_ns > more_ns / 2)
			text_append(&text, " ", "(blocked %s)", units_time(off, part->blocked_ns));
		else if (part->preempted_ns > more_ns / 2)
			text_append(
				&text, " ", "(preempted %s)", units_time(off, part->preempted_ns));
	}
	if (slow->others_preempted_ns > (slow->took_ns - slow->usual_ns) / 2)
		text_append(&text, "; ", "other threads were preempted for %s",
			units_time(off, slow->others_preempted_ns));
	return text;
}

static void say_mark(char **all, const struct run *run, const struct run_mark *mark)
{
	char took[UNITS_BYTES], usual[UNITS_BYTES];
	struct slow_step slow;

	if (slow_step_at(&slow, run, mark->ns) <= 0) {
		text_append(all, "; ", "%s",
			strcmp(mark->text, "slow step")
				? "records were lost here"
				: "a slow step; it or its neighbours are not whole in this file");
		return;
	}
	text_append(all, "; ", "step %u took %s, its neighbours %s", slow.number,
		units_time(took, slow.took_ns), units_time(usual, slow.usual_ns));
	char *parts = slow.took_ns > slow.usual_ns ? parts_text(&slow) : NULL;
	if (parts)
		text_append(all, ": ", "%s", parts);
	free(parts);
}

/* How long the step of a mark took; 0: it is not known. */
static uint64_t marked_ns(const struct run *run, const struct run_mark *mark)
{
	for (size_t i = 0; i < run->step_count; i++)
		if (run->steps[i].begin_ns == mark->ns)
			return run->steps[i].end_ns - mark->ns;
	return 0;
}

/* The mark with the longest step of those that are not told yet; NULL: all are. */
static const struct run_mark *longest_mark(
	const struct run *run, const struct run_mark **told, size_t n)
{
	const struct run_mark *most = NULL;

	for (const struct run_mark *m = run->marks; m < run->marks + run->mark_count; m++) {
		bool is_told = m->kind != MARK_EXEMPLAR;
		for (size_t i = 0; i < n; i++)
			is_told |= told[i] == m;
		if (!is_told && (!most || marked_ns(run, m) > marked_ns(run, most)))
			most = m;
	}
	return most;
}

char *exemplar_text(const struct run *run)
{
	const struct run_mark *told[EXEMPLARS_SHOWN];
	char *text = NULL;
	size_t count = 0, shown = 0;

	for (size_t i = 0; i < run->mark_count; i++)
		count += run->marks[i].kind == MARK_EXEMPLAR;
	for (; shown < EXEMPLARS_SHOWN && shown < count; shown++) {
		told[shown] = longest_mark(run, told, shown);
		say_mark(&text, run, told[shown]);
	}
	if (count > shown)
		text_append(&text, "; ", "%zu more", count - shown);
	return text;
}

static json_t *exemplar_json_part(const struct slow_step_part *part)
{
	json_t *object = json_object();

	json_put_texts(object, part, brick);
	json_put_numbers(object, part, took_ns, usual_ns, preempted_ns, blocked_ns);
	return object;
}

static json_t *exemplar_json_mark(const struct run *run, const struct run_mark *mark)
{
	json_t *object = json_object(), *parts = json_array();
	struct slow_step slow;

	json_put(object, "why", json_text(mark->text));
	json_put(
		object, "ns", json_number(mark->ns > run->start_ns ? mark->ns - run->start_ns : 0));
	if (slow_step_at(&slow, run, mark->ns) <= 0) {
		json_put(object, "step", json_null());
		json_decref(parts);
		return object;
	}
	json_put(object, "step", json_number(slow.number));
	json_put_numbers(object, &slow, took_ns, usual_ns, neighbours, others_preempted_ns);
	for (size_t i = 0; i < slow.part_count; i++)
		json_add(parts, exemplar_json_part(&slow.parts[i]));
	json_put(object, "longer", parts);
	return object;
}

json_t *exemplar_json(const struct run *run)
{
	json_t *list = json_array();

	for (size_t i = 0; i < run->mark_count; i++)
		if (run->marks[i].kind == MARK_EXEMPLAR)
			json_add(list, exemplar_json_mark(run, &run->marks[i]));
	return list;
}
