/* SPDX-License-Identifier: Apache-2.0 */
/* Seeds for fuzz-load: small recordings, compressed and not, complete and cut off. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "tests/unit/stack_fixture.h"
#include "tests/unit/trace_fake.h"

static void records(struct trace_writer *w, struct fake *f)
{
	uint32_t site = fake_site(f, BRICK_RMS_NORM, 3, 512, "RMS_NORM", "norm-3");
	struct brick_record sited = fake_at(BRICK_RECORD_CLOSE, 300, BRICK_GRAPH_COMPUTE, 0);
	sited.flags = BRICK_FLAG_SITE | BRICK_FLAG_UNWOUND;
	sited.site = site;
	struct brick_record reported = fake_sample(400, 5, BRICK_SAMPLING, 2);
	reported.source = BRICK_SOURCE_REPORTED;
	reported.flags = BRICK_FLAG_ELEMENTS | BRICK_FLAG_CLAMPED;
	const struct brick_record list[] = {
		fake_at(BRICK_RECORD_THREAD, 1, 0, 43),
		fake_at(BRICK_RECORD_OPEN, 5, BRICK_DECODE, 1),
		fake_sited(f, 10, 50, site, 20, 5),
		fake_sited(f, 80, 50, site, 0, 0),
		fake_at(BRICK_RECORD_INSTANT, 200, BRICK_SAMPLING, 0),
		fake_at(BRICK_RECORD_COUNTER, 210, FAKE_CUSTOM_BRICK, 0x4000000000000000),
		fake_at(BRICK_RECORD_OPEN, 220, BRICK_GRAPH_COMPUTE, 0),
		sited,
		reported,
		{.begin = 100, .kind = BRICK_RECORD_WORK, .elements = 200},
		fake_at(BRICK_RECORD_WAIT, 500, BRICK_BARRIER_WAIT, 300),
		fake_sequence(800, BRICK_SEQUENCE_TOKENS, 1, 8, 4, 1),
		fake_sequence(810, BRICK_SEQUENCE_REMOVED, 1, 0, 4, -1),
		fake_expert(820, 5, 3),
		fake_at(BRICK_RECORD_DROP, 900, 0, 3),
		fake_at(BRICK_RECORD_CLOSE, 1000, BRICK_DECODE, 0),
		fake_at(BRICK_RECORD_OPEN, 1100, BRICK_PREFILL, 1),
	};

	sink_tables(w, 0, &f->tables);
	sink_records(w, 0, list, sizeof list / sizeof *list);
}

/* A queue whose kernel a call of the thread launched, and a wait for it. */
static void commands(struct trace_writer *w, struct fake *f)
{
	const struct brick_record thread[] = {
		fake_sample(1200, 10, BRICK_INPUT_COPY, -1),
		{.kind = BRICK_RECORD_FLOW, .elements = 1},
		{.kind = BRICK_RECORD_FLOW, .elements = 2},
		fake_sample(1220, 300, BRICK_SYNCHRONIZE, -1),
		{.kind = BRICK_RECORD_AFTER, .elements = 2},
		fake_sample(1600, 10, BRICK_RMS_NORM, -1),
		{.kind = BRICK_RECORD_TILE, .begin = 3ull << 32 | 4, .elements = 1},
	};
	const struct brick_record queue[] = {
		fake_sample(1300, 50, BRICK_RMS_NORM, 2),
		{.kind = BRICK_RECORD_LAUNCH,
			.begin = fake_ticks(1200),
			.ticks = 10,
			.brick = 1,
			.elements = 1},
		{.kind = BRICK_RECORD_TIMES,
			.begin = fake_ticks(1205),
			.elements = fake_ticks(1210)},
		{.kind = BRICK_RECORD_WORK, .begin = 100, .elements = 200},
		fake_sample(1350, 50, BRICK_RMS_NORM, 2),
		{.kind = BRICK_RECORD_LAUNCH,
			.begin = fake_ticks(1200),
			.ticks = 10,
			.brick = 2,
			.elements = 2},
		{.kind = BRICK_RECORD_AFTER, .elements = 1},
	};
	const struct sink_code code = {7, "a.cl", "/a.cl", "kernel void f();", 4, 5, 16, 0};

	fake_kernel(f, "f", BRICK_KERNEL_COMPUTE);
	fake_kernel(f, "copy", BRICK_KERNEL_H2D);
	f->lane.kind = BRICK_LANE_QUEUE;
	sink_tables(w, 0, &f->tables);
	sink_lane(w, 0, &f->lane);
	sink_code(w, &code);
	sink_records(w, 0, thread, sizeof thread / sizeof *thread);
	sink_records(w, 1, queue, sizeof queue / sizeof *queue);
}

/* Digests that can be followed from one to the next. */
static void digests(struct trace_writer *w)
{
	struct brick_session_digest digest = {
		.step = 1, .tokens = 3, .brick = BRICK_RMS_NORM, .layer = 2, .label = "norm-2"};

	digest.digest.dtype = BRICK_DTYPE_F32;
	for (int i = 0; i < 4; i++)
		digest.digest.ne[i] = i ? 1 : 8;
	for (uint64_t i = 1; i <= 3; i++) {
		digest.output = i;
		digest.inputs[0] = i - 1;
		digest.digest.nan_count = i == 3;
		digest.digest.sketch[i] = digest.digest.square_sum = (double)i;
		sink_digest(w, 0, &digest);
	}
}

static void stacks(struct trace_writer *w)
{
	struct pb_buffer packets = stack_fixture();

	trace_writer_packets(w, packets.data, packets.size);
	pb_buffer_fini(&packets);
}

static void rest(struct trace_writer *w, struct fake *f)
{
	static struct ticks_histogram buckets;
	const struct sink_account account = {.end_ns = fake_ns(2000),
		.consumer_cpu_ns = 1,
		.program_cpu_ns = 2,
		.refused_records = 2,
		.exit_code = 1,
		.stacks = {.hz = 99, .taken = 3, .unknown = 1, .lost = 2}};

	buckets.of_ticks[7] = 9;
	buckets.of_ticks[700] = 1;
	f->lane.stats[BRICK_RMS_NORM] = (struct brick_stat){.count = 1, .total = 5};
	sink_lane_stats(w, 0, &f->lane);
	sink_histogram(w, 0, 0, &buckets);
	sink_notes(w, 0, "a=b\nc=d\n", 8);
	sink_account(w, &account);
	sink_process_end(w, 0, fake_ticks(1500), 1);
}

static int make(const char *directory, const char *name, int compress, int parts)
{
	static struct fake fake;
	struct trace_writer *w;
	char path[1024];

	snprintf(path, sizeof path, "%s/%s", directory, name);
	fake_init(&fake, 42);
	int error = fake_writer(&w, &fake, path, compress);
	if (error)
		return error;
	if (parts > 0)
		records(w, &fake);
	if (parts > 2)
		commands(w, &fake);
	if (parts > 1) {
		stacks(w);
		digests(w);
		rest(w, &fake);
	}
	return trace_writer_finish(w);
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: %s DIRECTORY\n", argv[0]);
		return 2;
	}
	int failed = 0;
	failed |= make(argv[1], "empty", 0, 0);
	failed |= make(argv[1], "records", 0, 1);
	failed |= make(argv[1], "all", 0, 2);
	failed |= make(argv[1], "compressed", 1, 2);
	failed |= make(argv[1], "commands", 0, 3);
	failed |= make(argv[1], "commands-compressed", 1, 3);
	return failed != 0;
}
