/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the forms of `brick tiles` say of groups and cells alike.
 */
#include "ui/text/tiles_view.h"

#include <stdlib.h>

#include "base/order.h"
#include "trace/run.h"

const char *tiles_brick_name(const struct tiles_view *view, const struct tiles_group *group)
{
	return group->brick == RUN_NONE ? "(no brick)" : view->run->bricks[group->brick].name;
}

double tiles_bin_mean_ns(const struct tiles_bin *bin)
{
	return bin->count ? (double)bin->total_ns / (double)bin->count : -1;
}

/* A tile that was interrupted once must not make all others look the same: hence no maximum. */
bool tiles_bin_range(const struct tiles_group *group, double *low_ns, double *high_ns)
{
	double means[TILES_BINS * TILES_BINS];
	size_t n = 0;

	for (size_t i = 0; i < (size_t)group->bin_rows * group->bin_columns; i++)
		if (group->bins[i].count)
			means[n++] = tiles_bin_mean_ns(&group->bins[i]);
	*low_ns = *high_ns = -1;
	if (!n)
		return false;
	qsort(means, n, sizeof(*means), order_doubles);
	*low_ns = means[0];
	*high_ns = means[(n - 1) * 95 / 100];
	return means[n - 1] > *high_ns;
}
