/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How ggml in a file would be attached to, by the file alone: through the dynamic linker, by
 * patching (src/attach/patch/survey.h), or not. One thread.
 */
#pragma once

#include <stddef.h>
#include "attach/rules/ggml_symbols.h"

enum program_ggml_way {
	PROGRAM_GGML_NONE,     /* there is no ggml in it */
	PROGRAM_GGML_LINKED,   /* preloading works */
	PROGRAM_GGML_PATCHED,  /* it calls itself without the dynamic linker, and will be patched */
	PROGRAM_GGML_STRIPPED, /* it is in there, but nothing says where its functions are */
	PROGRAM_GGML_UNKNOWN,  /* Brick was built without what is needed to look */
};

struct program_ggml {
	enum program_ggml_way way;
	size_t functions;		 /* that are defined */
	char reached[GGML_SYMBOL_COUNT]; /* which of them can be hooked */
	int has_whisper;		 /* whisper.cpp is in it */
	char refused[512];		 /* names and why, of those that cannot; "" */

	/* of PROGRAM_GGML_STRIPPED: what is missing, and how to build so that it is there */
	char missing[320], advice[320];
};

/* -errno or BRICK_E*: it cannot be read. */
int program_ggml(struct program_ggml *found, const char *path);
