/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts of recordings as keys and values, compared as sets: what all recordings of one side say
 * against what those of the other say.
 */
#include "ui/text/diff_origin.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/cost/losses.h"
#include "base/array.h"
#include "brick/session.h"
#include "ui/text/text.h"
#include "ui/text/provenance.h"

/* What must be the same for a fair comparison; a name that ends in a point stands for all below. */
static const char *const must_agree[] = {"host", "CPU", "CPUs", "clock", "mode", "prompt tokens",
	"records lost", "attach", "steps", "backend", "capture.", NULL};

/* Notes of what was measured in that very run: they always differ. */
static const char *const measured[] = {
	"session.end", "cuda.clock", "cuda.correlation", "vulkan.clock", "opencl.clock", NULL};

static bool is_listed(const char *const *list, const char *key)
{
	for (; *list; list++) {
		size_t length = strlen(*list);
		if (!strcmp(*list, key) ||
			((*list)[length - 1] == '.' && !strncmp(*list, key, length)))
			return true;
	}
	return false;
}

/* value: taken. */
static void add_fact(struct diff_origin *origin, const char *key, char *value)
{
	struct diff_fact fact = {text_copy(key), value};

	if (fact.key && value && !text_fail(array_push(&origin->facts, fact)))
		return;
	free(fact.key);
	free(value);
}

static void add_text(struct diff_origin *origin, const char *key, const char *value)
{
	add_fact(origin, key, text_copy(value ? value : "not known"));
}

static void add_machine(struct diff_origin *origin, const struct run *run)
{
	static const char *const modes[] = {
		[BRICK_MODE_IMMEDIATE] = "immediate",
		[BRICK_MODE_PER_LAYER] = "per-layer",
		[BRICK_MODE_DEFERRED] = "deferred",
		[BRICK_MODE_NONE] = "none",
	};
	uint32_t mode = run->process_count ? run->processes[0].mode : BRICK_MODE_DEFERRED;

	add_text(origin, "host", run->host);
	add_text(origin, "CPU", run->cpu);
	add_fact(origin, "CPUs", text_format("%u", run->cpus));
	add_text(origin, "clock", brick_clock_source_name(run->clock.source));
	add_text(origin, "mode",
		mode < sizeof(modes) / sizeof(*modes) && modes[mode] ? modes[mode] : "not known");
	add_text(origin, "Brick", run->version);
}

static void add_notes(struct diff_origin *origin, const struct run *run)
{
	for (size_t i = 0; i < run->note_count; i++) {
		const char *key = run->notes[i].key;
		bool seen = is_listed(measured, key);
		for (size_t k = 0; k < i && !seen; k++)
			seen = !strcmp(run->notes[k].key, key);
		if (seen)
			continue;
		SCOPED const char **values = provenance_notes(run, key);
		for (size_t k = 0; values && values[k]; k++)
			add_text(origin, key, values[k]);
	}
}

static void add_work(struct diff_origin *origin, const struct run *run)
{
	struct losses losses;
	uint64_t prompt = 0, output = 0, threads = 0;

	for (size_t i = 0; i < run->step_count; i++) {
		const struct run_step *step = &run->steps[i];
		if (step->phase == BRICK_PHASE_PREFILL)
			prompt += step->tokens;
		if (step->phase == BRICK_PHASE_DECODE)
			output += step->tokens;
	}
	for (size_t i = 0; i < run->lane_count; i++)
		threads += run->lanes[i].kind == BRICK_LANE_THREAD && run->lanes[i].sample_count;
	losses_of_run(&losses, run, 0);
	add_fact(origin, "prompt tokens", text_format("%llu", (unsigned long long)prompt));
	add_fact(origin, "output tokens", text_format("%llu", (unsigned long long)output));
	add_fact(origin, "threads", text_format("%llu", (unsigned long long)threads));
	add_text(origin, "records lost", losses_any(&losses) ? "yes" : "no");
}

void diff_origin_init(struct diff_origin *origin, const struct run *run)
{
	*origin = (struct diff_origin){.path = text_copy(run->path),
		.command = provenance_command(run),
		.start_unix_ns = run->start_unix_ns,
		.steps = run->step_count};
	add_text(origin, "command", origin->command);
	add_machine(origin, run);
	add_notes(origin, run);
	add_work(origin, run);
}

