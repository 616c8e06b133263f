/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of distortion: what is said of how it was obtained. */
#pragma once

#include <stdbool.h>
#include <stdlib.h>
#include "tests/unit/summary_kit.h"
#include "ui/text/trust_text.h"

static inline bool says(const struct distortion *d, const char *words)
{
	char *text = distortion_text(d);
	bool found = text && strstr(text, words);
	free(text);
	return found;
}
