/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of a file that names none: what repeats, or else the whole file. One thread at a time.
 */
#pragma once

#include "import/imported.h"

/*
 * Adds steps in front of all events, and says in imported.about_steps where they came from;
 * nothing, if an event is a step already. Launches must be indexed. first, last: ns of the file;
 * *has_open (by process) becomes true where an event without an end got one. 0 or -ENOMEM.
 */
int imported_steps_add(struct imported *imported, uint64_t first, uint64_t last, bool *has_open);
