/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of the live view whose columns are fields of a report (src/ui/text/report_fields.h). */
#pragma once

#include "ui/top/grid.h"
#include "ui/text/report_view.h"
#include "ui/text/report_fields.h"

/* Begin a grid with these columns, and a bar behind the share; `first` is the title of the names.
 */
void field_grid_init(struct grid *grid, const struct report_columns *columns, const char *first);

/* Add a row. flags: only fields with these have a value, the others are blank. */
struct grid_row *field_grid_add(struct grid *grid, const struct report_columns *columns,
	const struct report *report, const struct summary_row *from, unsigned flags);
