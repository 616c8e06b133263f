/* SPDX-License-Identifier: Apache-2.0 */
/* A counter's joules; bounds stand in the text where they are far apart. */
#include "ui/text/energy_view.h"

#include <errno.h>
#include <string.h>

#include "base/number.h"
#include "ui/text/json_out.h"
#include "ui/text/text.h"

#define ENERGY_APART 0.1	  /* bounds that are further from each other than this are shown */
#define ENERGY_LATE_NS 2000000000 /* a source that is read to the end has a later reading */

/* "1.23J", "45.6mJ". */
static char *energy_joules(char out[UNITS_BYTES], double joules)
{
	char number[UNITS_BYTES];
	bool is_small = joules < 1;

	units_number(number, is_small ? 1e3 * joules : joules);
	snprintf(out, UNITS_BYTES, "%.*s%s", UNITS_BYTES - 3, number, is_small ? "mJ" : "J");
	return out;
}

char *energy_text(
	const struct run *run, const struct step_times *times, const struct energy_row *row)
{
	char all[UNITS_BYTES], each[UNITS_BYTES], step[UNITS_BYTES], low[UNITS_BYTES],
		high[UNITS_BYTES];
	char *text = text_copy(run->energy_sources[row->source].name);
	const char *between = ": ";

	if (row->joules >= 0)
		text_append(&text, " ", "%s", energy_joules(all, row->joules));
	for (int i = 0; i < STEP_PHASES; i++) {
		enum step_phase p = step_phase_order[i];
		const struct energy_of_phase *of = &row->phases[p];
		if (of->joules < 0 || p == STEP_WARM_UP)
			continue;
		text_append(&text, between, "%s %s", step_phase_name(p),
			energy_joules(all, of->joules));
		if (of->high - of->low > ENERGY_APART * of->joules)
			text_append(&text, " ", "(%s to %s)", energy_joules(low, of->low),
				energy_joules(high, of->high));
		if (of->per_token >= 0)
			text_append(&text, ", ", "%s a token", energy_joules(each, of->per_token));
		if (of->per_step >= 0 && times->phases[p].count != times->phases[p].tokens)
			text_append(&text, ", ", "%s a step", energy_joules(step, of->per_step));
		between = "; ";
	}
	if (run->end_ns > row->until_ns + ENERGY_LATE_NS)
		text_append(&text, "; ", "read until %s only",
			units_time(all, number_minus(row->until_ns, run->start_ns)));
	return text;
}

char *energy_absent_text(const struct run *run)
{
	bool is_known = run->energy_source_count > 0;
	const char *refused = *run->energy_refused	     ? run->energy_refused
			      : run->energy_error == -EACCES ? "the system's counters"
							     : NULL;

	if (refused)
		return text_format("%s: this user may not read %s; until the next boot all users "
				   "may after 'chmod a+r%s%s' as root",
			is_known ? "not all known" : "not known", refused,
			strstr(refused, "hwmon ") ? " /sys/class/hwmon/hwmon*/*_input" : "",
			strncmp(refused, "hwmon ", 6) ? " /sys/class/powercap/*/energy_uj" : "");
	switch (is_known ? 0 : run->energy_error) {
	case 0:
		return NULL;
	case -ENOENT:
		return text_copy("not known: the system has no counter of it (RAPL, hwmon)");
	default:
		return text_format("not known: %s", strerror(-run->energy_error));
	}
}

static json_t *energy_phase_json(const struct energy_of_phase *of)
{
	if (of->joules < 0)
		return json_null();
	json_t *object = json_object();
	json_put_rates(object, of, joules, low, high, per_step, per_token);
	return object;
}

json_t *energy_json(const struct run *run, const struct step_times *times)
{
	SCOPED_BY(energy_rows_fini) struct energy_rows rows = {0};

	if (text_fail(energy_rows_measure(&rows, run, times)) || !rows.list.count)
		return json_null();
	json_t *list = json_array();
	for (size_t i = 0; i < rows.list.count; i++) {
		const struct energy_row *row = &rows.list.items[i];
		json_t *object = json_object(), *phases = json_object();
		json_put(object, "source", json_text(run->energy_sources[row->source].name));
		json_put_rates(object, row, joules);
		json_put_numbers(object, row, readings, period_ns);
		for (int p = 0; p < STEP_PHASES; p++)
			json_put(phases, p == STEP_WARM_UP ? "warm_up" : step_phase_name(p),
				energy_phase_json(&row->phases[p]));
		json_put(object, "phases", phases);
		json_add(list, object);
	}
	return list;
}
