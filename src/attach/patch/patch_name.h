/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions that hooks are wanted for. A file (survey.h) and a loaded object (patch.h) are
 * asked in the same words, so that both give the same answer. Constant data.
 */
#pragma once

#include <stdbool.h>

/* A function that a hook is wanted in front of, and its conditions. */
struct patch_name {
	const char *name;
	int group;	  /* those that go together */
	bool is_needed;	  /* without it none of its group */
	bool stands_in;	  /* does the work of the needed ones; wanted where these cannot be had */
	bool is_replaced; /* not wanted where such a one stands in */
	bool can_keep;	  /* its hook can be called where callers rely on more registers than any
			     function preserves */
	bool is_sign; /* objects that define none of these are not what is meant: they may define
			single functions to look on */
	/* wanted only if this returns 1 for a function that the object defines; NULL: always */
	int (*is_wanted_with)(const char *function);
};
