/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the same recording every time, down to the last ns, for tests that compare whole screens:
 * a prefill of 16 tokens and ten decode steps of three layers, a second thread that works alongside
 * and waits, a queue of a device with two kernels and a copy.
 *
 *   program-top_recording OUTPUT
 */
#include <stdlib.h>
#include "tests/unit/trace_fake.h"

enum { LAYERS = 3, DECODES = 10, MOST = 4096 };

static struct fake fake;
static uint32_t sites[LAYERS][3], head_site, gemm, softmax, copy;
static struct brick_record threads[2][MOST], queue[MOST];
static size_t counts[2], queue_count;
static struct brick_lane lanes[3];
static uint64_t command;

static void check(int result)
{
	if (result < 0) {
		fprintf(stderr, "top_recording: %d\n", result);
		exit(1);
	}
}

static void register_all(void)
{
	static const struct {
		uint16_t brick;
		const char *operation, *label;
	} kinds[] = {{BRICK_RMS_NORM, "RMS_NORM", "norm"},
		{BRICK_QKV_PROJECTION, "MUL_MAT", "Qcur"},
		{BRICK_DOWN_PROJECTION, "MUL_MAT", "ffn_out"}};

	for (int l = 0; l < LAYERS; l++)
		for (int k = 0; k < 3; k++) {
			char label[32];
			snprintf(label, sizeof label, "%s-%d", kinds[k].label, l);
			sites[l][k] = fake_site(&fake, kinds[k].brick, (int16_t)l, 512u << (2 * k),
				kinds[k].operation, label);
		}
	head_site = fake_site(&fake, BRICK_LM_HEAD, -1, 32000, "MUL_MAT", "result_output");
	gemm = fake_kernel(&fake, "gemm_q4_k", BRICK_KERNEL_COMPUTE);
	softmax = fake_kernel(&fake, "softmax_rows", BRICK_KERNEL_COMPUTE);
	copy = fake_kernel(&fake, "copy to device", BRICK_KERNEL_H2D);
}

/* Exact statistics, as the probe would have kept them. */
static void count(int lane, uint16_t brick, uint64_t ns, uint64_t self_ns, uint64_t wait_ns)
{
	struct brick_stat *stat = &lanes[lane].stats[brick];

	stat->count++;
	stat->total += ns * FAKE_TICKS;
	stat->self += self_ns * FAKE_TICKS;
	stat->wait += wait_ns * FAKE_TICKS;
	if (ns * FAKE_TICKS < stat->min)
		stat->min = ns * FAKE_TICKS;
	if (ns * FAKE_TICKS > stat->max)
		stat->max = ns * FAKE_TICKS;
	if (wait_ns)
		count(lane, BRICK_BARRIER_WAIT, wait_ns, wait_ns, 0);
}

static void add(int thread, struct brick_record record)
{
	threads[thread][counts[thread]++] = record;
}

/* Both threads work on a node and meet at its barrier. */
static uint64_t node(uint64_t at, uint32_t site, uint64_t ns, uint64_t other_ns)
{
	uint64_t end = ns > other_ns ? ns : other_ns;
	uint32_t wait = (uint32_t)(end - ns + 200), other = (uint32_t)(end - other_ns + 200);

	add(0, fake_sited(&fake, at, ns, site, wait, 0));
	add(1, fake_sited(&fake, at, other_ns, site, other, 0));
	count(0, fake.sites[site].brick, ns, ns, wait);
	count(1, fake.sites[site].brick, other_ns, other_ns, other);
	return at + end + 200;
}

/* From the thread's last node. */
static void launch(uint64_t at, uint64_t ns, uint32_t kernel, uint16_t brick, int16_t layer)
{
	queue[queue_count++] = fake_sample(at, ns, brick, layer);
	queue[queue_count - 1].source = BRICK_SOURCE_DEVICE_EVENT;
	queue[queue_count++] = (struct brick_record){.kind = BRICK_RECORD_LAUNCH,
		.begin = fake_ticks(at - 900),
		.ticks = 500 * FAKE_TICKS,
		.wait = 1, /* by lane 0 */
		.brick = (uint16_t)kernel,
		.elements = ++command};
	/* about the sample of the thread in which the call was made, the last one */
	threads[0][counts[0]++] =
		(struct brick_record){.kind = BRICK_RECORD_FLOW, .elements = command};
	lanes[2].stats[brick].count++;
	lanes[2].stats[brick].total += ns * FAKE_TICKS;
	lanes[2].stats[brick].self += ns * FAKE_TICKS;
	if (ns * FAKE_TICKS < lanes[2].stats[brick].min)
		lanes[2].stats[brick].min = ns * FAKE_TICKS;
	if (ns * FAKE_TICKS > lanes[2].stats[brick].max)
		lanes[2].stats[brick].max = ns * FAKE_TICKS;
}

