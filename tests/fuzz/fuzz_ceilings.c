/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ceilings files from strangers: whatever parses is looked up in, and written and read again, which
 * must give the same text.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "analysis/machine/ceilings_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void look_up(const struct ceilings *c)
{
	uint32_t threads = ceilings_threads_for(c, 3);

	ceilings_peak(c, "f32", threads);
	for (size_t i = 0; i < c->level_count; i++)
		ceilings_fastest(c, c->levels[i].name, threads);
	ceilings_latency_of(c, "threads", "barrier", threads);
	free(ceilings_cache_path(c->host, c->cpu));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct ceilings *c = NULL, *again = NULL;
	struct ceilings_error error;

	if (ceilings_parse(&c, (const char *)data, bytes, &error)) {
		if (c || !error.text[0] || error.offset > bytes)
			__builtin_trap();
		return 0;
	}
	look_up(c);
	char *text = ceilings_text(c);
	if (!text || ceilings_parse(&again, text, strlen(text), &error))
		__builtin_trap();
	char *same = ceilings_text(again);
	if (!same || strcmp(text, same))
		__builtin_trap();
	free(same);
	free(text);
	ceilings_destroy(again);
	ceilings_destroy(c);
	return 0;
}
