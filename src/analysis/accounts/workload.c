/* SPDX-License-Identifier: Apache-2.0 */
/* Reads notes: "WORD NUMBER" and "WORD TEXT", with ", " between them; the name comes last. */
#include "analysis/accounts/workload.h"

#include <stdio.h>
#include <string.h>

#include "analysis/statistics/unknown.h"
#include "base/number.h"

/* The text behind a word of a note; NULL: it has no such word. */
static const char *workload_behind(const char *note, const char *word)
{
	size_t length = strlen(word);

	for (const char *at = note; at; at = strstr(at, ", "), at += at ? 2 : 0)
		if (!strncmp(at, word, length) && at[length] == ' ')
			return at + length + 1;
	return NULL;
}

static uint64_t workload_number(const char *note, const char *word)
{
	const char *text = workload_behind(note, word), *end;
	uint64_t value;

	return text && number_leading_u64(text, &value, &end) == 0 ? value : 0;
}

static void workload_copy_text(char to[WORKLOAD_TEXT], const char *from, size_t length)
{
	snprintf(to, WORKLOAD_TEXT, "%.*s", (int)length, from);
}

static void read_model(struct workload *w, const char *note)
{
	const char *type = workload_behind(note, "type"), *name = workload_behind(note, "name");
	const char *end = type ? strstr(type, ", name ") : NULL;

	w->layers = workload_number(note, "layers");
	w->parameters = workload_number(note, "parameters");
	w->bytes = workload_number(note, "bytes");
	if (type)
		workload_copy_text(w->type, type, end ? (size_t)(end - type) : strlen(type));
	if (name)
		workload_copy_text(w->model, name, strlen(name));
	else if (!type && !w->layers && !w->parameters && !w->bytes)
		workload_copy_text(w->model, note, strlen(note));
}

static void read_context(struct workload *w, const char *note)
{
	w->context = workload_number(note, "tokens");
	w->batch = workload_number(note, "batch");
	w->ubatch = workload_number(note, "ubatch");
	w->sequences = workload_number(note, "sequences");
	w->threads = workload_number(note, "threads");
	w->batch_threads = workload_number(note, "batch threads");
}

/* The first note with that key, and how many different values notes with it have. */
static const char *workload_note_of(const struct run *run, const char *key, uint64_t *count)
{
	const char *first = run_note_find(run, key);

	*count = first != NULL;
	for (size_t i = 0; i < run->note_count; i++) {
		bool is_new =
			!strcmp(run->notes[i].key, key) && strcmp(run->notes[i].value, first) != 0;
		for (size_t k = 0; k < i && is_new; k++)
			is_new = strcmp(run->notes[k].key, key) ||
				 strcmp(run->notes[k].value, run->notes[i].value);
		*count += is_new;
	}
	return first;
}

bool workload_has_begin(const struct run *run, const struct run_step *first)
{
	bool is_first = !run->is_narrowed;

	for (size_t i = 0; i < run->left_step_count && is_first; i++)
		is_first = run->left_steps[i].phase == BRICK_PHASE_WARM_UP ||
			   run->left_steps[i].begin_ns > first->begin_ns;
	return is_first;
}

static uint64_t start_up_of(const struct run *run)
{
	if (run_note_find(run, "entered")) /* its start was before the recording */
		return ANALYSIS_UNKNOWN;
	for (size_t i = 0; i < run->step_count; i++) {
		const struct run_step *step = &run->steps[i];
		if (step->phase == BRICK_PHASE_WARM_UP || step->outcome != RUN_EVALUATED)
			continue;
		/* another tool's file names no command, and begins with its first event */
		bool is_known = run->command && run->command[0] && workload_has_begin(run, step) &&
				step->begin_ns > run->start_ns &&
				!run_was_off(run, run->start_ns, step->begin_ns);
		return is_known ? step->begin_ns - run->start_ns : ANALYSIS_UNKNOWN;
	}
	return ANALYSIS_UNKNOWN;
}

void workload_of_run(struct workload *w, const struct run *run)
{
	uint64_t contexts;
	const char *model, *context;

	*w = (struct workload){.start_up_ns = start_up_of(run)};
	model = workload_note_of(run, "llama.model", &w->models)
			?: workload_note_of(run, "model", &w->models);
	context = workload_note_of(run, "llama.context", &contexts)
			  ?: workload_note_of(run, "context", &contexts);
	if (model)
		read_model(w, model);
	if (context)
		read_context(w, context);
}
