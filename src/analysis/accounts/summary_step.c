/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CPU and OFF of steps from the counter that each has where the kernel refuses to tell of switches
 * (docs/FORMAT.md, cpu-time). Called for rows by step.
 */
#include <string.h>

#include "analysis/accounts/counter_accounts.h"
#include "analysis/accounts/summary_rows.h"
#include "base/order.h"

static struct summary_row *row_of(const struct summary_rows *rows, uint32_t id)
{
	size_t n = BISECT(i, 0, rows->count, rows->list[i].id < id);
	return n < rows->count && rows->list[n].id == id ? &rows->list[n] : NULL;
}

void summary_rows_step_cpu(struct summary_rows *rows, const struct summary_accumulator *t)
{
	const struct run *run = t->run;
	for (size_t i = 0; i < run->point_count; i++) {
		const struct run_point *point = &run->points[i];
		if (point->kind != RUN_POINT_COUNTER || point->brick >= run->brick_count ||
			point->lane >= run->lane_count || point->value < 0 ||
			strcmp(run->bricks[point->brick].name, "cpu-time"))
			continue;
		const struct run_step *step = counters_step_of(run, t->index, point);
		struct summary_row *row = step ? row_of(rows, (uint32_t)(step - run->steps)) : NULL;
		if (!row)
			continue;
		uint64_t span_ns = step->end_ns - step->begin_ns;
		row->cpu_ns = point->value < (double)span_ns ? (uint64_t)point->value : span_ns;
		row->off_ns = span_ns - row->cpu_ns;
	}
}