void diff_origin_of_history(struct diff_origin *origin, const struct history_run *run)
{
	*origin = (struct diff_origin){.path = text_format("@%.8s", run->id),
		.command = text_copy(run->command),
		.start_unix_ns = run->start_ns};
	for (size_t i = 0; i < run->parts.count; i++)
		if (!strcmp(run->parts.items[i].kind, "step"))
			origin->steps += run->parts.items[i].count;
	for (size_t i = 0; i < run->facts.count; i++)
		add_text(origin, run->facts.items[i].key, run->facts.items[i].value);
}

/* All values of a key on one side, in the order of the recordings; the caller frees. */
static char *values_of(const struct diff_origin *list, size_t count, const char *key, size_t *n)
{
	ARRAY(const char *) seen = {0};
	char *text = NULL;

	for (size_t i = 0; i < count; i++)
		for (size_t f = 0; f < list[i].facts.count; f++) {
			const struct diff_fact *fact = &list[i].facts.items[f];
			bool is_new = !strcmp(fact->key, key);
			for (size_t k = 0; k < seen.count && is_new; k++)
				is_new = strcmp(seen.items[k], fact->value) != 0;
			if (!is_new || text_fail(array_push(&seen, fact->value)))
				continue;
			text_append(&text, "; ", "%s", fact->value);
		}
	*n = seen.count;
	array_fini(&seen);
	return text ? text : text_copy("none");
}

static void add(struct diff_origins *o, const struct diff_difference *difference)
{
	size_t at = o->differences.count;

	if (text_fail(array_push(&o->differences, *difference)) < 0) {
		free(difference->a);
		free(difference->b);
		return;
	}
	struct diff_difference *list = o->differences.items;
	for (; difference->unfair && at > 0 && !list[at - 1].unfair; at--)
		list[at] = list[at - 1];
	list[at] = *difference;
}

static void compare_key(struct diff_origins *o, const char *key)
{
	size_t in_a, in_b;
	struct diff_difference d = {key, values_of(o->list, o->in_a, key, &in_a),
		values_of(o->list + o->in_a, o->in_b, key, &in_b), false};

	for (size_t i = 0; i < o->differences.count; i++)
		if (o->differences.items[i].key && !strcmp(o->differences.items[i].key, key))
			in_a = in_b = SIZE_MAX; /* it is there already */
	if (in_a != SIZE_MAX && d.a && d.b && strcmp(d.a, d.b)) {
		d.unfair = is_listed(must_agree, key);
		add(o, &d);
		return;
	}
	free(d.a);
	free(d.b);
}

/* Whether one side was recorded as a whole before the other. */
static bool one_after_the_other(const struct diff_origins *o)
{
	uint64_t first[2] = {UINT64_MAX, UINT64_MAX}, last[2] = {0, 0};

	for (size_t i = 0; i < o->in_a + o->in_b; i++) {
		uint64_t ns = o->list[i].start_unix_ns;
		int side = i >= o->in_a;
		if (!ns)
			return false;
		first[side] = ns < first[side] ? ns : first[side];
		last[side] = ns > last[side] ? ns : last[side];
	}
	return o->in_a > 1 && o->in_b > 1 && (last[0] < first[1] || last[1] < first[0]);
}

void diff_origins_init(struct diff_origins *o, struct diff_origin *list, size_t in_a, size_t in_b)
{
	*o = (struct diff_origins){.list = list, .in_a = in_a, .in_b = in_b};
	for (size_t i = 0; i < in_a + in_b; i++)
		for (size_t f = 0; f < list[i].facts.count; f++)
			compare_key(o, list[i].facts.items[f].key);
	if (one_after_the_other(o))
		add(o, &(struct diff_difference){NULL,
			       text_copy(
				       "one side was recorded as a whole before the other, so that "
				       "a machine that became slower or faster meanwhile looks "
				       "like a difference; take turns"),
			       NULL, true});
}

void diff_origins_fini(struct diff_origins *o)
{
	for (size_t i = 0; i < o->differences.count; i++) {
		free(o->differences.items[i].a);
		free(o->differences.items[i].b);
	}
	for (size_t i = 0; i < o->in_a + o->in_b; i++) {
		for (size_t f = 0; f < o->list[i].facts.count; f++) {
			free(o->list[i].facts.items[f].key);
			free(o->list[i].facts.items[f].value);
		}
		array_fini(&o->list[i].facts);
		free(o->list[i].path);
		free(o->list[i].command);
	}
	free(o->list);
	array_fini(&o->differences);
}
