/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records are one run, whether they go through a compressed file or through plain packets in
 * memory, as a live view's do: those of a session that makes sense, and those of ones that do not.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/array.h"
#include "brick/queue.h"
#include "tests/unit/trace_bytes.h"
#include "tests/unit/trace_check.h"
#include "tests/unit/trace_same.h"
#include "trace/load.h"

typedef void feeder(struct trace_writer *writer, const void *data, size_t size);

static struct run *load(feeder *feed, const void *data, size_t size)
{
	struct trace_writer *w;
	struct load_error error;
	struct run *run = NULL;
	char path[64];

	snprintf(path, sizeof path, "trace-sinks-%d.pftrace", (int)getpid());
	const struct trace_writer_options options = {
		.path = path, .start_ns = 5, .host = "box", .compress = 1};
	assert_int_equal(trace_writer_create(&w, &options), 0);
	feed(w, data, size);
	assert_int_equal(trace_writer_finish(w), 0);
	assert_int_equal(run_load(&run, path, &error), 0);
	unlink(path);
	return run;
}

struct bytes {
	ARRAY(uint8_t) all;
};

static int keep(void *context, const void *data, size_t size)
{
	struct bytes *bytes = context;

	return array_append(&bytes->all, (const uint8_t *)data, size);
}

static struct run *load_plain(feeder *feed, const void *data, size_t size)
{
	struct bytes bytes = {0};
	struct trace_writer *w;
	struct load_error error;
	struct run *run = NULL;

	const struct trace_writer_options options = {
		.start_ns = 5, .host = "box", .output = keep, .output_context = &bytes};
	assert_int_equal(trace_writer_create(&w, &options), 0);
	feed(w, data, size);
	assert_int_equal(trace_writer_finish(w), 0);
	assert_int_equal(
		run_load_memory(&run, bytes.all.items, bytes.all.count, "built", &error), 0);
	array_fini(&bytes.all);
	return run;
}

static void compare(feeder *feed, const void *data, size_t size, unsigned seed)
{
	struct run *loaded = load(feed, data, size), *plain = load_plain(feed, data, size);
	const char *wrong = check_run(plain);

	if (!wrong)
		wrong = same_run(loaded, plain);
	if (wrong)
		fail_msg("seed %u: %s", seed, wrong);
	run_destroy(loaded);
	run_destroy(plain);
}

/* xorshift: the same bytes everywhere */
static void fill(uint8_t *bytes, size_t size, unsigned seed)
{
	uint32_t x = 2463534242u ^ seed * 2654435761u;

	for (size_t i = 0; i < size; i++) {
		x ^= x << 13;
		x ^= x >> 17;
		x ^= x << 5;
		bytes[i] = (uint8_t)(x >> 8);
	}
}

static void test_any_bytes(void **state)
{
	static uint8_t bytes[6000];

	(void)state;
	for (unsigned seed = 1; seed <= 300; seed++) {
		size_t size = 1000 + seed * 13 % 5000;
		fill(bytes, size, seed);
		/* text that is text, now and then */
		if (seed % 3)
			snprintf((char *)bytes + 2, 48, "Brick %u", seed);
		compare(feed_bytes, bytes, size, seed);
	}
}

static struct brick_record launch_of(uint64_t begin_ns, uint16_t kernel, uint64_t number)
{
	struct brick_record r = fake_at(BRICK_RECORD_LAUNCH, begin_ns, kernel, number);

	r.ticks = 40;
	return r;
}

