/* SPDX-License-Identifier: Apache-2.0 */
/* A table's list of names, with one space between two: is a name among them? Any thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* A name of the list that ends with a star stands for all names that begin like it. */
static inline bool words_among(const char *names, const char *name, size_t length)
{
	for (size_t n; *names; names += n + (names[n] == ' ')) {
		n = strcspn(names, " ");
		bool is_begin = n && names[n - 1] == '*';
		if (is_begin ? length >= n - 1 && !memcmp(names, name, n - 1)
			     : n == length && !memcmp(names, name, n))
			return true;
	}
	return false;
}
