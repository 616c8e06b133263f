/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions to hook, with their conditions. A file (survey.h) and a loaded object (patch.h) are
 * judged by the same list, so that both give the same answer. Constant data.
 */
#pragma once

#include <stdbool.h>

/* A function that a hook is wanted in front of, and its conditions. */
struct patch_name {
	const char *name;
	int group;	  /* functions of a group are hooked together */
	bool is_needed;	  /* if it cannot be hooked, none of its group is */
	bool stands_in;	  /* replaces the needed functions of its group if these cannot be hooked */
	bool is_replaced; /* not hooked if a function stands in */
	bool can_keep;	  /* there is a hook for callers that rely on more registers than any
			     function preserves (patch_wish.hook_from) */
	bool is_sign;	  /* an object that defines no sign is another library, and is left alone */
	/* hooked only if this returns 1 for a function that the object defines; NULL: always */
	int (*is_wanted_with)(const char *function);
};
