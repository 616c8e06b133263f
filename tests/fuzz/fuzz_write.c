/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a session that a profiled process left behind: tables, records, lanes. Whatever
 * they are, the writer makes a recording of them in which the reader finds nothing wrong.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "tests/unit/trace_check.h"
#include "tests/unit/trace_fake.h"
#include "trace/load.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
	const uint8_t *at;
	size_t left;
};

/* The next bytes; zeros when there are no more. */
static void take(struct input *in, void *to, size_t size)
{
	size_t n = size < in->left ? size : in->left;

	memset(to, 0, size);
	memcpy(to, in->at, n);
	in->at += n;
	in->left -= n;
}

static uint8_t take_byte(struct input *in)
{
	uint8_t byte;

	take(in, &byte, 1);
	return byte;
}

/* A record, mostly such that it could be meant: wild ones are refused at once. */
static struct brick_record take_record(struct input *in, uint64_t *now)
{
	struct brick_record r = {0};
	uint8_t kind = take_byte(in);

	if (kind >= 0xf0) {
		take(in, &r, sizeof r);
		return r;
	}
	r.kind = kind % 16;
	r.flags = kind >> 4;
	*now += (uint64_t)take_byte(in) << (take_byte(in) % 48);
	r.begin = *now;
	r.ticks = take_byte(in);
	r.wait = take_byte(in);
	r.brick = take_byte(in) % 40;
	r.layer = (int8_t)take_byte(in);
	r.source = take_byte(in) % 9;
	r.elements = take_byte(in) | (uint64_t)take_byte(in) << 32;
	if (r.kind == BRICK_RECORD_SAMPLE)
		*now += r.ticks + r.wait;
	return r;
}

static void feed(struct trace_writer *w, struct fake *f, struct input *in, int lanes)
{
	uint64_t now = FAKE_BASE_TICKS;
	struct brick_record records[64];

	while (in->left) {
		size_t n = take_byte(in) % 64 + 1u;
		for (size_t i = 0; i < n; i++)
			records[i] = take_record(in, &now);
		trace_writer_records(w, (int)(n % (size_t)lanes), records, n);
		if (n == 7)
			trace_writer_flush(w);
		if (n == 9)
			trace_writer_lane_stats(w, 0, &f->lane);
	}
	const struct sink_code code = {take_byte(in), f->sites[1].label, NULL, f->kernels[1].name,
		sizeof f->sites[1].label, 0, sizeof f->kernels[1].name, 1};
	trace_writer_code(w, &code);
	trace_writer_notes(w, 0, f->sites[1].label, sizeof f->sites[1].label);
	trace_writer_process_end(w, 0, now, 1);
}

static void check(const char *path, const struct trace_writer_options *options)
{
	struct run *run;
	struct load_error error;
	int result = run_load(&run, path, &error);

	if (result) {
		fprintf(stderr, "%s: %d at %llu: %s\n", options->path, result,
			(unsigned long long)error.offset, error.text);
		abort();
	}
	const char *wrong = check_run(run);
	/* a line of notes may be no note: that is one bad packet, of the fuzzer's own making */
	if (!wrong && run->bad_packets > 1)
		wrong = "bad packets";
	if (!wrong && (!run->complete || run->truncated_bytes))
		wrong = "not complete";
	if (wrong) {
		fprintf(stderr, "%s\n", wrong);
		abort();
	}
	run_destroy(run);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct fake fake;
	static char path[64];
	struct input in = {data, size};
	struct trace_writer *w;

	snprintf(path, sizeof path, "/dev/shm/brick-fuzz-write-%d", (int)getpid());
	struct trace_writer_options options = {.path = path, .compress = 1};
	fake_init(&fake, 1);
	int lanes = 1 + take_byte(&in) % 3;
	fake.tables.site_count = 1 + take_byte(&in) % 8;
	take(&in, &fake.bricks[33], sizeof fake.bricks[33]);
	take(&in, &fake.categories[11], sizeof fake.categories[11]);
	take(&in, &fake.sites[1], sizeof fake.sites[1] * 2);
	take(&in, fake.lane.name, sizeof fake.lane.name);
	take(&in, &fake.lane.stats[3], sizeof fake.lane.stats[3]);
	fake.tables.brick_count = 34;
	fake.tables.category_count = 12;
	take(&in, &fake.kernels[1], sizeof fake.kernels[1] * 2);
	fake.tables.kernel_count = 1 + take_byte(&in) % 3;
	if (take_byte(&in) & 1)
		take(&in, &fake.header.clock, sizeof fake.header.clock);
	if (trace_writer_create(&w, &options))
		return 0;
	trace_writer_process(w, &fake.header);
	trace_writer_tables(w, 0, &fake.tables);
	for (int i = 0; i < lanes; i++) {
		fake.lane.kind = i ? BRICK_LANE_QUEUE : BRICK_LANE_THREAD;
		trace_writer_lane(w, 0, &fake.lane);
	}
	feed(w, &fake, &in, lanes);
	if (trace_writer_finish(w))
		abort();
	check(path, &options);
	unlink(path);
	return 0;
}
