/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the facts. Facts of recordings are notes, "WORD VALUE" with ", " between; facts of imported
 * runs are columns of llama-bench.
 */
#include "analysis/history/history_workload.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/scope.h"

enum { TEXT = 128 }; /* bytes; longer values of notes are cut */

void history_command_strip(char *command)
{
	char *to = command;

	for (const char *at = command; *at;) {
		size_t blanks = strspn(at, " "), length = strcspn(at + blanks, " ");
		const char *word = at + blanks, *slash = memrchr(word, '/', length);
		size_t folder = slash ? (size_t)(slash + 1 - word) : 0;
		memmove(to, at, blanks);
		memmove(to + blanks, word + folder, length - folder);
		to += blanks + length - folder;
		at += blanks + length;
	}
	*to = '\0';
}

/*
 * Copies the value of a word in a note, up to the next ", ". "": the note is NULL or lacks the
 * word.
 */
static const char *word_of(const char *note, const char *word, char out[TEXT])
{
	size_t length = strlen(word);

	*out = '\0';
	for (const char *at = note, *end; at; at = end ? end + 2 : NULL) {
		end = strstr(at, ", ");
		const char *value = at + length + 1;
		/* "batch threads 4" is no "batch" */
		if (strncmp(at, word, length) || at[length] != ' ' ||
			!strncmp(value, "threads ", 8))
			continue;
		size_t bytes = end ? (size_t)(end - value) : strlen(value);
		snprintf(out, TEXT, "%.*s", (int)bytes, value);
		break;
	}
	return out;
}

/* A list of texts with ", " between. */
struct list {
	FILE *out;
	bool any; /* something is there: ", " goes before the next text */
};

/* Adds a text between two others; NULL or "" adds nothing. */
static void history_workload_add(
	struct list *list, const char *before, const char *text, const char *behind)
{
	if (!text || !*text)
		return;
	fprintf(list->out, "%s%s%s%s", list->any ? ", " : "", before, text, behind);
	list->any = true;
}

static void add_word(struct list *list, const char *note, const char *word, const char *title)
{
	char text[TEXT];

	history_workload_add(list, title, word_of(note, word, text), "");
}

/* "demo, llama 22M Q8_0"; of llama-bench "llama 7B Q4_0, m.gguf". */
static void put_model(struct list *list, const struct history_run *run)
{
	const char *note =
		history_run_fact_find(run, "llama.model") ?: history_run_fact_find(run, "model");
	const char *file = history_run_fact_find(run, "model_filename");
	const char *slash = file ? strrchr(file, '/') : NULL;
	char name[TEXT], type[TEXT];

	word_of(note, "name", name);
	word_of(note, "type", type);
	history_workload_add(list, "", *name || *type ? name : note, "");
	history_workload_add(list, "", type, "");
	history_workload_add(list, "", history_run_fact_find(run, "model_type"), "");
	history_workload_add(list, "", slash ? slash + 1 : file, "");
}

static void put_recorded(struct list *list, const struct history_run *run)
{
	const char *model =
		history_run_fact_find(run, "llama.model") ?: history_run_fact_find(run, "model");
	const char *context = history_run_fact_find(run, "llama.context")
				      ?: history_run_fact_find(run, "context");
	char threads[TEXT];

	add_word(list, model, "bytes", "bytes ");
	if (*word_of(context, "threads", threads))
		history_workload_add(list, "threads ", threads, "");
	else
		history_workload_add(list, "threads ", history_run_fact_find(run, "threads"), "");
	add_word(list, context, "batch threads", "batch threads ");
	add_word(list, context, "tokens", "context ");
	add_word(list, context, "batch", "batch ");
	add_word(list, context, "ubatch", "ubatch ");
	add_word(list, context, "sequences", "sequences ");
	/* a window of a server has any number of them */
	if (strcmp(run->kind, HISTORY_WINDOW) != 0)
		history_workload_add(
			list, "prompt ", history_run_fact_find(run, "prompt tokens"), "");
	for (size_t i = 0; i < run->facts.count; i++)
		if (!strcmp(run->facts.items[i].key, "backend"))
			history_workload_add(list, "", run->facts.items[i].value, "");
}

/* Adds the parameters that llama-bench varies. */
static void put_imported(struct list *list, const struct history_run *run)
{
	static const char *const columns[] = {"n_threads", "n_batch", "n_ubatch", "n_prompt",
		"n_gen", "n_depth", "type_k", "type_v", "n_gpu_layers", "flash_attn", "backends",
		"gpu_info"};

	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++) {
		char title[24];
		snprintf(title, sizeof(title), "%s ", columns[i]);
		history_workload_add(list, title, history_run_fact_find(run, columns[i]), "");
	}
}

/* Closes a memory stream and returns its text; NULL: no memory. */
static char *closed(FILE *out, char **text)
{
	bool failed = fclose(out);

	if (failed) {
		free(*text);
		*text = NULL;
	}
	return *text;
}

/* The run's model; "": facts tell none. The caller frees. NULL: no memory. */
static char *history_workload_model_of(const struct history_run *run)
{
	char *text = NULL;
	size_t bytes;
	struct list list = {open_memstream(&text, &bytes), false};

	if (!list.out)
		return NULL;
	put_model(&list, run);
	return closed(list.out, &text);
}

/* The workload of a run with a model; the caller frees. NULL: no memory. */
static char *workload_of(const struct history_run *run, const char *model)
{
	bool is_imported = !strcmp(run->kind, "imported");
	char *text = NULL;
	size_t bytes;
	struct list list = {open_memstream(&text, &bytes), true};

	if (!list.out)
		return NULL;
	fprintf(list.out, "%.*s", (int)strcspn(run->engine, " "), run->engine);
	history_workload_add(&list, "", model, "");
	if (is_imported)
		put_imported(&list, run);
	else
		put_recorded(&list, run);
	return closed(list.out, &text);
}

int history_run_describe(struct history_run *run)
{
	SCOPED char *model = history_workload_model_of(run);
	SCOPED char *workload = model && *model ? workload_of(run, model) : strdup(run->command);
	int rc = model && workload ? history_text_set(&run->model, model) : -ENOMEM;

	if (rc == 0 && !*model)
		history_command_strip(workload);
	return rc == 0 ? history_text_set(&run->workload, workload) : rc;
}
