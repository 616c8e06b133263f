/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sink's copy of a process's tables, because the memory that they come from is another process's.
 * Entries only ever join. Called by the sinks.
 */
#pragma once

#include "lib/writer/sink.h"

struct tables {
	struct brick_session_brick *bricks;
	struct brick_session_category *categories;
	struct brick_session_site *sites;
	struct brick_session_kernel *kernels;
	uint32_t brick_count, category_count, site_count, kernel_count;
	uint32_t brick_capacity, category_capacity, site_capacity, kernel_capacity;
};

/* Copy what is new. 0 or -ENOMEM. */
int tables_add(struct tables *tables, const struct sink_tables *now);
void tables_fini(struct tables *tables);

/* The brick's category, or NULL: it has none that exists. */
static inline const struct brick_session_category *tables_category(
	const struct tables *tables, uint32_t brick)
{
	uint32_t category = tables->bricks[brick].category;

	return category < tables->category_count ? &tables->categories[category] : NULL;
}

/*
 * Text of a fixed field, which may lack its NUL and be no valid UTF-8: up to the first NUL, '?'
 * for what is not UTF-8. Ends with NUL; returns the length.
 */
size_t tables_text(char *to, size_t capacity, const char *from, size_t from_bytes);