static void feed_lanes(struct trace_writer *writer, struct fake *f, uint32_t site, uint32_t kernel)
{
	const struct brick_record host[] = {
		fake_at(BRICK_RECORD_OPEN, 100, BRICK_DECODE, 3),
		fake_sited(f, 110, 20, site, 5, 4),
		fake_at(BRICK_RECORD_WORK, 4096, 0, 777),
		fake_sample(140, 10, BRICK_RMS_NORM, 2),
		fake_at(BRICK_RECORD_FLOW, 0, 0, 9),
		fake_message(151, BRICK_MESSAGE_SENT, 3, 8),
		fake_message(152, BRICK_MESSAGE_RECEIVED, 0, 4000000000u),
		fake_message(153, BRICK_MESSAGE_COLLECTIVE, BRICK_MESSAGE_NO_PEER, 0),
		fake_message(154, BRICK_MESSAGE_RECEIVED_ANY, 2, 6),
		fake_at(BRICK_RECORD_COUNTER, 155, FAKE_CUSTOM_BRICK, 0x4008000000000000ull),
		fake_sample(160, 15, BRICK_BARRIER_WAIT, -1),
		fake_at(BRICK_RECORD_AFTER, 0, 0, 9),
		fake_at(BRICK_RECORD_CLOSE, 200, BRICK_DECODE, 0),
		fake_at(BRICK_RECORD_OPEN, 300, BRICK_PREFILL, 8),
		fake_sequence(302, BRICK_SEQUENCE_TOKENS, 3, 8, 0, 8),
		fake_sequence(303, BRICK_SEQUENCE_BLOCK, 3, 16, 0, -1),
		fake_sequence(304, BRICK_SEQUENCE_MOVED, 3, (uint32_t)-5, 5, -1),
		fake_sequence(305, BRICK_SEQUENCE_FREED, -1, 0, -1, -1),
		fake_expert(306, 5, 3),
		fake_expert(306, BRICK_EXPERT_SAME, 0),
		fake_memory(307, site, 1ull << 40),
		fake_memory(308, 0, 77),
		fake_at(BRICK_RECORD_DROP, 310, 0, 17),
		fake_at(BRICK_RECORD_THREAD, 320, 0, 99),
		fake_at(BRICK_RECORD_OPEN, 330, BRICK_RMS_NORM, 0),
		fake_at(BRICK_RECORD_THREAD, 340, 0, 0),
	};
	const struct brick_record queue[] = {
		fake_sample(170, 25, BRICK_RMS_NORM, 2),
		launch_of(142, (uint16_t)kernel, 9),
		fake_at(BRICK_RECORD_TIMES, 145, 0, fake_ticks(150)),
		fake_sample(200, 25, BRICK_RMS_NORM, 2),
		launch_of(142, (uint16_t)kernel, 10),
		fake_at(BRICK_RECORD_AFTER, 0, 0, 9),
	};

	for (size_t i = 0; i < sizeof host / sizeof *host; i++)
		assert_int_equal(sink_records(writer, 0, &host[i], 1), 0);
	assert_int_equal(sink_records(writer, 1, queue, sizeof queue / sizeof *queue), 0);
}

/* The third begins inside of the second, the fourth lies in it: threads of one lane may overlap. */
static void feed_off_cpu(struct trace_writer *writer)
{
	const struct sink_off_cpu off[] = {
		{fake_ns(20), fake_ns(30), 7, 1},
		{fake_ns(40), fake_ns(60), 7, 0},
		{fake_ns(50), fake_ns(70), 8, 1},
		{fake_ns(61), fake_ns(65), 7, 0},
	};

	assert_int_equal(sink_off_cpu(writer, 0, off, 1), 0);
	assert_int_equal(sink_off_cpu(writer, 0, off + 1, 3), 0);
	assert_int_equal(sink_off_cpu(writer, 2, off, 1), -EINVAL);
}

/* Faults of more than a packet, then one of another thread, which has no lane. */
static void feed_faults(struct trace_writer *writer)
{
	struct sink_fault faults[101];

	for (uint32_t i = 0; i < 100; i++)
		faults[i] = (struct sink_fault){
			1000 + 10 * i, 1000 + 10 * i + 3 + i % 3, 4242, 4242, i % 10 == 7};
	faults[100] = (struct sink_fault){500, 600, 4242, 9, 0};
	assert_int_equal(sink_faults(writer, faults, 101), 0);
}

