/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells by the file of a program or library alone how each of some functions can be hooked. One
 * thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include "attach/patch/image.h"
#include "attach/patch/patch_name.h"
#include "attach/patch/patch_plan.h"

enum survey_way {
	SURVEY_ABSENT,	/* the file does not define the function */
	SURVEY_LINKED,	/* by the dynamic linker: a preloaded definition comes first */
	SURVEY_PATCHED, /* by a jump in the function */
	SURVEY_REFUSED, /* not at all; plan.refused tells why */
	SURVEY_SPARED,	/* it could be patched, but its hook has no use here */
};

struct survey_entry {
	struct patch_name of;
	enum survey_way way;
	const struct image_function *function;
	struct plan plan;
};

struct survey {
	struct image image;
	struct survey_entry *entries; /* one for each name, in the order given */
	size_t count;
	size_t defined, patched, refused; /* numbers of entries */
	bool has_sign;			  /* the file defines a function with is_sign */
};

/*
 * 0 (then survey_close() it), an error of image_open(), -ENOMEM, or -ENOSYS: Brick was built
 * without Zydis. names must stay valid until survey_close(). is_forced: patch also what the dynamic
 * linker would reach.
 */
int survey_open(struct survey *survey, const char *path, const struct patch_name *names,
	size_t count, bool is_forced);
void survey_close(struct survey *survey);
