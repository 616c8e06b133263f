/* SPDX-License-Identifier: Apache-2.0 */
/* Called by the view of bricks. */
#include "ui/top/spark.h"

#include <string.h>

/* Mean of the values that are known among `count`; negative: none is. */
static double mean(const double *values, int count)
{
	double sum = 0;
	int known = 0;
	for (int i = 0; i < count; i++)
		if (values[i] >= 0) {
			sum += values[i];
			known++;
		}
	return known ? sum / known : -1;
}

void spark_of(char out[SPARK_BYTES], const struct history_brick *brick, int width, bool utf8)
{
	static const char *const blocks[] = {"\xe2\x96\x81", "\xe2\x96\x82", "\xe2\x96\x83",
		"\xe2\x96\x84", "\xe2\x96\x85", "\xe2\x96\x86", "\xe2\x96\x87", "\xe2\x96\x88"};
	static const char *const letters[] = {"_", ".", "-", "=", "+", "*", "%", "#"};
	double most = 0, value[HISTORY_SLOTS];
	out[0] = '\0';
	if (!brick || width < 1)
		return;
	int each = (HISTORY_SLOTS + width - 1) / width, count = HISTORY_SLOTS / each;
	for (int i = 0; i < count; i++) {
		value[i] = mean(brick->values + i * each, each);
		if (value[i] > most)
			most = value[i];
	}
	for (int i = 0; i < count; i++) {
		int level = most > 0 ? (int)(value[i] / most * 7.999) : 0;
		strcat(out, value[i] <= 0 ? " " : utf8 ? blocks[level] : letters[level]);
	}
}
