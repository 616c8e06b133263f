/* SPDX-License-Identifier: Apache-2.0 */
/* Description: what a recording says of its run, processes, lanes and statistics comes back. */
#include "tests/unit/trace_scene.h"

static void write_facts(struct scene *s)
{
	const struct sink_account early = {.end_ns = fake_ns(1),
		.consumer_cpu_ns = 1,
		.program_cpu_ns = 2,
		.lost_processes = 3,
		.refused_records = 4,
		.cpus = 4,
		.exit_code = -1,
		.clock_residual_ns = 5};
	const struct sink_account late = {.end_ns = fake_ns(900),
		.consumer_cpu_ns = 11,
		.program_cpu_ns = 22,
		.lost_processes = 33,
		.refused_records = 44,
		.cpus = 2,
		.exit_code = 137,
		.clock_residual_ns = 55};
	assert_int_equal(sink_account(s->writer, &early), 0);
	assert_int_equal(sink_account(s->writer, &late), 0);
	const char *notes = "mode=first\nattach=ggml a=b\n", *last = "attach=none=x\nend=\n\xff\n";
	assert_int_equal(sink_notes(s->writer, 0, notes, strlen(notes)), 0);
	assert_int_equal(sink_notes(s->writer, 0, last, 19), 0);
	s->fake.header.ledger.dropped = 12;
	assert_int_equal(sink_process_state(s->writer, 0, &s->fake.header), 0);
	assert_int_equal(sink_process_end(s->writer, 0, fake_ticks(800), 1), 0);
}

static void check_run_facts(const struct run *run, const char *path)
{
	assert_string_equal(run->path, path);
	assert_string_equal(run->host, "box");
	assert_string_equal(run->cpu, "A CPU");
	assert_string_equal(run->command[2], "a \"prompt\"");
	assert_null(run->command[3]);
	assert_int_equal(run->start_ns, fake_ns(0));
	assert_int_equal(run->start_unix_ns, 1700000000000000000ull);
	assert_int_equal(run->end_ns, fake_ns(900));
	assert_int_equal(run->consumer_cpu_ns, 11);
	assert_int_equal(run->program_cpu_ns, 22);
	assert_int_equal(run->lost_processes, 33);
	assert_int_equal(run->refused_records, 44);
	assert_int_equal(run->cpus, 2);
	assert_int_equal(run->exit_code, 137);
	struct brick_clock clock = fake_clock();
	clock.residual_ns = 55; /* the account's, measured at the end */
	assert_memory_equal(&run->clock, &clock, sizeof clock);
}

static void check_process(const struct run_process *process)
{
	assert_int_equal(process->pid, 4242);
	assert_int_equal(process->parent, 1);
	assert_int_equal(process->rank, -1);
	assert_int_equal(process->world, -1);
	assert_string_equal(process->host, "box");
	assert_string_equal(process->executable, "/opt/engine");
	assert_string_equal(process->command[0], "engine");
	assert_string_equal(process->command[1], "-p");
	assert_string_equal(process->command[2], "a \"prompt\"");
	assert_null(process->command[3]);
	assert_int_equal(process->start_ns, fake_ns(0));
	assert_int_equal(process->end_ns, fake_ns(800));
	assert_true(process->closed);
	assert_int_equal(process->ledger.unsupported, 3);
	assert_int_equal(process->ledger.dropped, 12);
	assert_true(process->pair_cost_ns == 25);
	assert_true(process->pair_cost_low_ns == 20);
	assert_true(process->pair_cost_high_ns == 30);
	assert_true(process->pair_cost_streamed_ns == 90);
	assert_true(process->pair_cost_cold_ns == 4000);
	assert_true(process->pair_stream_ns == 16000);
	assert_int_equal(process->clock_source, BRICK_CLOCK_TSC);
}

static void run_and_process(void **state)
{
	struct scene s;
	(void)state;

	open_scene(&s, 1);
	write_facts(&s);
	read_back(&s);
	const struct run *run = s.run;
	check_run_facts(run, s.path);
	assert_int_equal(run->process_count, 1);
	check_process(&run->processes[0]);
	assert_int_equal(run->note_count, 2);
	assert_string_equal(run_note_find(run, "attach"), "none=x");
	assert_string_equal(run_note_find(run, "end"), "");
	assert_null(run_note_find(run, "mode"));
	close_scene(&s);
}

