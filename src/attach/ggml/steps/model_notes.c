/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The notes "llama.model" and "llama.context": words and numbers with ", " between them, in the
 * order of the tables below. Names come last, because they may hold commas. They are asked for once
 * for each context, through the engine's exported C functions.
 */
#include "attach/ggml/steps/model_notes.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include "attach/common/notes_once.h"
#include "attach/ggml/engine/resolve.h"

enum { NOTE_BYTES = 512, NAME_BYTES = 128 };

static void model_notes_add_text(char *note, const char *word, const char *text)
{
	size_t used = strlen(note);

	if (*text)
		snprintf(note + used, NOTE_BYTES - used, "%s%s %s", used ? ", " : "", word, text);
}

struct getter {
	const char *word, *function;
	bool is_wide; /* it returns 64 bits; else 32 */
};

/* "WORD NUMBER" each, behind what is there. All getters take the object alone. */
static void add_numbers(char *note, const struct loaded_object *object, const void *of,
	const struct getter *getters, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t (*wide)(const void *);
		uint32_t (*narrow)(const void *);
		RESOLVE(wide, object, getters[i].function, 0);
		RESOLVE(narrow, object, getters[i].function, 0);
		size_t used = strlen(note);
		int64_t number = !wide		      ? 0
				 : getters[i].is_wide ? (int64_t)wide(of)
						      : (int32_t)narrow(of);
		if (number > 0) /* else the engine does not know */
			snprintf(note + used, NOTE_BYTES - used, "%s%s %" PRId64, used ? ", " : "",
				getters[i].word, number);
	}
}

void note_model(const void *context, const void *code, int32_t number)
{
	static const struct getter of_context[] = {
		{"tokens", "llama_n_ctx", false},
		{"batch", "llama_n_batch", false},
		{"ubatch", "llama_n_ubatch", false},
		{"sequences", "llama_n_seq_max", false},
		{"threads", "llama_n_threads", false},
		{"batch threads", "llama_n_threads_batch", false},
	};
	static const struct getter of_model[] = {
		{"layers", "llama_model_n_layer", false},
		{"parameters", "llama_model_n_params", true},
		{"bytes", "llama_model_size", true},
	};
	char note[NOTE_BYTES] = "", name[NAME_BYTES] = "", type[NAME_BYTES] = "";
	const void *(*get_model)(const void *context);
	int32_t (*describe)(const void *model, char *text, size_t bytes);
	int32_t (*value_of)(const void *model, const char *key, char *text, size_t bytes);
	struct loaded_object object;

	if (!context || !object_at(patched_home((uintptr_t)code), &object))
		return;
	add_numbers(note, &object, context, of_context, sizeof(of_context) / sizeof(*of_context));
	if (*note)
		note_once("llama.context", "%s", note);
	RESOLVE(get_model, &object, "llama_get_model", 0);
	const void *model = get_model ? get_model(context) : NULL;
	if (!model)
		return;
	*note = 0;
	add_numbers(note, &object, model, of_model, sizeof(of_model) / sizeof(*of_model));
	RESOLVE(describe, &object, "llama_model_desc", 0);
	if (!describe || describe(model, type, NAME_BYTES) < 0)
		*type = 0;
	RESOLVE(value_of, &object, "llama_model_meta_val_str", 0);
	if (!value_of || value_of(model, "general.name", name, NAME_BYTES) < 0)
		*name = 0;
	model_notes_add_text(note, "type", type);
	model_notes_add_text(note, "name", name);
	if (*note)
		note_once("llama.model", "%s", note);
	snprintf(note, sizeof(note), "model.%d", number);
	if (*name || *type)
		note_once(note, "%s", *name ? name : type);
}