static void check_faults(const struct run *run)
{
	assert_int_equal(run->fault_count, 101);
	for (uint32_t i = 0; i < 100; i++) {
		const struct run_fault *f = &run->faults[i];
		assert_int_equal(f->begin_ns, 1000 + 10 * i);
		assert_int_equal(f->end_ns, 1000 + 10 * i + 3 + i % 3);
		assert_int_equal(f->is_major, i % 10 == 7);
		assert_int_equal(f->lane, 0);
	}
	assert_int_equal(run->faults[100].lane, RUN_NONE);
	assert_int_equal(run->faults[100].tid, 9);
	assert_true(run->fault_account.is_known && run->fault_account.sees_kernel);
	assert_int_equal(run->fault_account.lost, 5);
	assert_int_equal(run->fault_account.until_ns, 7);
	assert_int_equal(run->machine.minor_faults, 99);
}

static void feed_placement(struct trace_writer *writer)
{
	const struct sink_cpu cpus[] = {{0, 0, 1024}, {5, 1, 600}};
	const struct sink_node nodes[] = {{0, 1ull << 40, 4096}, {1, 0, 0}};
	const struct sink_thread_cpu threads[] = {{4242, 5, 17}, {4243, 0, 1}};
	const struct sink_placement all = {4242, cpus, 2, nodes, 2, threads, 2};

	assert_int_equal(sink_placement(writer, &all), 0);
}

static void check_placement(const struct run *run)
{
	assert_int_equal(run->placed_cpu_count, 2);
	assert_int_equal(run->placed_cpus[1].cpu, 5);
	assert_int_equal(run->placed_cpus[1].node, 1);
	assert_int_equal(run->placed_cpus[1].capacity, 600);
	assert_int_equal(run->placed_node_count, 2);
	assert_int_equal(run->placed_nodes[0].file_bytes, 1ull << 40);
	assert_int_equal(run->placed_nodes[0].anonymous_bytes, 4096);
	assert_int_equal(run->placed_thread_count, 2);
	assert_int_equal(run->placed_threads[0].tid, 4242);
	assert_int_equal(run->placed_threads[0].cpu, 1);
	assert_int_equal(run->placed_threads[0].times, 17);
}

/* Times that only touch one are known. */
static void check_gaps(const struct run *run)
{
	const struct off_cpu_gap *gaps = run->off_cpu.gaps;

	assert_int_equal(run->off_cpu.gap_count, 2);
	assert_int_equal(gaps[0].begin_ns, fake_ns(100));
	assert_int_equal(gaps[0].end_ns, fake_ns(200));
	assert_int_equal(gaps[1].end_ns, UINT64_MAX);
	assert_int_equal(gaps[1].per_s, 30000);
	assert_int_equal(gaps[1].each_ns, 1600);
	assert_true(run_off_cpu_is_known(run, fake_ns(0), fake_ns(100)));
	assert_true(run_off_cpu_is_known(run, fake_ns(200), fake_ns(700)));
	assert_false(run_off_cpu_is_known(run, fake_ns(0), fake_ns(101)));
	assert_false(run_off_cpu_is_known(run, fake_ns(120), fake_ns(130)));
	assert_false(run_off_cpu_is_known(run, fake_ns(800), fake_ns(801)));
}