static struct brick_stat some_stat(uint64_t ticks)
{
	return (struct brick_stat){.count = 3,
		.total = ticks,
		.self = ticks / 2,
		.min = 2,
		.max = ticks,
		.elements = 5,
		.bytes = 6,
		.flops = 7,
		.wait = 8,
		.nested = 10,
		.bytes_out = 9};
}

static void statistics(void **state)
{
	struct scene s;
	(void)state;

	open_scene(&s, 1);
	struct brick_lane *lane = &s.fake.lane;
	/* more bricks than one event takes, and names that only statistics know */
	for (uint32_t i = 50; i < 250; i++) {
		snprintf(s.fake.bricks[i].name, sizeof s.fake.bricks[i].name, "brick %u", i);
		s.fake.bricks[i].category = BRICK_CATEGORY_FFN;
		lane->stats[i] = some_stat(i * 2);
	}
	s.fake.tables.brick_count = 250;
	assert_int_equal(sink_tables(s.writer, 0, &s.fake.tables), 0);
	lane->stats[BRICK_LM_HEAD] = some_stat(1000);
	assert_int_equal(sink_lane_stats(s.writer, 0, lane), 0);
	lane->stats[BRICK_LM_HEAD] = some_stat(0x7fffffffffffffffull);
	lane->ledger.clamped = 21;
	lane->hook_calls = 100;
	lane->hook_timed = 10;
	lane->hook_ticks = 500;
	lane->end_ticks = fake_ticks(777);
	assert_int_equal(sink_lane_stats(s.writer, 0, lane), 0);
	read_back(&s);

	const struct run_lane *read = &s.run->lanes[0];
	assert_string_equal(read->name, "main");
	assert_int_equal(read->tid, 4242);
	assert_int_equal(read->kind, BRICK_LANE_THREAD);
	assert_int_equal(read->ledger.clamped, 21);
	assert_int_equal(read->hook_calls, 100);
	assert_int_equal(read->hook_timed, 10);
	assert_int_equal(read->hook_ns, 250);
	assert_int_equal(read->end_ns, fake_ns(777));
	uint32_t head = run_brick_find(s.run, "LmHead");
	assert_int_not_equal(head, RUN_NONE);
	const struct run_stat *stat = &read->stats[head];
	assert_int_equal(stat->count, 3);
	assert_int_equal(stat->total_ns, 0x3fffffffffffffffull);
	assert_int_equal(stat->self_ns, 0x1fffffffffffffffull);
	assert_int_equal(stat->min_ns, 1);
	assert_int_equal(stat->elements, 5);
	assert_int_equal(stat->bytes, 6);
	assert_int_equal(stat->flops, 7);
	assert_int_equal(stat->wait_ns, 4);
	assert_int_equal(stat->nested_ns, 5);
	assert_int_equal(stat->bytes_out, 9);
	assert_int_equal(s.run->brick_count, 201);
	for (uint32_t i = 50; i < 250; i++) {
		uint32_t brick = run_brick_find(s.run, s.fake.bricks[i].name);
		assert_int_not_equal(brick, RUN_NONE);
		assert_int_equal(read->stats[brick].total_ns, i);
		assert_string_equal(s.run->categories[s.run->bricks[brick].category].name, "FFN");
	}
	close_scene(&s);
}

static void lanes_without_statistics(void **state)
{
	struct scene s;
	struct brick_record record = fake_sample(1, 1, BRICK_SAMPLING, -1);
	(void)state;

	open_scene(&s, 1);
	s.fake.lane.kind = BRICK_LANE_QUEUE;
	strcpy(s.fake.lane.name, "queue 1");
	assert_int_equal(sink_lane(s.writer, 0, &s.fake.lane), 1);
	write_lane(&s, 1, &record, 1);
	read_back(&s);
	assert_int_equal(s.run->lane_count, 2);
	assert_null(s.run->lanes[0].samples);
	assert_null(s.run->lanes[0].stats);
	assert_int_equal(s.run->lanes[1].kind, BRICK_LANE_QUEUE);
	assert_int_equal(s.run->lanes[1].sample_count, 1);
	assert_string_equal(s.run->lanes[1].name, "queue 1");
	close_scene(&s);
}

