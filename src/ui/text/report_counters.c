/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters per step for people and as JSON: means of the steps that have them, CPUs kept busy,
 * instructions per cycle from real counters only.
 */
#include "ui/text/report_counters.h"

#include <stdlib.h>
#include <string.h>

#include "ui/text/terminal.h"
#include "analysis/accounts/counter_accounts.h"
#include "ui/text/json_out.h"
#include "ui/text/text.h"

static void measure(struct counters *counters, const struct run *run)
{
	SCOPED_BY(step_index_fini) struct step_index index;

	memset(counters, 0, sizeof(*counters));
	if (text_fail(step_index_init(&index, run)) == 0)
		counters_measure(counters, run, &index);
}

/* Append "1.98ms task-clock (1.96 CPUs)", "12.3 page-faults", ... */
static void add_kind(char **text, const struct counters *c, enum step_phase phase, uint32_t kind)
{
	const struct counters_sum *sum = &c->phases[phase][kind];
	double mean = counters_mean(c, phase, kind);
	char number[UNITS_BYTES], most[UNITS_BYTES];

	if (kind == BRICK_COUNTER_TASK_CLOCK)
		text_append(text, ", ", "%s task-clock (%.2f CPUs busy)",
			units_time(number, (uint64_t)(mean + 0.5)),
			c->span_ns[phase] ? sum->sum / (double)c->span_ns[phase] : 0);
	else if (mean >= 100000)
		text_append(text, ", ", "%s %s", units_count(number, (uint64_t)(mean + 0.5)),
			counters_kind_name(kind));
	else
		text_append(text, ", ", "%s %s (at most %s)", units_number(number, mean),
			counters_kind_name(kind), units_count(most, (uint64_t)(sum->most + 0.5)));
}

static char *phase_text(const struct counters *c, enum step_phase phase)
{
	char time[UNITS_BYTES], *text = NULL;

	for (uint32_t kind = 0; kind < BRICK_COUNTER_KINDS; kind++)
		if (c->phases[phase][kind].steps)
			add_kind(&text, c, phase, kind);
	if (text && counters_ipc(c, phase) >= 0)
		text_append(&text, ", ", "%.2f instructions per cycle", counters_ipc(c, phase));
	if (text && counters_mean(c, phase, COUNTERS_READING) >= 0)
		text_append(&text, "; ", "reading them took %s a step, outside of its time",
			units_time(
				time, (uint64_t)(counters_mean(c, phase, COUNTERS_READING) + 0.5)));
	return text;
}

/* One line for each brick that was counted. */
static void print_bricks(const struct run *run, const struct terminal *terminal, size_t label)
{
	const char *title = "Counted";

	for (uint32_t b = 0; b < run->brick_count; b++) {
		struct counters_brick sum = counters_of_brick(run, b);
		char cycles[UNITS_BYTES], instructions[UNITS_BYTES], misses[UNITS_BYTES];
		if (!sum.counted)
			continue;
		SCOPED char *rate = sum.cycles && sum.instructions
					    ? text_format("; %.2f instructions per cycle",
						      (double)sum.instructions / (double)sum.cycles)
					    : text_copy("");
		paragraph(terminal, label, title,
			"%s: %s cycles, %s instructions, %s cache-misses in %llu executions%s",
			run->bricks[b].name, units_count(cycles, sum.cycles),
			units_count(instructions, sum.instructions),
			units_count(misses, sum.cache_misses), (unsigned long long)sum.counted,
			rate);
		title = "";
	}
}

void report_counters_text(const struct run *run, const struct terminal *terminal, size_t label)
{
	static const char *const phases[] = {
		"a prefill step", "a decode step", "a mixed step", "a warm-up step"};
	const char *title = "Counters";
	struct counters counters;

	measure(&counters, run);
	for (int phase = 0; phase < STEP_PHASES; phase++) {
		SCOPED char *text = phase_text(&counters, phase);
		if (!text)
			continue;
		paragraph(terminal, label, title, "%s: %s", phases[phase], text);
		title = "";
	}
	print_bricks(run, terminal, label);
}

static json_t *sum_json(const struct counters_sum *sum)
{
	json_t *object = json_object();

	json_put(object, "steps", json_number(sum->steps));
	json_put(object, "sum", json_rate(sum->sum));
	json_put(object, "mean", json_rate(sum->sum / (double)sum->steps));
	json_put(object, "min", json_rate(sum->least));
	json_put(object, "max", json_rate(sum->most));
	return object;
}

static json_t *phase_json(const struct counters *c, enum step_phase phase)
{
	json_t *object = json_object();

	for (uint32_t kind = 0; kind < COUNTERS_KINDS; kind++)
		if (c->phases[phase][kind].steps)
			json_put(object, counters_kind_name(kind),
				sum_json(&c->phases[phase][kind]));
	json_put(object, "instructions_per_cycle", json_rate(counters_ipc(c, phase)));
	return object;
}

static json_t *bricks_json(const struct run *run)
{
	json_t *array = json_array();

	for (uint32_t b = 0; b < run->brick_count; b++) {
		struct counters_brick sum = counters_of_brick(run, b);
		if (!sum.counted)
			continue;
		json_t *object = json_object();
		json_put(object, "name", json_text(run->bricks[b].name));
		json_put_numbers(object, &sum, counted, cycles, instructions, cache_misses);
		json_put(object, "instructions_per_cycle",
			json_rate(sum.cycles && sum.instructions
					  ? (double)sum.instructions / (double)sum.cycles
					  : -1));
		json_add(array, object);
	}
	return array;
}

json_t *report_counters_json(const struct run *run)
{
	struct counters counters;

	measure(&counters, run);
	json_t *bricks = bricks_json(run);
	if (!counters_any(&counters) && !json_array_size(bricks)) {
		json_decref(bricks);
		return json_text(NULL);
	}
	json_t *object = json_object();
	json_put(object, "bricks", bricks);
	json_put(object, "prefill", phase_json(&counters, STEP_PREFILL));
	json_put(object, "decode", phase_json(&counters, STEP_DECODE));
	return object;
}
