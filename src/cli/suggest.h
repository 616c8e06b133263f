/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the name that a misspelt word may stand for. Pure; any thread. */
#pragma once

#include <stddef.h>

/*
 * Returns the name that is fewest edits from `word`, whatever the case of letters, if they are few
 * enough to be a slip; or a name that has the word in it; else NULL.
 */
const char *suggest(const char *word, const char *const *names, size_t count);

/* Edits (insert, delete, replace, swap two neighbours) between two words of up to 63 bytes. */
size_t suggest_distance(const char *a, const char *b);