static void histograms(void **state)
{
	struct scene s;
	static struct ticks_histogram rows[3];
	(void)state;

	open_scene(&s, 1);
	for (uint32_t i = 0; i < BRICK_HISTOGRAM_BUCKETS; i++)
		rows[0].of_ticks[i] = i % 3 ? 0 : (uint64_t)i << 40 | i;
	rows[1].of_ticks[5] = 1;
	rows[2].of_ticks[5] = 70;
	struct trace_writer *writer = s.writer;
	assert_int_equal(sink_histogram(writer, 0, BRICK_LM_HEAD, &rows[1]), 0);
	assert_int_equal(sink_histogram(writer, 0, BRICK_LM_HEAD, &rows[0]), 0);
	assert_int_equal(sink_histogram(writer, 0, BRICK_SAMPLING, &rows[2]), 0);
	assert_int_equal(sink_histogram(writer, 0, s.fake.tables.brick_count, &rows[2]),
		0); /* no such one */

	/* a second process with the same brick under another id */
	static struct fake other;
	fake_init(&other, 777);
	strcpy(other.bricks[0].name, "Sampling");
	strcpy(other.bricks[BRICK_SAMPLING].name, "RmsNorm");
	assert_int_equal(sink_process(s.writer, &other.header), 1);
	assert_int_equal(sink_tables(s.writer, 1, &other.tables), 0);
	assert_int_equal(sink_histogram(writer, 1, 0, &rows[2]), 0);
	read_back(&s);

	uint32_t head = run_brick_find(s.run, "LmHead"),
		 sampling = run_brick_find(s.run, "Sampling");
	for (uint32_t i = 0; i < BRICK_HISTOGRAM_BUCKETS; i++)
		assert_int_equal(ticks_lengths_at(s.run->histograms[head], i), rows[0].of_ticks[i]);
	assert_int_equal(ticks_lengths_at(s.run->histograms[sampling], 5), 140);
	assert_int_equal(s.run->brick_count, 2);
	close_scene(&s);
}

static void processes_are_merged_by_name(void **state)
{
	struct scene s;
	static struct fake other;
	(void)state;

	open_scene(&s, 1);
	fake_init(&other, 777);
	/* its ids mean other things: LmHead is 0, and site 1 is the first one's site 2 */
	strcpy(other.bricks[0].name, "LmHead");
	strcpy(other.bricks[BRICK_LM_HEAD].name, "RmsNorm");
	strcpy(other.categories[0].name, "Wait");
	strcpy(other.categories[BRICK_CATEGORY_WAIT].name, "Norm");
	other.bricks[0].category = BRICK_CATEGORY_OTHER;
	other.bricks[BRICK_LM_HEAD].category = BRICK_CATEGORY_WAIT;
	fake_site(&s.fake, BRICK_RMS_NORM, 1, 8, "RMS_NORM", "norm-1");
	fake_site(&s.fake, BRICK_LM_HEAD, -1, 9, "MUL_MAT", "out");
	fake_site(&other, 0, -1, 9, "MUL_MAT", "out");
	other.header.rank = 1;
	other.header.world = 2;
	assert_int_equal(sink_process(s.writer, &other.header), 1);
	assert_int_equal(sink_tables(s.writer, 1, &other.tables), 0);
	assert_int_equal(sink_lane(s.writer, 1, &other.lane), 1);
	const struct brick_record first[] = {
		fake_sited(&s.fake, 10, 5, 1, 0, 0), fake_sited(&s.fake, 20, 5, 2, 0, 0)};
	const struct brick_record second[] = {
		fake_sited(&other, 12, 5, 1, 0, 0), fake_sample(22, 5, BRICK_LM_HEAD, -1)};
	write_lane(&s, 0, first, 2);
	write_lane(&s, 1, second, 2);
	read_back(&s);

	assert_int_equal(s.run->process_count, 2);
	assert_int_equal(s.run->processes[1].rank, 1);
	assert_int_equal(s.run->processes[1].world, 2);
	assert_int_equal(s.run->lanes[1].process, 1);
	assert_int_equal(s.run->brick_count, 2);
	assert_int_equal(s.run->lanes[1].samples[0].site, s.run->lanes[0].samples[1].site);
	const struct run_site *plain = &s.run->sites[s.run->lanes[1].samples[1].site];
	assert_string_equal(s.run->bricks[plain->brick].name, "RmsNorm");
	assert_string_equal(s.run->categories[s.run->bricks[plain->brick].category].name, "Norm");
	close_scene(&s);
}