static void check_off_cpu(const struct run *run)
{
	const struct run_lane *lane = &run->lanes[0];
	struct run_off_times all = run_off_cpu_between(lane, 0, fake_ns(900));
	struct run_off_times part = run_off_cpu_between(lane, fake_ns(25), fake_ns(45));

	assert_int_equal(run->off_cpu.source, OFF_CPU_SWITCHES);
	assert_int_equal(run->off_cpu.lost, 3);
	check_gaps(run);
	assert_int_equal(run->machine.steal_ns, 6);
	assert_string_equal(run->machine.neighbour, "cc1 (12)");
	assert_int_equal(run->machine.interrupt_ns, 4);
	assert_int_equal(run->machine.interrupt_cpu, 1);
	assert_int_equal(run->machine.interrupt_cpu_ns, 3);
	assert_int_equal(run->machine.interrupt_cpu_all_ns, 7);
	assert_int_equal(run->machine.throttled_ns, 9);
	assert_int_equal(lane->off_cpu_count, 3);
	assert_int_equal(lane->off_cpu[2].begin_ns, fake_ns(60));
	assert_int_equal(all.blocked_ns, fake_ns(60) - fake_ns(40));
	assert_int_equal(all.preempted_ns, fake_ns(30) - fake_ns(20) + fake_ns(70) - fake_ns(60));
	assert_int_equal(part.blocked_ns, fake_ns(45) - fake_ns(40));
	assert_int_equal(part.preempted_ns, fake_ns(30) - fake_ns(25));
	assert_int_equal(run->lanes[1].off_cpu_count, 0);
}

static void check_messages(const struct run *run)
{
	const struct run_message *m = run->messages;

	assert_int_equal(run->message_count, 4);
	for (int i = 0; i < 4; i++) {
		/* sent, received, a collective, received by a receive from any sender */
		assert_int_equal(m[i].event, i < 3 ? i : BRICK_MESSAGE_RECEIVED);
		assert_int_equal(m[i].is_uncertain, i == 3);
		assert_int_equal(m[i].lane, 0);
		assert_int_equal(run->lanes[0].samples[m[i].sample].begin_ns, fake_ns(140));
		assert_int_equal(m[i].communicator, 0xdeadbeef);
		assert_int_equal(m[i].bytes, (1ull << 32) + 5);
	}
	assert_int_equal(m[0].peer, 3);
	assert_int_equal(m[0].tag, -7);
	assert_int_equal(m[0].number, 8);
	assert_int_equal(m[1].peer, 0);
	assert_int_equal(m[1].number, 4000000000u);
	assert_int_equal(m[2].peer, BRICK_MESSAGE_NO_PEER);
	assert_int_equal(m[2].number, 0);
}

static void feed_facts(struct trace_writer *writer, struct fake *f, uint32_t site)
{
	static struct ticks_histogram buckets;
	const struct sink_account account = {.end_ns = fake_ns(900),
		.cpus = 4,
		.exit_code = 3,
		.consumer_cpu_ns = 12,
		.off_cpu = {.source = OFF_CPU_SWITCHES,
			.lost = 3,
			.gap_count = 2,
			.gaps = {{fake_ns(100), fake_ns(200), 20000, 1700},
				{fake_ns(700), UINT64_MAX, 30000, 1600}}},
		.faults = {.is_known = 1, .sees_kernel = 1, .lost = 5, .until_ns = 7},
		.machine = {.busy_ns = 8,
			.minor_faults = 99,
			.steal_ns = 6,
			.interrupt_ns = 4,
			.interrupt_cpu = 1,
			.interrupt_cpu_ns = 3,
			.interrupt_cpu_all_ns = 7,
			.throttled_ns = 9,
			.neighbour_ns = 5,
			.neighbour = "cc1 (12)"}};
	struct brick_session_digest digest = {.ticks = fake_ticks(180),
		.step = 1,
		.brick = BRICK_RMS_NORM,
		.layer = 2,
		.site = site,
		.digest = {.dtype = BRICK_DTYPE_F32, .ne = {4, 1, 1, 1}, .square_sum = 2}};

	buckets.of_ticks[17] = 4;
	f->lane.stats[BRICK_RMS_NORM] =
		(struct brick_stat){.count = 2, .total = 90, .self = 80, .min = 20, .max = 70};
	f->lane.hook_calls = 5;
	f->header.ledger.dropped = 17;
	assert_int_equal(sink_lane_stats(writer, 0, &f->lane), 0);
	assert_int_equal(sink_histogram(writer, 0, BRICK_RMS_NORM, &buckets), 0);
	assert_int_equal(sink_notes(writer, 0, "a=1\nb=two\n", 10), 0);
	assert_int_equal(sink_digest(writer, 0, &digest), 0);
	digest.digest.square_sum = -1; /* not a possible one */
	assert_int_equal(sink_digest(writer, 0, &digest), 0);
	assert_int_equal(sink_process_state(writer, 0, &f->header), 0);
	assert_int_equal(sink_account(writer, &account), 0);
	assert_int_equal(sink_process_end(writer, 0, fake_ticks(800), 1), 0);
	assert_int_equal(sink_process_end(writer, 1, 0, 1), -EINVAL);
	const struct brick_record r = fake_sample(850, 5, BRICK_RMS_NORM, 2);
	assert_int_equal(sink_records(writer, 2, &r, 1), -EINVAL);
}

