/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the name that a misspelt word may stand for. Pure; any thread. */
#pragma once

#include <stddef.h>

/*
 * Returns the name with the fewest edits from `word`, ignoring case, if one letter in three or
 * fewer differ; or else a name that contains the word; or else NULL.
 */
const char *suggest(const char *word, const char *const *names, size_t count);

/* Edits (insert, delete, replace, swap two neighbours) between two words of up to 63 bytes. */
size_t suggest_distance(const char *a, const char *b);
