/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work for a Vulkan device that times itself: dispatches and copies in several submissions that are
 * all in flight at once, a secondary command buffer, one submitted twice, and one recorded anew.
 * Prints a checksum of what was computed; writes what its own timestamps say of each dispatch to
 * the file of its first argument, a line "rounds begin length" each, in ns of the device's clock
 * and in the order of submission.
 */
#include "vulkan_kit.h"

enum { SUBMISSIONS = 6, QUERIES = 64 };

static VkQueryPool queries;
static uint32_t query_count, rounds_of[QUERIES / 2];

/* The kernel between two timestamps of our own, if it is to be timed. */
static void dispatch(VkCommandBuffer commands, uint32_t rounds, int timed)
{
	if (timed) {
		rounds_of[query_count / 2] = rounds;
		vkCmdWriteTimestamp(
			commands, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, queries, query_count++);
	}
	run_kernel(commands, rounds);
	if (timed)
		vkCmdWriteTimestamp(
			commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, queries, query_count++);
	hold_apart(commands);
}

/* Six submissions of 1000, 2000, ... rounds, none waited for; each copies what it made. */
static void many_in_flight(void)
{
	const VkFenceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
	const VkBufferCopy region = {0, 0, NUMBERS * sizeof(uint32_t)};
	VkFence fences[SUBMISSIONS];

	for (uint32_t i = 0; i < SUBMISSIONS; i++) {
		VkCommandBuffer commands = make_commands(VK_COMMAND_BUFFER_LEVEL_PRIMARY);
		check(vkCreateFence(device, &info, NULL, &fences[i]), "fence");
		begin(commands, 0);
		if (!i)
			vkCmdResetQueryPool(commands, queries, 0, QUERIES);
		dispatch(commands, 20000 * (i + 1), 1);
		vkCmdCopyBuffer(commands, numbers, copy, 1, &region);
		check(vkEndCommandBuffer(commands), "end");
		submit(commands, fences[i]);
	}
	check(vkWaitForFences(device, SUBMISSIONS, fences, VK_TRUE, UINT64_MAX), "wait");
	for (uint32_t i = 0; i < SUBMISSIONS; i++)
		vkDestroyFence(device, fences[i], NULL);
}

static void secondary_and_again(void)
{
	VkCommandBuffer second = make_commands(VK_COMMAND_BUFFER_LEVEL_SECONDARY);
	VkCommandBuffer first = make_commands(VK_COMMAND_BUFFER_LEVEL_PRIMARY);
	VkCommandBuffer twice = make_commands(VK_COMMAND_BUFFER_LEVEL_PRIMARY);

	begin(second, 0);
	dispatch(second, 30000, 1);
	check(vkEndCommandBuffer(second), "end");
	begin(first, 0);
	vkCmdExecuteCommands(first, 1, &second);
	vkCmdFillBuffer(first, copy, 0, VK_WHOLE_SIZE, 7);
	check(vkEndCommandBuffer(first), "end");
	submit(first, VK_NULL_HANDLE);
	check(vkQueueWaitIdle(queue), "idle");

	begin(first, 0); /* recorded anew */
	dispatch(first, 50000, 1);
	check(vkEndCommandBuffer(first), "end");
	submit(first, VK_NULL_HANDLE);

	begin(twice, VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT);
	dispatch(twice, 40000, 0);
	check(vkEndCommandBuffer(twice), "end");
	submit(twice, VK_NULL_HANDLE);
	submit(twice, VK_NULL_HANDLE);
	check(vkDeviceWaitIdle(device), "idle");
}

static void write_times(const char *path)
{
	uint64_t stamps[QUERIES];
	FILE *out = path ? fopen(path, "w") : NULL;

	check(vkGetQueryPoolResults(device, queries, 0, query_count, sizeof stamps, stamps, 8,
		      VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT),
		"results");
	for (uint32_t i = 0; out && i < query_count; i += 2)
		fprintf(out, "%u %.0f %.0f\n", rounds_of[i / 2], (double)stamps[i] * period_ns,
			(double)(stamps[i + 1] - stamps[i]) * period_ns);
	if (out)
		fclose(out);
}

int main(int argc, char **argv)
{
	const VkQueryPoolCreateInfo query_info = {VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO, NULL, 0,
		VK_QUERY_TYPE_TIMESTAMP, QUERIES, 0};

	kit_open(NULL);
	check(vkCreateQueryPool(device, &query_info, NULL, &queries), "queries");
	many_in_flight();
	secondary_and_again();
	write_times(argc > 1 ? argv[1] : NULL);
	printf("%016llx\n", (unsigned long long)kit_sum());
	vkDestroyQueryPool(device, queries, NULL);
	kit_close();
	return 0;
}