static void feed_session(struct trace_writer *writer, const void *data, size_t size)
{
	static struct fake f;
	const struct brick_clock clock = fake_clock();

	(void)data;
	(void)size;
	fake_init(&f, 4242);
	uint32_t site = fake_site(&f, BRICK_RMS_NORM, 2, 64, "RMS_NORM", "norm-2");
	uint32_t kernel = fake_kernel(&f, "rms_norm_f32", BRICK_KERNEL_COMPUTE);
	assert_int_equal(sink_clock(writer, &clock), 0);
	assert_int_equal(sink_process(writer, &f.header), 0);
	assert_int_equal(sink_tables(writer, 0, &f.tables), 0);
	assert_int_equal(sink_lane(writer, 0, &f.lane), 0);
	static struct brick_lane queue = {.kind = BRICK_LANE_QUEUE,
		.tid = 1,
		.name = "stream",
		.backend = "null",
		.queue_flags = BRICK_QUEUE_OUT_OF_ORDER};
	assert_int_equal(sink_lane(writer, 0, &queue), 1);
	feed_lanes(writer, &f, site, kernel);
	feed_off_cpu(writer);
	feed_faults(writer);
	feed_placement(writer);
	feed_facts(writer, &f, site);
}

static void test_a_session(void **state)
{
	(void)state;
	compare(feed_session, NULL, 0, 0);
	struct run *run = load_plain(feed_session, NULL, 0);
	assert_int_equal(run->command_count, 2);
	assert_int_equal(run->dependency_count, 1);
	assert_int_equal(run->wait_count, 1);
	assert_int_equal(run->step_count, 2);
	assert_int_equal(run->point_count, 3);
	assert_int_equal(run->digest_count, 1);
	assert_int_equal(run->note_count, 2);
	assert_int_equal(run->bad_records, 0);
	assert_int_equal(run->expert_count, 2);
	assert_int_equal(run->experts[0].expert, 5);
	assert_int_equal(run->experts[0].tokens, 3);
	assert_int_equal(run->experts[0].experts, 8);
	assert_int_equal(run->experts[0].bytes, 4096);
	assert_int_equal(run->experts[0].step, 1);
	assert_int_equal(run->experts[1].expert, BRICK_EXPERT_SAME);
	assert_int_equal(run->memory_count, 2);
	assert_int_equal(run->memories[0].kind, BRICK_MEMORY_CACHE);
	assert_int_equal(run->memories[0].gpu, 2);
	assert_int_equal(run->memories[0].live_bytes, 1ull << 40);
	assert_int_equal(run->memories[0].peak_bytes, (1ull << 40) + 1);
	assert_int_equal(run->memories[0].step, 1);
	assert_string_equal(run->sites[run->memories[0].site].label,
		run->sites[run->lanes[0].samples[1].site].label);
	assert_false(run->memories[1].is_of_site);
	assert_int_equal(run->memories[1].site, RUN_NONE);
	assert_int_equal(run->memories[1].live_bytes, 77);
	check_messages(run);
	check_off_cpu(run);
	check_faults(run);
	check_placement(run);
	assert_int_equal(run->bad_packets, 1); /* the digest */
	run_destroy(run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_session),
		cmocka_unit_test(test_any_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
