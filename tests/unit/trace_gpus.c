/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPUs on their way into a trace: a session hears of each once, and of what its driver tells later;
 * those of several processes and backends are one where drivers say so, and two where they do not.
 */
#include "lib/device/gpus.h"
#include "lib/device/queue_lane.h"
#include "lib/sys/environment.h"
#include "lib/writer/gpu_list.h"
#include "tests/unit/queue_kit.h"

static uint32_t times_noted(struct peek *p, const char *line)
{
	struct brick_session_header *h = peek_header(p);
	const char *at = (const char *)h + h->notes_offset, *end = at + h->notes_bytes;
	uint32_t n = 0;

	while ((at = memmem(at, (size_t)(end - at), line, strlen(line)))) {
		at += strlen(line);
		n++;
	}
	return n;
}

static void sessions_hear_once(void **state)
{
	static const uint8_t uuid[16] = {0xab, 1};
	struct peek p = {0};

	peek_start(&p, 1024);
	struct brick_queue *queues[] = {make_queue("a", 0), make_queue("b", 0), make_queue("c", 0)};
	brick__queue_on_gpu(queues[0], "test", 7);
	brick__queue_on_gpu(queues[1], "test", 7);
	brick__queue_on_gpu(queues[2], "test", 8);
	brick__gpu_describe("test", 8, &(struct gpu_facts){.name = "eight\nlines", .vendor = ""});
	for (int i = 0; i < 3; i++)
		record(queues[i], brick_ticks() + 1000000, brick_ticks() + 1000010, 0);
	brick__gpu_describe("test", 7, &(struct gpu_facts){.name = "seven", .uuid = uuid});
	brick__gpu_describe("test", 7, &(struct gpu_facts){.name = "something else"});
	peek_map(&p);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(brick_queue_gpu(lane_of(&p, BRICK_LANE_QUEUE, i)->queue_flags),
			i < 2 ? 1 : 2);
	assert_int_equal(times_noted(&p, "gpu.1=test\n"), 1);
	assert_int_equal(times_noted(&p, "gpu.1.name=seven\n"), 1);
	assert_int_equal(times_noted(&p, "gpu.1.uuid=ab010000000000000000000000000000\n"), 1);
	assert_int_equal(times_noted(&p, "gpu.2.name=eight lines\n"), 1);
	assert_int_equal(times_noted(&p, "vendor"), 0);
	assert_int_equal(times_noted(&p, "something else"), 0);
	for (int i = 0; i < 3; i++)
		brick_queue_destroy(queues[i]);
	peek_stop(&p);
}

static int swallow(void *context, const void *data, size_t bytes)
{
	*(size_t *)context += bytes;
	return 0;
}

static void notes(
	struct gpu_list *list, struct packets *packets, uint32_t process, const char *text)
{
	assert_int_equal(gpu_list_notes(list, packets, process, text, strlen(text)), 0);
}

static void one_where_drivers_say_so(void **state)
{
	size_t bytes = 0;
	struct packets packets = {.output = swallow, .output_context = &bytes};
	struct gpu_list list = {0};

	assert_int_equal(packets_init(&packets, NULL, 0), 0);
	notes(&list, &packets, 0,
		"gpu.1=cuda\ngpu.1.uuid=aa\ngpu.2=vulkan\ngpu.2.uuid=aa\n"
		"gpu.3=opencl\ngpu.3.name=X\ngpu.4=opencl\ngpu.4.name=X\n");
	notes(&list, &packets, 1,
		"gpu.1=cuda\ngpu.1.uuid=bb\ngpu.3=opencl\ngpu.3.name=X\n"
		"gpu.2.architecture=sm_90\ngpu.2.uuid=aa\n");
	static const struct {
		uint32_t process, number, index;
	} uses[] = {{0, 1, 0}, {0, 2, 0}, {0, 3, 1}, {0, 4, 2}, {1, 1, 3}, {1, 3, 1}, {1, 2, 0},
		{1, 1, 3}, {0, 0, 4}, {1, 0, 4}};
	for (size_t i = 0; i < sizeof(uses) / sizeof(*uses); i++)
		assert_int_equal(gpu_list_use(&list, &packets, uses[i].process, uses[i].number),
			uses[i].index);
	/* the trace has the list already */
	size_t written = packets.chunk_size;
	assert_int_equal(gpu_list_use(&list, &packets, 1, 1), 3);
	assert_int_equal(packets.chunk_size, written);
	assert_string_equal(gpu_list_architecture(&list, 0), "sm_90");
	assert_string_equal(gpu_list_architecture(&list, 3), "");
	gpu_list_fini(&list);
	packets_fini(&packets);
}

/* Lines that are none of a GPU are left alone, however they are cut. */
static void nonsense(void **state)
{
	static const char *const texts[] = {"gpu.", "gpu.\n", "gpu.=x\n", "gpu.0=x\n", "gpu.-1=x\n",
		"gpu.+1=x\n", "gpu. 1=x\n", "gpu.-18446744073709551615=x\n", "gpu.4294967297=x\n",
		"gpu.1\n", "gpu.1.name\n", "gpu.1x=y\n", "gpu.99999999=x\n", "gpu.1.name=cut off"};
	size_t bytes = 0;
	struct packets packets = {.output = swallow, .output_context = &bytes};
	struct gpu_list list = {0};

	assert_int_equal(packets_init(&packets, NULL, 0), 0);
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		notes(&list, &packets, 0, texts[i]);
	assert_int_equal(list.entries.count, 0);
	gpu_list_fini(&list);
	packets_fini(&packets);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sessions_hear_once),
		cmocka_unit_test(one_where_drivers_say_so),
		cmocka_unit_test(nonsense),
	};

	setenv("BRICK_CLOCK", "monotonic", 1);
	brick__environment_read();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
