/* SPDX-License-Identifier: Apache-2.0 */
/* How ggml in a file would be attached to (program_ggml.h). */
#include "cli/program_ggml.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "attach/patch/survey.h"

/* What only an engine defines, not who looks on; as in what is injected. */
static const enum ggml_symbol_id signs[] = {
	GGML_NODE_FORWARD, GGML_GRAPH_PLAN, GGML_SCHED_NEW, GGML_CONTEXT_DECODE};

static int has_sign(const struct survey *s)
{
	for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
		if (s->entries[signs[i]].way != SURVEY_ABSENT)
			return 1;
	return 0;
}

static int has_bytes(const struct image *image, const char *text, size_t bytes)
{
	for (size_t i = 0; i < image->parts.count; i++)
		if (!image->parts.items[i].is_code &&
			memmem(image->parts.items[i].data, image->parts.items[i].bytes, text,
				bytes))
			return 1;
	return 0;
}

/*
 * The text of its assertions is in every build of ggml, and in what uses it: that has from the
 * dynamic linker what they call.
 */
static int has_text(const struct image *image)
{
	static const char text[] = "GGML_ASSERT(", called[] = "\0ggml_abort";

	if (!has_bytes(image, text, sizeof text - 1))
		return 0;
	return image_find(image, called + 1, NULL) || !has_bytes(image, called, sizeof called);
}

static void describe(struct program_ggml *found, const struct survey *s)
{
	size_t used = 0;

	found->way = s->patched + s->refused ? PROGRAM_GGML_PATCHED : PROGRAM_GGML_LINKED;
	found->functions = s->defined;
	for (size_t i = 0; i < s->count; i++) {
		const struct survey_entry *e = &s->entries[i];
		found->reached[i] = e->way == SURVEY_LINKED || e->way == SURVEY_PATCHED;
		if (e->way == SURVEY_REFUSED && used < sizeof found->refused)
			used += (size_t)snprintf(found->refused + used,
				sizeof found->refused - used, "%s%s: %s", used ? "; " : "", e->name,
				e->plan.refused);
	}
}

static void explain(struct program_ggml *found, const struct image *image)
{
	const char *id = image->build_id;

	found->way = PROGRAM_GGML_STRIPPED;
	if (image->has_symbols) {
		snprintf(found->missing, sizeof found->missing,
			"ggml is inside, but its table of symbols (.symtab) names none of the "
			"functions that Brick hooks");
		snprintf(found->advice, sizeof found->advice,
			"link-time optimisation may have inlined them: build it without "
			"(-DGGML_LTO=OFF, no -flto), or with -DBUILD_SHARED_LIBS=ON");
		return;
	}
	snprintf(found->missing, sizeof found->missing,
		"ggml is inside, but nothing says where its functions are: the file was stripped "
		"of its table of symbols (.symtab), and no debug file of it is there (%s%s)",
		*id ? "build ID " : "it has no build ID", id);
	snprintf(found->advice, sizeof found->advice,
		"build it without -s, strip and CMAKE_INSTALL_STRIP, or with "
		"-DBUILD_SHARED_LIBS=ON%s%.2s%s%s%s",
		*id ? "; or install its debug file (/usr/lib/debug/.build-id/" : "", id,
		*id ? "/" : "", *id ? id + 2 : "", *id ? ".debug)" : "");
}

int program_ggml(struct program_ggml *found, const char *path)
{
	struct survey_name names[GGML_SYMBOL_COUNT];
	struct survey survey;

	memset(found, 0, sizeof *found);
	for (int i = 0; i < GGML_SYMBOL_COUNT; i++)
		names[i] = (struct survey_name){
			ggml_symbols[i].name, i == GGML_BARRIER || i == GGML_IS_EMPTY};
	int error = survey_open(&survey, path, names, GGML_SYMBOL_COUNT, 0);
	if (error == -ENOSYS) {
		found->way = PROGRAM_GGML_UNKNOWN;
		return 0;
	}
	if (error)
		return error;
	found->has_whisper = image_find(&survey.image, "whisper_init_state", NULL) != NULL;
	if (has_sign(&survey))
		describe(found, &survey);
	else if (has_text(&survey.image))
		explain(found, &survey.image);
	survey_close(&survey);
	return 0;
}
