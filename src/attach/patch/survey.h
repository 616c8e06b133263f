/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells from the file of a program or library alone how hooks can stand in front of some of its
 * functions. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include "attach/patch/image.h"
#include "attach/patch/patch_name.h"
#include "attach/patch/patch_plan.h"

enum survey_way {
	SURVEY_ABSENT,	/* it does not define it */
	SURVEY_LINKED,	/* through the dynamic linker: a preloaded definition comes first */
	SURVEY_PATCHED, /* by a jump in its place */
	SURVEY_REFUSED, /* not: plan.refused */
	SURVEY_SPARED,	/* it could be, but there is no use for it here */
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
	size_t defined, patched, refused; /* how many are */
	bool has_sign;
};

/*
 * As image_open(), or -ENOMEM; -ENOSYS: Brick was built without Zydis; on success
 * survey_close() it. Names are borrowed. is_forced: nothing is left to the dynamic linker.
 */
int survey_open(struct survey *survey, const char *path, const struct patch_name *names,
	size_t count, bool is_forced);
void survey_close(struct survey *survey);
