/* SPDX-License-Identifier: Apache-2.0 */
/* How much of the time is attention's? */
#include <brick/brick.h>
#include <stdio.h>

int main(void)
{
	/* begin */
	struct brick_stats stats = BRICK_STATS_INIT;

	brick_session_start(NULL);
	for (int i = 0; i < 3; i++) {
		BRICK_SCOPE(BRICK_ATTENTION_SCORE);
	}
	brick_category_stats_get(BRICK_CATEGORY_ATTENTION, &stats);
	printf("attention: %.1f %%, %llu times\n", 100 * stats.share,
		(unsigned long long)stats.count);
	/* end */
	return 0;
}
