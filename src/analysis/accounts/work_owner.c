/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which sites say what an execution did. Attached engines tell the whole of a node's work on one of
 * its threads; the others have sites with the same operation and name and no counts at all: parts.
 * Called by work_accounts.c.
 */
#include "analysis/accounts/work_owner.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/order.h"

enum {
	WORK = BRICK_SITE_HAS_BYTES | BRICK_SITE_HAS_FLOPS,
	COUNTS = WORK | BRICK_SITE_HAS_ELEMENTS,
};

static int compare_text(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "");
}

/* What a node's whole and its parts have in common. */
static int compare_nodes(const struct run_site *a, const struct run_site *b)
{
	return ORDER(a->brick, b->brick) ?: ORDER(a->layer, b->layer)
		?: compare_text(a->operation, b->operation) ?: compare_text(a->label, b->label);
}

COMPARATOR(compare_entries, struct run_site *const, compare_nodes(*x, *y))

int work_owners(uint8_t *owners, const struct run *run)
{
	SCOPED const struct run_site **told = calloc(run->site_count + 1, sizeof(*told));
	size_t count = 0;

	if (!told)
		return -ENOMEM;
	for (size_t i = 0; i < run->site_count; i++)
		if (run->sites[i].flags & WORK) {
			owners[i] = WORK_OWN;
			told[count++] = &run->sites[i];
		}
	qsort(told, count, sizeof(*told), compare_entries);
	for (size_t i = 0; i < run->site_count; i++) {
		const struct run_site *site = &run->sites[i];
		if (!(site->flags & COUNTS) && site->operation &&
			bsearch(&site, told, count, sizeof(*told), compare_entries))
			owners[i] = WORK_PART;
	}
	return 0;
}

void work_tell(const uint8_t *owners, const struct run *run, struct work_told *told,
	const struct walk_frame *frame)
{
	bool is_known = work_owner_of(owners, run, told, frame) != WORK_UNKNOWN;

	told->brick = is_known ? frame->brick : RUN_NONE;
	told->layer = run->sites[frame->sample->site].layer;
}
