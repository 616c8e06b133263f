/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls by name between libraries that are loaded already: each goes through a slot that the
 * dynamic linker has filled. A library that comes later than PyTorch puts its own functions there.
 * One thread at a time.
 */
#pragma once

#include <stddef.h>
#include "attach/common/entry.h"

struct torch_slot {
	const char *name;
	const void *function;
};

/*
 * Fill the slots of these names in all loaded objects but our own. Returns the number of slots, or
 * -EPERM: a page of them cannot be written to.
 */
int torch_slots_fill(const struct torch_slot *list, size_t count);

/* The same by a recorder that enters the process: the slots are listed for it. */
void torch_slots_list(
	const struct torch_slot *list, size_t count, struct brick_enter_control *control);
