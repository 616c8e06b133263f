/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A survey of one file (survey.h). An exported function is patched only in an object that reaches
 * none of these functions of its own through the dynamic linker (a program, or a library linked
 * with -Bsymbolic-functions): elsewhere preloading works as ever.
 */
#include "attach/patch/survey.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static void find_functions(struct survey *s, const struct survey_name *names)
{
	for (size_t i = 0; i < s->count; i++) {
		struct survey_entry *e = &s->entries[i];
		int ambiguous = 0;
		e->name = names[i].name;
		e->can_keep = names[i].can_keep;
		e->function = image_find(&s->image, e->name, &ambiguous);
		s->defined += e->function || ambiguous;
		if (ambiguous) {
			e->way = SURVEY_REFUSED;
			e->plan.refused = "there are several of that name";
		}
	}
}

static bool binds_within_itself(const struct survey *s)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->entries[i].function && s->entries[i].function->is_reached)
			return false;
	return true;
}

static int plan_all(struct survey *s, bool is_forced)
{
	struct plan **plans = calloc(s->count + 1, sizeof(*plans));
	int within = is_forced || binds_within_itself(s);
	size_t n = 0;

	if (!plans)
		return -ENOMEM;
	for (size_t i = 0; i < s->count; i++) {
		struct survey_entry *e = &s->entries[i];
		if (!e->function)
			continue;
		e->way = e->function->is_exported && !within ? SURVEY_LINKED : SURVEY_PATCHED;
		if (e->way != SURVEY_PATCHED)
			continue;
		plan_function(&e->plan, &s->image, e->function);
		plans[n++] = &e->plan;
	}
	int error = n ? plan_surroundings(plans, n, &s->image) : 0;
	for (size_t i = 0; i < n; i++)
		plan_callers(plans[i], &s->image);
	free(plans);
	return error;
}

static void judge(struct survey *s)
{
	for (size_t i = 0; i < s->count; i++) {
		struct survey_entry *e = &s->entries[i];
		if (!e->plan.refused && e->plan.kept && !e->can_keep)
			e->plan.refused = "its callers keep values in registers over it";
		if (e->way == SURVEY_PATCHED && e->plan.refused)
			e->way = SURVEY_REFUSED;
		s->patched += e->way == SURVEY_PATCHED;
		s->refused += e->way == SURVEY_REFUSED;
	}
}

int survey_open(struct survey *survey, const char *path, const struct survey_name *names,
	size_t count, bool is_forced)
{
	memset(survey, 0, sizeof(*survey));
	int error = image_open(&survey->image, path);

	if (error)
		return error;
	survey->count = count;
	survey->entries = calloc(count + 1, sizeof(*survey->entries));
	if (!survey->entries) {
		survey_close(survey);
		return -ENOMEM;
	}
	find_functions(survey, names);
	error = plan_all(survey, is_forced);
	if (error) {
		survey_close(survey);
		return error;
	}
	judge(survey);
	return 0;
}

void survey_close(struct survey *survey)
{
	for (size_t i = 0; survey->entries && i < survey->count; i++)
		plan_fini(&survey->entries[i].plan);
	free(survey->entries);
	image_close(&survey->image);
	memset(survey, 0, sizeof(*survey));
}
