/* SPDX-License-Identifier: Apache-2.0 */
/* Work that does not nest: two transfers that overlap, ended in another order than they began. */
#include <brick/brick.h>
#include <stdio.h>

int main(void)
{
	brick_session_start(NULL);
	/* begin */
	uint32_t copy = (uint32_t)brick_register("Prefetch", BRICK_CATEGORY_OTHER);
	struct brick_async first = brick_async_begin(copy), second = brick_async_begin(copy);
	uint64_t first_ns = brick_async_end(&first, 4096);
	uint64_t second_ns = brick_async_end(&second, 4096);
	/* end */
	struct brick_stats stats = BRICK_STATS_INIT;

	brick_stats_get(copy, &stats);
	printf("%llu of them, %llu elements, both measured: %d\n", (unsigned long long)stats.count,
		(unsigned long long)stats.elements, first_ns && second_ns);
	return brick_session_stop();
}
