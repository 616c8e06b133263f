/* SPDX-License-Identifier: Apache-2.0 */
/* Passes of a GPU that the program timed itself, as commands without a launch (brick/queue.h). */
#include <errno.h>
#include "brick/queue.h"
#include "lib/session/session_lanes.h"

static int check(const struct brick_pass *passes, uint32_t count)
{
	uint64_t last = 0;

	for (uint32_t i = 0; i < count; i++) {
		if (!passes[i].name || !passes[i].begin_ns || passes[i].begin_ns < last ||
			passes[i].end_ns < passes[i].begin_ns)
			return -EINVAL;
		last = passes[i].begin_ns;
	}
	return 0;
}

int brick_queue_passes(struct brick_queue *queue, const struct brick_pass *passes, uint32_t count)
{
	struct brick_command command = BRICK_COMMAND_INIT;
	struct brick_launch parent;
	int error = check(passes, count);

	brick_launch_parent(&parent);
	parent.session = brick__number_here();
	if (!parent.session)
		return -ENOENT;
	command.source = BRICK_SOURCE_TIMESTAMP_QUERY;
	for (uint32_t i = 0; i < count && !error; i++) {
		struct brick_kernel kernel = BRICK_KERNEL_INIT;
		kernel.name = passes[i].name;
		command.launch = parent;
		command.launch.number = brick_launch_number();
		command.kernel = brick_kernel_register(&kernel);
		command.begin_ns = passes[i].begin_ns;
		command.end_ns = passes[i].end_ns;
		error = brick_queue_record(queue, &command);
	}
	return error;
}
