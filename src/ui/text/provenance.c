/* SPDX-License-Identifier: Apache-2.0 */
/* Command line, start and notes of a run. */
#include "ui/text/provenance.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/date.h"
#include "record/inject/attachers.h"
#include "ui/text/text.h"

static bool provenance_is_plain(const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_-./=:,+@%";
	return *word && strspn(word, plain) == strlen(word);
}

static char *quote(const char *word)
{
	if (provenance_is_plain(word))
		return text_copy(word);
	char *out = text_room(4 * strlen(word) + 3, 1), *o = out;
	if (!out)
		return NULL;
	*o++ = '\'';
	for (; *word; word++) {
		if (*word == '\'') {
			memcpy(o, "'\\''", 4);
			o += 4;
		} else {
			*o++ = *word;
		}
	}
	*o = '\'';
	return out;
}

char *provenance_command(const struct run *run)
{
	char **argv = run->command;
	if (!argv && run->process_count)
		argv = run->processes[0].command;
	if (!argv || !argv[0])
		return NULL;
	char *line = text_copy("");
	for (size_t i = 0; argv[i]; i++) {
		SCOPED char *word = quote(argv[i]);
		text_append(&line, " ", "%s", word);
	}
	return line;
}

char *provenance_start(const struct run *run)
{
	char date[DATE_BYTES];
	if (!date_text(date, run->start_unix_ns, "%Y-%m-%dT%H:%M:%S"))
		return NULL;
	return text_format(
		"%s.%09lluZ", date, (unsigned long long)(run->start_unix_ns % 1000000000u));
}

const char **provenance_notes(const struct run *run, const char *key)
{
	const char **values = text_room(run->note_count + 1, sizeof(*values));
	size_t n = 0;
	for (size_t i = 0; values && i < run->note_count; i++) {
		bool seen = strcmp(run->notes[i].key, key) != 0;
		for (size_t k = 0; k < n && !seen; k++)
			seen = !strcmp(values[k], run->notes[i].value);
		if (!seen)
			values[n++] = run->notes[i].value;
	}
	return values;
}

/* True if the attacher refused the engine's version: then the engine is not the recorded program.
 */
static bool provenance_is_refused(const struct run *run, const struct attacher *a)
{
	SCOPED char *key = text_format("%s.refused", a->name);

	return key && run_note_find(run, key);
}

/* "ggml 0.9.4"; NULL: no engine said its version. */
static char *attached_engine(const struct run *run)
{
	for (const struct attacher *const *a = attachers; *a; a++) {
		const char *key = (*a)->version_note;
		const char *version = key ? run_note_find(run, key) : NULL;
		if (version && !provenance_is_refused(run, *a))
			return text_format(
				"%s %.*s", (*a)->title, (int)strcspn(version, " ("), version);
	}
	return NULL;
}

/* The name of the program around an engine that has its library; NULL: it is not known. */
static const char *engine_of_library(const struct run *run)
{
	return run_note_find(run, "llama.library")     ? "llama.cpp"
	       : run_note_find(run, "whisper.library") ? "whisper.cpp"
						       : NULL;
}

char *provenance_provider(const struct run *run)
{
	SCOPED char *attached = attached_engine(run);
	const char *named = run_note_find(run, "engine");

	if (attached && engine_of_library(run))
		return text_copy(engine_of_library(run));
	if (attached) /* without the version */
		return text_format("%.*s", (int)(strrchr(attached, ' ') - attached), attached);
	return named ? text_copy(named) : NULL;
}

char *provenance_engine(const struct run *run)
{
	SCOPED char *attached = attached_engine(run);
	const char *named = run_note_find(run, "engine"), *how = run_note_find(run, "attach");

	if (attached && engine_of_library(run))
		return text_format("%s (%s)", engine_of_library(run), attached);
	if (attached)
		return text_copy(attached);
	return text_copy(named		      ? named
			 : how		      ? how
			 : run->process_count ? "libbrick inside"
					      : "nothing attached");
}

const char *provenance_steps(const struct run *run)
{
	const char *detected = run_note_find(run, "steps.detected");

	return detected ? detected : run_note_find(run, "steps.none");
}