/* A process whose clock is of another source is read by its own calibration. */
static void clocks(void **state)
{
	struct scene s;
	static struct fake other;
	struct brick_clock better = fake_clock();
	struct brick_record record = fake_sample(100, 10, BRICK_SAMPLING, -1);
	(void)state;

	open_scene(&s, 1);
	fake_init(&other, 777);
	other.header.clock = (struct brick_clock){.source = BRICK_CLOCK_MONOTONIC, .mult = 1};
	other.lane.end_ticks = 4000;
	assert_int_equal(sink_process(s.writer, &other.header), 1);
	assert_int_equal(sink_tables(s.writer, 1, &other.tables), 0);
	assert_int_equal(sink_lane(s.writer, 1, &other.lane), 1);
	const struct brick_record plain = {.begin = 3000,
		.ticks = 7,
		.source = BRICK_SOURCE_TSC,
		.kind = BRICK_RECORD_SAMPLE,
		.brick = BRICK_SAMPLING,
		.layer = -1};
	write_lane(&s, 1, &plain, 1);
	other.lane.stats[BRICK_SAMPLING] = some_stat(40);
	assert_int_equal(sink_lane_stats(s.writer, 1, &other.lane), 0);
	write_lane(&s, 0, &record, 1);
	/* a new calibration that would set time back: it stands still instead */
	better.base_ns -= 50;
	assert_int_equal(sink_clock(s.writer, &better), 0);
	record = fake_sample(115, 100, BRICK_SAMPLING, -1);
	write_lane(&s, 0, &record, 1);
	read_back(&s);

	assert_int_equal(s.run->lanes[1].samples[0].begin_ns, 3000);
	assert_int_equal(s.run->lanes[1].samples[0].end_ns, 3007);
	assert_int_equal(s.run->lanes[1].end_ns, 4000);
	assert_int_equal(s.run->lanes[1].stats[run_brick_find(s.run, "Sampling")].total_ns, 40);
	check_sample(&s, 0, "Sampling", 100, 110, 0);
	check_sample(&s, 1, "Sampling", 110, 165, 0);
	assert_int_equal(s.run->clock.base_ns, better.base_ns);
	close_scene(&s);
}

/* Many chunks, many lanes: every sample comes back, in order. */
static void many(void **state)
{
	enum { LANES = 40, SAMPLES = 3000 };
	struct scene s;
	(void)state;

	open_scene(&s, 1);
	for (int16_t i = 0; i < 200; i++) {
		char label[64];
		snprintf(label, sizeof label, "blk.%d.weight", i);
		fake_site(&s.fake, (uint16_t)(i % 20), i, (uint64_t)i * 1000, "MUL_MAT", label);
	}
	for (int lane = 1; lane < LANES; lane++) {
		s.fake.lane.tid++;
		assert_int_equal(sink_lane(s.writer, 0, &s.fake.lane), lane);
	}
	for (uint32_t i = 0; i < SAMPLES; i++)
		for (int lane = 0; lane < LANES; lane++) {
			uint64_t begin = 1000ull * i * (1 + (uint64_t)lane * 20);
			uint32_t site = 1 + (i * 7 + (uint32_t)lane) % 200;
			const struct brick_record record = fake_sited(
				&s.fake, begin, 500 + i % 90, site, i % 4 ? i % 50 : 0, i % 3);
			write_lane(&s, lane, &record, 1);
		}
	read_back(&s);
	assert_int_equal(s.run->lane_count, LANES);
	for (uint32_t lane = 0; lane < LANES; lane++) {
		const struct run_lane *read = &s.run->lanes[lane];
		assert_int_equal(read->sample_count, SAMPLES);
		for (uint32_t i = 0; i < SAMPLES; i++) {
			const struct run_sample *sample = &read->samples[i];
			const struct run_site *site = &s.run->sites[sample->site];
			assert_int_equal(
				sample->begin_ns, fake_ns(1000ull * i * (1 + (uint64_t)lane * 20)));
			assert_int_equal(sample->end_ns - sample->begin_ns, 500 + i % 90);
			assert_int_equal(sample->wait_ns, i % 4 ? i % 50 : 0);
			assert_int_equal(sample->inner_ns, i % 3);
			assert_int_equal(site->layer, (int)((i * 7 + lane) % 200));
		}
	}
	assert_int_equal(s.run->site_count, 200);
	close_scene(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(run_and_process),
		cmocka_unit_test(statistics),
		cmocka_unit_test(lanes_without_statistics),
		cmocka_unit_test(histograms),
		cmocka_unit_test(processes_are_merged_by_name),
		cmocka_unit_test(clocks),
		cmocka_unit_test(many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
