/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The nearest name by optimal string alignment distance. One letter in three may be wrong: a name
 * further away is another word.
 */
#include "cli/suggest.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

enum { LONGEST = 63, PART = 4 };

static bool differ(char a, char b)
{
	return tolower((unsigned char)a) != tolower((unsigned char)b);
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

size_t suggest_distance(const char *a, const char *b)
{
	size_t rows[3][LONGEST + 1];
	size_t *before = rows[0], *above = rows[1], *row = rows[2];
	size_t n = strlen(a), m = strlen(b);
	if (n > LONGEST || m > LONGEST)
		return n > m ? n : m;
	for (size_t j = 0; j <= m; j++)
		above[j] = j;
	for (size_t i = 1; i <= n; i++) {
		row[0] = i;
		for (size_t j = 1; j <= m; j++) {
			row[j] = least(above[j] + 1, row[j - 1] + 1);
			row[j] = least(row[j], above[j - 1] + differ(a[i - 1], b[j - 1]));
			if (i > 1 && j > 1 && !differ(a[i - 1], b[j - 2]) &&
				!differ(a[i - 2], b[j - 1]))
				row[j] = least(row[j], before[j - 2] + 1);
		}
		size_t *free_row = before;
		before = above;
		above = row;
		row = free_row;
	}
	return above[m];
}

const char *suggest(const char *word, const char *const *names, size_t count)
{
	const char *best = NULL;
	size_t best_distance = strlen(word) / 3 + 1;
	for (size_t i = 0; i < count; i++) {
		bool is_part = strlen(word) >= PART && strcasestr(names[i], word);
		size_t distance = is_part ? 1 : suggest_distance(word, names[i]);
		if (distance < best_distance && distance < strlen(names[i])) {
			best_distance = distance;
			best = names[i];
		}
	}
	return best;
}
