/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each ns of a GPU's idle time has one cause, and the causes are those that were planted: a thread
 * launches k0 to k8 on two queues, and does something else in front of each.
 */
#include "tests/unit/device_run.h"

#include "analysis/devices/gpu_times.h"

struct gpus {
	struct run run;
	uint32_t thread, queues[2], kernel, copy, launch, site;
};

static void gpus_init(struct gpus *g)
{
	struct run *run = &g->run;

	memset(g, 0, sizeof(*g));
	run->complete = 1;
	run->clock = (struct brick_clock){.mult = 1};
	builder_process(run, 1);
	g->thread = builder_lane(run, 0, 11);
	g->queues[0] = builder_queue(run, 0, 1);
	g->queues[1] = builder_queue(run, 0, 2);
	g->kernel = builder_kernel(run, "k", BRICK_KERNEL_COMPUTE, 4);
	g->copy = builder_kernel(run, "up", BRICK_KERNEL_H2D, 0);
	g->launch = builder_site(run, builder_brick(run, "Launch", "Engine"), -1, NULL, NULL);
	g->site = builder_site(run, builder_brick(run, "b", "FFN"), -1, NULL, NULL);
}

/* What the thread does from begin to end, inside of the step. */
static void does(
	struct gpus *g, const char *brick, const char *category, uint64_t begin_ns, uint64_t end_ns)
{
	uint32_t site =
		builder_site(&g->run, builder_brick(&g->run, brick, category), -1, NULL, NULL);

	builder_sample(&g->run, g->thread, site, begin_ns, end_ns, 1);
}

static uint32_t launches(struct gpus *g, uint64_t begin_ns, uint64_t end_ns)
{
	builder_sample(&g->run, g->thread, g->launch, begin_ns, end_ns, 1);
	return (uint32_t)g->run.lanes[g->thread].sample_count - 1;
}

static void runs(struct gpus *g, size_t queue, uint32_t kernel, uint32_t call, uint64_t begin_ns,
	uint64_t end_ns)
{
	builder_sample(&g->run, g->queues[queue], g->site, begin_ns, end_ns, 0);
	builder_command(&g->run, g->queues[queue], kernel, call == RUN_NONE ? RUN_NONE : g->thread,
		call, RUN_NONE);
}

static void step(struct gpus *g, int brick, uint64_t begin_ns, uint64_t end_ns)
{
	uint32_t site = builder_site(&g->run, builder_known(&g->run, brick), -1, NULL, NULL);

	builder_sample(&g->run, g->thread, site, begin_ns, end_ns, 0);
	builder_step(&g->run, g->thread, 1);
}

static void assert_causes(const struct gpu_time *time, const uint64_t want[GPU_IDLE_CAUSES])
{
	uint64_t sum = 0;

	for (int cause = 0; cause < GPU_IDLE_CAUSES; cause++) {
		if (time->idle_of_ns[cause] != want[cause])
			fail_msg("%s: %llu ns, not %llu", gpu_idle_name((enum gpu_idle_cause)cause),
				(unsigned long long)time->idle_of_ns[cause],
				(unsigned long long)want[cause]);
		sum += time->idle_of_ns[cause];
	}
	assert_int_equal(sum, time->idle_ns);
	assert_int_equal(time->busy_ns + time->idle_ns, time->wall_ns);
}