/* A step from `at` on; returns where the next one may begin. */
static uint64_t step(uint64_t at, int decode, uint64_t tokens, uint64_t scale)
{
	uint16_t brick = decode ? BRICK_DECODE : BRICK_PREFILL;
	uint64_t begin = at, nodes = 0, graph;

	add(0, fake_at(BRICK_RECORD_OPEN, at, brick, tokens));
	lanes[0].stats[brick].elements += tokens;
	at += 1500;
	graph = at;
	add(0, fake_at(BRICK_RECORD_OPEN, at, BRICK_GRAPH_COMPUTE, 0));
	for (int l = 0; l < LAYERS; l++) {
		uint64_t from = at;
		at = node(at, sites[l][0], 3000 * scale, 2800 * scale);
		uint64_t call = at;
		at = node(at, sites[l][1], (30000 + 1000 * (uint64_t)l) * scale, 29000 * scale);
		launch(call + 1000, 20000 * scale, gemm, BRICK_QKV_PROJECTION, (int16_t)l);
		call = at;
		at = node(at, sites[l][2], 50000 * scale, (48000 + 3000 * (uint64_t)l) * scale);
		launch(call + 1000, 5000 * scale, softmax, BRICK_DOWN_PROJECTION, (int16_t)l);
		nodes += at - from;
	}
	uint64_t head = at;
	at = node(at, head_site, 20000, 19000);
	nodes += at - head;
	launch(at - 5000, 1500, copy, BRICK_INPUT_COPY, -1);
	add(0, fake_at(BRICK_RECORD_CLOSE, at, BRICK_GRAPH_COMPUTE, 0));
	count(0, BRICK_GRAPH_COMPUTE, at - graph, at - graph - nodes, 0);
	at += 700;
	add(0, fake_at(BRICK_RECORD_CLOSE, at, brick, 0));
	count(0, brick, at - begin, 2200, 0);
	add(0, fake_sample(at + 100, 9000, BRICK_SAMPLING, -1));
	count(0, BRICK_SAMPLING, 9000, 9000, 0);
	return at + 12000;
}

static void make_lane(int number, const char *name, uint32_t kind)
{
	lanes[number] = fake.lane;
	lanes[number].kind = kind;
	lanes[number].tid = (uint64_t)(4242 + number);
	snprintf(lanes[number].name, sizeof lanes[number].name, "%s", name);
	if (kind == BRICK_LANE_QUEUE)
		snprintf(lanes[number].backend, sizeof lanes[number].backend, "null");
}

static void write_all(struct trace_writer *w, uint64_t end)
{
	static const char notes[] = "backend=cpu\nengine=golden 1.0\n";
	struct sink_account account = {.end_ns = fake_ns(end), .cpus = 2, .exit_code = 0};

	check(sink_tables(w, 0, &fake.tables));
	for (int i = 1; i < 3; i++)
		check(sink_lane(w, 0, &lanes[i]));
	for (int i = 0; i < 2; i++)
		check(sink_records(w, i, threads[i], counts[i]));
	check(sink_records(w, 2, queue, queue_count));
	for (int i = 0; i < 3; i++) {
		lanes[i].end_ticks = fake_ticks(end);
		check(sink_lane_stats(w, i, &lanes[i]));
	}
	check(sink_notes(w, 0, notes, sizeof notes - 1));
	check(sink_account(w, &account));
	check(sink_process_end(w, 0, fake_ticks(end), 1));
	check(trace_writer_finish(w));
}

int main(int argc, char **argv)
{
	struct trace_writer *w;
	uint64_t at = 20000;

	if (argc != 2)
		return 2;
	fake_init(&fake, 4242);
	memset(&fake.header.ledger, 0, sizeof fake.header.ledger);
	register_all();
	fake.lane.tid = 4242;
	make_lane(0, "engine", BRICK_LANE_THREAD);
	make_lane(1, "worker", BRICK_LANE_THREAD);
	make_lane(2, "stream", BRICK_LANE_QUEUE);
	at = step(at, 0, 16, 8);
	for (int i = 0; i < DECODES; i++)
		at = step(at, 1, 1, (uint64_t)(i == 6 ? 2 : 1));
	check(fake_writer(&w, &fake, argv[1], 1));
	write_all(w, at);
	return 0;
}
