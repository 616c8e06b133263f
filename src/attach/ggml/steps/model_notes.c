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

/* "WORD NUMBER" behind what is there. Zero and less mean that the engine does not know. */
static void add_number(char *note, const char *word, int64_t number)
{
	size_t used = strlen(note);

	if (number > 0)
		snprintf(note + used, NOTE_BYTES - used, "%s%s %" PRId64, used ? ", " : "", word,
			number);
}

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

/* All of these take the object alone. */
static void add_numbers(char *note, const struct loaded_object *object, const void *of,
	const struct getter *getters, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t (*wide)(const void *);
		uint32_t (*narrow)(const void *);
		RESOLVE(wide, object, getters[i].function, 0);
		RESOLVE(narrow, object, getters[i].function, 0);
		if (wide)
			add_number(note, getters[i].word,
				getters[i].is_wide ? (int64_t)wide(of) : (int32_t)narrow(of));
	}
}

static void note_context(const struct loaded_object *object, const void *context)
{
	static const struct getter getters[] = {
		{"tokens", "llama_n_ctx", false},
		{"batch", "llama_n_batch", false},
		{"ubatch", "llama_n_ubatch", false},
		{"sequences", "llama_n_seq_max", false},
		{"threads", "llama_n_threads", false},
		{"batch threads", "llama_n_threads_batch", false},
	};
	char note[NOTE_BYTES] = "";

	add_numbers(note, object, context, getters, sizeof(getters) / sizeof(getters[0]));
	if (*note)
		note_once("llama.context", "%s", note);
}

/* What a function writes into a buffer, of which it returns the length; else "". */
static void ask_name(const struct loaded_object *object, const void *model, char name[NAME_BYTES])
{
	int32_t (*value)(const void *, const char *, char *, size_t);

	RESOLVE(value, object, "llama_model_meta_val_str", 0);
	if (!value || value(model, "general.name", name, NAME_BYTES) < 0)
		*name = 0;
}

static void ask_type(const struct loaded_object *object, const void *model, char type[NAME_BYTES])
{
	int32_t (*describe)(const void *, char *, size_t);

	RESOLVE(describe, object, "llama_model_desc", 0);
	if (!describe || describe(model, type, NAME_BYTES) < 0)
		*type = 0;
}

static void note_weights(const struct loaded_object *object, const void *model, int32_t number)
{
	static const struct getter getters[] = {
		{"layers", "llama_model_n_layer", false},
		{"parameters", "llama_model_n_params", true},
		{"bytes", "llama_model_size", true},
	};
	char note[NOTE_BYTES] = "", name[NAME_BYTES] = "", type[NAME_BYTES] = "";

	add_numbers(note, object, model, getters, sizeof(getters) / sizeof(getters[0]));
	ask_type(object, model, type);
	ask_name(object, model, name);
	model_notes_add_text(note, "type", type);
	model_notes_add_text(note, "name", name);
	if (*note)
		note_once("llama.model", "%s", note);
	snprintf(note, sizeof(note), "model.%d", number);
	if (*name || *type)
		note_once(note, "%s", *name ? name : type);
}

void note_model(const void *context, const void *code, int32_t number)
{
	const void *(*get_model)(const void *context);
	struct loaded_object object;

	if (!context || !object_at(patched_home((uintptr_t)code), &object))
		return;
	note_context(&object, context);
	RESOLVE(get_model, &object, "llama_get_model", 0);
	const void *model = get_model ? get_model(context) : NULL;
	if (model)
		note_weights(&object, model, number);
}