static void each_gap_has_its_cause(void **state)
{
	struct gpus g;
	struct step_index index;
	struct gpu_times times, part;
	uint32_t calls[12];
	(void)state;

	gpus_init(&g);
	step(&g, BRICK_PREFILL, 1000, 3000);
	calls[0] = launches(&g, 1000, 1010);
	does(&g, "aten::mm", "Other", 1110, 1150);
	calls[1] = launches(&g, 1150, 1160);
	does(&g, "cudaMalloc", "Other", 1220, 1250);
	calls[2] = launches(&g, 1250, 1260);
	builder_sample(&g.run, g.thread,
		builder_site(&g.run, builder_known(&g.run, BRICK_SYNCHRONIZE), -1, NULL, NULL),
		1260, 1330, 1);
	calls[3] = launches(&g, 1330, 1340);
	does(&g, "DataLoading", "Engine", 1410, 1500);
	calls[4] = launches(&g, 1500, 1510);
	calls[5] = launches(&g, 1520, 1530);
	calls[6] = launches(&g, 1900, 1910);
	step(&g, BRICK_DECODE, 4000, 4100);
	calls[7] = launches(&g, 4000, 4010);
	/* queue 0 */
	runs(&g, 0, g.kernel, calls[0], 1020, 1100); /* then: between 10, operator 40, launch 10 */
	runs(&g, 0, g.kernel, calls[1], 1160, 1200); /* between 20, allocation 30, launch 20 */
	runs(&g, 0, g.kernel, calls[2], 1270, 1300); /* wait 30, launch 10 */
	runs(&g, 0, g.kernel, calls[3], 1340, 1400); /* between 10, loader 90, launch 50 */
	runs(&g, 0, g.kernel, calls[4], 1550, 1600); /* launched behind it: dependency 5 */
	runs(&g, 0, g.kernel, calls[6], 1950, 2000);
	runs(&g, 0, g.kernel, calls[6], 2007, 2050); /* of one launch: replay 7 */
	runs(&g, 0, g.kernel, RUN_NONE, 2090, 2100); /* unknown 40 */
	runs(&g, 0, g.kernel, calls[7], 4020, 4050); /* between 900, nothing 1000, launch 20 */
	/* queue 1: its command could have begun with that of queue 0, and began after it */
	runs(&g, 1, g.copy, calls[5], 1605, 1700); /* then between 200, launch 50 */
	assert_int_equal(step_index_init(&index, &g.run), 0);

	assert_int_equal(gpu_times_init(&times, &g.run, &index, -1), 0);
	assert_int_equal(times.spans.count, 1);
	assert_int_equal(times.list[0].wall_ns, 4050 - 1020);
	assert_int_equal(times.list[0].busy_ns, 80 + 40 + 30 + 60 + 50 + 50 + 43 + 10 + 30 + 95);
	assert_int_equal(times.list[0].alone_ns[GPU_TRANSFER], 95);
	assert_causes(&times.list[0], (const uint64_t[GPU_IDLE_CAUSES]){
					      [GPU_IDLE_BETWEEN] = 10 + 20 + 10 + 200 + 900,
					      [GPU_IDLE_WORK] = 40,
					      [GPU_IDLE_ALLOCATION] = 30,
					      [GPU_IDLE_WAIT] = 30,
					      [GPU_IDLE_LOADER] = 90,
					      [GPU_IDLE_LAUNCH] = 10 + 20 + 10 + 50 + 50 + 20,
					      [GPU_IDLE_DEPENDENCY] = 5,
					      [GPU_IDLE_REPLAY] = 7,
					      [GPU_IDLE_UNKNOWN] = 40,
					      [GPU_IDLE_NOTHING] = 1000,
				      });
	assert_string_equal(g.run.bricks[times.list[0].most[GPU_IDLE_WORK]].name, "aten::mm");
	/* phases add up */
	assert_int_equal(gpu_times_init(&part, &g.run, &index, STEP_PREFILL), 0);
	uint64_t prefill_ns = part.list[0].wall_ns;
	assert_int_equal(prefill_ns, 4000 - 1020);
	gpu_times_fini(&part);
	assert_int_equal(gpu_times_init(&part, &g.run, &index, STEP_DECODE), 0);
	assert_int_equal(prefill_ns + part.list[0].wall_ns, times.list[0].wall_ns);
	gpu_times_fini(&part);
	gpu_times_fini(&times);
	step_index_fini(&index);
	run_fini(&g.run);
}

/* A transfer beneath a kernel is hidden, and the kernel is not. */
static void exposed(void **state)
{
	struct gpus g;
	struct step_index index;
	struct gpu_times times;
	(void)state;

	gpus_init(&g);
	runs(&g, 0, g.kernel, RUN_NONE, 1000, 1100);
	g.site = builder_site(&g.run, builder_brick(&g.run, "copy", "Other"), -1, NULL, NULL);
	runs(&g, 1, g.copy, RUN_NONE, 1060, 1150);
	assert_int_equal(step_index_init(&index, &g.run), 0);
	assert_int_equal(gpu_times_init(&times, &g.run, &index, -1), 0);
	assert_int_equal(times.exposed_ns[run_brick_find(&g.run, "b")], 100);
	assert_int_equal(times.exposed_ns[run_brick_find(&g.run, "copy")], 50);
	assert_int_equal(times.list[0].alone_ns[GPU_COMPUTE], 100);
	assert_int_equal(times.list[0].alone_ns[GPU_TRANSFER], 50);
	assert_int_equal(times.list[0].idle_ns, 0);
	gpu_times_fini(&times);
	step_index_fini(&index);
	run_fini(&g.run);
}

/* Queues of two GPUs are two, and those of the host's own spans are none. */
static void apart(void **state)
{
	struct gpus g;
	struct step_index index;
	struct gpu_times times;
	(void)state;

	gpus_init(&g);
	runs(&g, 0, g.kernel, RUN_NONE, 1000, 1100);
	runs(&g, 1, g.kernel, RUN_NONE, 1200, 1300);
	uint32_t host = builder_queue(&g.run, 0, 3);
	free(g.run.lanes[host].backend);
	g.run.lanes[host].backend = strdup(BRICK_HOST_BACKEND);
	builder_sample(&g.run, host, g.site, 1100, 1200, 0);
	g.run.lanes[g.queues[0]].gpu = 1;
	g.run.lanes[g.queues[1]].gpu = 2;
	builder_note(&g.run, "gpu.2.name", "two");
	assert_int_equal(step_index_init(&index, &g.run), 0);
	assert_int_equal(gpu_times_init(&times, &g.run, &index, -1), 0);
	assert_int_equal(times.spans.count, 2);
	assert_null(gpu_name(&g.run, &times.spans.list[0]));
	assert_string_equal(gpu_name(&g.run, &times.spans.list[1]), "two");
	assert_int_equal(times.list[0].idle_ns + times.list[1].idle_ns, 0);
	gpu_times_fini(&times);
	/* of one GPU, the time between them is idle */
	g.run.lanes[g.queues[1]].gpu = 1;
	assert_int_equal(gpu_times_init(&times, &g.run, &index, -1), 0);
	assert_int_equal(times.spans.count, 1);
	assert_int_equal(times.list[0].idle_of_ns[GPU_IDLE_UNKNOWN], 100);
	gpu_times_fini(&times);
	step_index_fini(&index);
	run_fini(&g.run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(each_gap_has_its_cause),
		cmocka_unit_test(exposed), cmocka_unit_test(apart)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
