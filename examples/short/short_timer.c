/* SPDX-License-Identifier: Apache-2.0 */
/* How long did it take? */
#include <brick/brick.h>
#include <stdio.h>

int main(void)
{
	/* begin */
	brick_session_start(NULL);
	brick_span span = brick_begin(BRICK_LM_HEAD);
	uint64_t ns = brick_end_ns(span, 0);
	printf("LmHead: %llu ns\n", (unsigned long long)ns);
	/* end */
	return 0;
}
