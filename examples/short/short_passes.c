/* SPDX-License-Identifier: Apache-2.0 */
/* Passes of a GPU that an engine has timed itself, in a recording. */
#include <brick/brick.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	struct brick_session_options options = BRICK_SESSION_OPTIONS_INIT;
	struct brick_queue *queue;

	options.output = argc > 1 ? argv[1] : "passes.pftrace";
	brick_session_start(&options);
	brick_queue_create(&queue, NULL);
	uint64_t now = brick_clock_ns(brick_clock_get(), brick_ticks());
	struct brick_pass passes[] = {
		{"matmul", now - 5000, now - 2000}, {"softmax", now - 2000, now - 500}};
	/* begin */
	int error = brick_queue_passes(queue, passes, 2);
	/* end */
	return error || brick_session_stop();
}
