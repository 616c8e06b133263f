/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Description: the CUDA backend on the driver's double: times of pairs are those of the events, a
 * long run does not lose precision, failed reads are errors, and every event is released.
 */
#include "tests/unit/backend_cuda.h"

/* While a stream is busy, events that follow each other in it are passed at the same time. */
static void same_as_own_events(void **state)
{
	struct brick_backend_device *device = open_device(64);
	struct event *before[8], *after[8];

	occupy(30000);
	for (int i = 0; i < 8; i++) {
		cu.event(&before[i], 0);
		cu.event(&after[i], 0);
		cu.record(before[i], stream);
		assert_int_equal(backend->begin(device, stream, (uint64_t)i + 1), 0);
		work();
		assert_int_equal(backend->end(device, stream, (uint64_t)i + 1), 0);
		cu.record(after[i], stream);
	}
	assert_int_equal(backend->synchronise(device, stream), 0);
	pass(1);
	assert_int_equal(backend->drain(device), 8);
	for (int i = 0; i < 8; i++) {
		const struct brick_completion *c = &completions[i];
		int64_t from = (int64_t)(cu.device_ns(before[i]->at) / 500 * 500);
		int64_t to = (int64_t)(cu.device_ns(after[i]->at) / 500 * 500);
		assert_int_equal(c->error, 0);
		assert_int_equal(c->ticket, i + 1);
		assert_true(llabs((int64_t)(c->end_ns - c->begin_ns) - (to - from)) <= 1);
		assert_true(!i || c->begin_ns >= completions[i - 1].end_ns);
		cu.event_destroy(before[i]);
		cu.event_destroy(after[i]);
	}
	backend->close(device);
	assert_int_equal(lost, 0);
	assert_int_equal(cu.alive(), 0);
}

/* The device's clock runs 301 times as fast: minutes of it pass. */
static void precise_after_minutes(void **state)
{
	struct brick_backend_device *device = open_device(16);
	struct event *first, *now;
	int64_t origin = 0, worst = 0;

	cu.options()->drift_ppm = 300000000;
	cu.event(&first, 0);
	cu.event(&now, 0);
	for (int i = 0; i < 400; i++) {
		occupy(900 + (unsigned)i * 37 % 211); /* uneven, as rounding errors shall be */
		cu.record(i ? now : first, stream);
		assert_int_equal(backend->begin(device, stream, 1), 0);
		work();
		assert_int_equal(backend->end(device, stream, 1), 0);
		cu.sync(stream);
		while (backend->drain(device) == 0)
			pass(50);
		int64_t truth = (int64_t)(cu.device_ns((i ? now : first)->at) / 500 * 500);
		int64_t seen = (int64_t)completions[completion_count - 1].begin_ns;
		if (!i)
			origin = truth - seen;
		int64_t off = llabs(truth - seen - origin);
		worst = off > worst ? off : worst;
	}
	uint64_t span = completions[completion_count - 1].end_ns - completions[0].begin_ns;
	assert_true(span > 60000000000ull);
	assert_true(worst < 1500);
	cu.event_destroy(first);
	cu.event_destroy(now);
	backend->close(device);
	assert_int_equal(cu.alive(), 0);
}

static void failed_reads_are_errors(void **state)
{
	struct brick_backend_device *device = open_device(4);

	assert_int_equal(backend->begin(device, stream, 5), 0);
	work();
	assert_int_equal(backend->end(device, stream, 5), 0);
	cu.sync(stream);
	pass(1000);
	cu.options()->failread = 1;
	assert_int_equal(backend->drain(device), 1);
	assert_int_equal(completions[0].error, BRICK_EDEVICE);
	assert_int_equal(completions[0].begin_ns, 0);
	assert_int_equal(backend->end(device, stream, 6), -ENOENT);
	assert_int_equal(backend->begin(device, stream, 0), -EINVAL);
	backend->close(device);
	assert_int_equal(cu.alive(), 0);
}

static void pool_is_bounded(void **state)
{
	struct brick_backend_device *device = open_device(2);

	for (uint64_t i = 1; i <= 2; i++) {
		assert_int_equal(backend->begin(device, stream, i), 0);
		work();
		assert_int_equal(backend->end(device, stream, i), 0);
	}
	assert_int_equal(backend->begin(device, stream, 3), -EAGAIN);
	cu.sync(stream);
	pass(1000);
	assert_int_equal(backend->drain(device), 2);
	assert_int_equal(backend->begin(device, stream, 3), 0);
	backend->close(device);
	assert_int_equal(lost, 1);
	assert_int_equal(cu.alive(), 0);
}

static void nested_pairs(void **state)
{
	struct brick_backend_device *device = open_device(8);

	work();
	assert_int_equal(backend->begin(device, stream, 1), 0);
	assert_int_equal(backend->begin(device, stream, 2), 0);
	work();
	assert_int_equal(backend->end(device, stream, 2), 0);
	work();
	assert_int_equal(backend->end(device, stream, 1), 0);
	cu.sync(stream);
	pass(1000);
	assert_int_equal(backend->drain(device), 2);
	assert_int_equal(completions[0].ticket, 2);
	assert_true(completions[1].begin_ns <= completions[0].begin_ns);
	assert_true(completions[1].end_ns > completions[0].end_ns);
	backend->close(device);
}

static void places_on_the_host(void **state)
{
	struct brick_backend_device *device = open_device(8);
	struct brick_correlation correlation;
	struct brick_reading readings[4];
	struct event *begin;

	brick_correlation_init(&correlation);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(backend->correlate(device, &readings[i]), 0);
		assert_true(readings[i].after_ns > readings[i].before_ns);
	}
	assert_int_equal(brick_correlation_add(&correlation, readings, 4), 0);
	cu.event(&begin, 0);
	int is_together = 0; /* or somebody came in between */
	while (!is_together) {
		completion_count = 0;
		occupy(5000);
		uint64_t busy_until = stream->busy_until;
		cu.record(begin, stream);
		assert_int_equal(backend->begin(device, stream, 1), 0);
		is_together = cu.now() < busy_until;
		work();
		assert_int_equal(backend->end(device, stream, 1), 0);
		cu.sync(stream);
		while (backend->drain(device) == 0)
			pass(50);
	}
	uint64_t host = brick_correlation_host_ns(&correlation, completions[0].begin_ns);
	int64_t off = llabs((int64_t)(host - begin->at));
	assert_true(off <= (int64_t)correlation.residual_ns + 1000);
	cu.event_destroy(begin);
	backend->close(device);
}

static void probes(void **state)
{
	char reason[128] = "";

	assert_int_equal(backend->probe(reason, sizeof reason), 0);
	assert_string_equal(backend->name, "cuda");
	assert_int_equal(cuda_chain_ns(1.5f), 1500000);
	assert_int_equal(cuda_chain_ns(-0.001f), -1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(same_as_own_events, in_manual_time),
		cmocka_unit_test_setup(precise_after_minutes, in_manual_time),
		cmocka_unit_test_setup(failed_reads_are_errors, in_manual_time),
		cmocka_unit_test_setup(pool_is_bounded, in_manual_time),
		cmocka_unit_test_setup(nested_pairs, in_manual_time),
		cmocka_unit_test_setup(places_on_the_host, in_real_time),
		cmocka_unit_test_setup(probes, in_real_time),
	};
	return cmocka_run_group_tests(tests, open_double, NULL);
}
