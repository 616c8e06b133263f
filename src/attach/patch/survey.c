/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A survey of one file (survey.h). An exported function is patched only in an object that reaches
 * none of these functions of its own through the dynamic linker (a program, or a library linked
 * with -Bsymbolic-functions): elsewhere preloading works as ever.
 */
#include "attach/patch/survey.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static int plan_all(struct survey *s, bool is_forced)
{
	struct plan **plans = calloc(s->count + 1, sizeof(*plans));
	bool is_reached = false;
	size_t n = 0;

	if (!plans)
		return -ENOMEM;
	for (size_t i = 0; i < s->count; i++)
		is_reached |= s->entries[i].function && s->entries[i].function->is_reached;
	for (size_t i = 0; i < s->count; i++) {
		struct survey_entry *e = &s->entries[i];
		if (!e->function)
			continue;
		e->way = e->function->is_exported && is_reached && !is_forced ? SURVEY_LINKED
									      : SURVEY_PATCHED;
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

static bool survey_is_wanted(const struct survey *s, const struct patch_name *name)
{
	const struct image_function *list = s->image.functions.items;

	for (size_t i = 0; name->is_wanted_with && i < s->image.functions.count; i++)
		if (name->is_wanted_with(list[i].name))
			return true;
	return !name->is_wanted_with;
}

/*
 * True for a compiler's remnants of a function whose other calls are inlined: a piece of it, or
 * copies without the arguments that are known. No table says which arguments are left.
 */
static bool is_remnant(const char *function, const char *name)
{
	size_t length = strlen(name);
	const char *suffix = strncmp(function, name, length) ? "" : function + length;

	return !strncmp(suffix, ".constprop.", 11) || !strncmp(suffix, ".isra.", 6) ||
	       !strncmp(suffix, ".part.", 6) || !strncmp(suffix, ".lto_priv.", 10);
}

static void refuse_remnants(struct survey *s)
{
	const struct image_function *list = s->image.functions.items;

	if (!s->defined)
		return;
	for (size_t i = 0; i < s->count; i++)
		if (s->entries[i].way == SURVEY_LINKED)
			return;
	for (size_t k = 0; k < s->image.functions.count; k++) {
		if (!strchr(list[k].name, '.'))
			continue;
		for (size_t i = 0; i < s->count; i++) {
			struct survey_entry *e = &s->entries[i];
			if (e->way != SURVEY_ABSENT || !is_remnant(list[k].name, e->of.name))
				continue;
			e->way = SURVEY_REFUSED;
			e->plan.refused = "only copies of it with other arguments are left "
					  "(.constprop, .isra, .part)";
		}
	}
}

/* How the functions of one group can be hooked, each by itself. */
struct group {
	bool is_patched; /* all functions that are needed are patched */
	bool is_refused; /* each needed one is patched or refused, and none is missing */
	bool has_other;	 /* another function can stand in for them */
};

static struct group survey_group_of(const struct survey *s, int group)
{
	struct group g = {true, true, false};
	bool is_linked = false;

	for (size_t i = 0; i < s->count; i++) {
		const struct survey_entry *e = &s->entries[i];
		if (e->of.group != group)
			continue;
		g.has_other |= e->of.stands_in && e->way == SURVEY_PATCHED;
		is_linked |= e->of.is_replaced && e->way == SURVEY_LINKED;
		if (!e->of.is_needed)
			continue;
		g.is_patched &= e->way == SURVEY_PATCHED;
		g.is_refused &= e->way == SURVEY_PATCHED || e->way == SURVEY_REFUSED;
	}
	g.has_other &= !g.is_patched && !is_linked;
	return g;
}

/* Decides about a function that could be patched. */
static enum survey_way way_of(const struct survey *s, const struct survey_entry *e)
{
	const struct group g = survey_group_of(s, e->of.group);

	if (!survey_is_wanted(s, &e->of) || (e->of.stands_in && !g.has_other) ||
		(e->of.is_replaced && g.has_other))
		return SURVEY_SPARED;
	if (g.is_patched || g.has_other)
		return SURVEY_PATCHED;
	return g.is_refused ? SURVEY_REFUSED : SURVEY_SPARED;
}

static int survey_judge(struct survey *s)
{
	enum survey_way *ways = calloc(s->count + 1, sizeof(*ways));

	if (!ways)
		return -ENOMEM;
	for (size_t i = 0; i < s->count; i++) {
		struct survey_entry *e = &s->entries[i];
		if (!e->plan.refused && e->plan.kept && !e->of.can_keep)
			e->plan.refused = "its callers keep values in registers over it";
		if (e->way == SURVEY_PATCHED && e->plan.refused)
			e->way = SURVEY_REFUSED;
	}
	for (size_t i = 0; i < s->count; i++)
		ways[i] = s->entries[i].way == SURVEY_PATCHED ? way_of(s, &s->entries[i])
							      : s->entries[i].way;
	for (size_t i = 0; i < s->count; i++) {
		struct survey_entry *e = &s->entries[i];
		e->way = ways[i];
		if (e->way == SURVEY_REFUSED && !e->plan.refused)
			e->plan.refused = "what it is needed with is refused";
		s->patched += e->way == SURVEY_PATCHED;
		s->refused += e->way == SURVEY_REFUSED;
	}
	free(ways);
	return 0;
}

int survey_open(struct survey *survey, const char *path, const struct patch_name *names,
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
	for (size_t i = 0; i < count; i++) {
		struct survey_entry *e = &survey->entries[i];
		int ambiguous = 0;
		e->of = names[i];
		e->function = image_find(&survey->image, e->of.name, &ambiguous);
		survey->defined += e->function || ambiguous;
		survey->has_sign |= e->of.is_sign && (e->function || ambiguous);
		if (ambiguous) {
			e->way = SURVEY_REFUSED;
			e->plan.refused = "there are several of that name";
		}
	}
	error = plan_all(survey, is_forced);
	refuse_remnants(survey);
	if (!error)
		error = survey_judge(survey);
	if (error)
		survey_close(survey);
	return error;
}

void survey_close(struct survey *survey)
{
	for (size_t i = 0; survey->entries && i < survey->count; i++)
		plan_fini(&survey->entries[i].plan);
	free(survey->entries);
	image_close(&survey->image);
	memset(survey, 0, sizeof(*survey));
}
