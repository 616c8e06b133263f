/* SPDX-License-Identifier: Apache-2.0 */
/* What `brick record` asks to be captured besides times: words in BRICK_CAPTURE. */
#pragma once

#include <stdlib.h>
#include <string.h>

/* Whether the word is one of those, which have commas between them. */
static inline int capture_wants(const char *word)
{
	const char *list = getenv("BRICK_CAPTURE");
	size_t length = strlen(word);

	while (list && *list) {
		size_t n = strcspn(list, ",");
		if (n == length && !memcmp(list, word, n))
			return 1;
		list += n + (list[n] == ',');
	}
	return 0;
}
