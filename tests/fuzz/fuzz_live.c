/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as the memory of a session that is looked at while it changes: an honest one, of which
 * the input overwrites what it likes, before it is opened and between two looks. What is made of it
 * keeps the promises of run.h, and can be summed up, subtracted and drawn as a heat map.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "analysis/accounts/heatmap.h"
#include "analysis/accounts/summary.h"
#include "brick/brick.h"
#include "record/live/live_snapshot.h"
#include "tests/unit/trace_check.h"
#include "tests/unit/trace_fake.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { CAPACITY = 4096, PAGE = 65536, HEAD_BYTES = 24576, PARTS = 7 };

static int fd = -1;
static char *file;
static struct brick_session_header *header;
static struct brick_lane *lane;
static struct brick_record *ring;

/* What an input may change, with what was there before. */
static struct part {
	char *at;
	size_t bytes;
	char *honest;
} parts[PARTS];

struct input {
	const uint8_t *at;
	size_t left;
};

static void take(struct input *in, void *to, size_t size)
{
	size_t n = size < in->left ? size : in->left;

	memset(to, 0, size);
	memcpy(to, in->at, n);
	in->at += n;
	in->left -= n;
}

static uint64_t page_round(uint64_t bytes)
{
	return (bytes + PAGE - 1) / PAGE * PAGE;
}

static uint64_t place(uint64_t *at, uint64_t bytes)
{
	uint64_t here = *at;

	*at += (bytes + 7) / 8 * 8;
	return here;
}

static uint64_t lay_out(struct brick_session_header *h)
{
	uint64_t at =
		BRICK_SESSION_LANES_OFFSET + BRICK_MAX_LANES * sizeof(struct brick_session_lane);

	h->notes_offset = place(&at, BRICK_NOTES_BYTES);
	h->category_offset =
		place(&at, BRICK_MAX_CATEGORIES * sizeof(struct brick_session_category));
	h->brick_offset = place(&at, BRICK_MAX_BRICKS * sizeof(struct brick_session_brick));
	h->site_offset = place(&at, BRICK_MAX_SITES * sizeof(struct brick_session_site));
	h->drained_offset = place(&at, BRICK_HISTOGRAM_BLOCK_BYTES);
	h->kernel_offset = place(&at, BRICK_MAX_KERNELS * sizeof(struct brick_session_kernel));
	h->code_offset = place(&at, BRICK_CODE_BYTES);
	h->digest_offset = place(&at, BRICK_DIGEST_RING * sizeof(struct brick_session_digest));
	return page_round(at);
}

static void keep(int number, void *at, size_t bytes)
{
	parts[number] = (struct part){at, bytes, malloc(bytes)};
	memcpy(parts[number].honest, at, bytes);
}

static void fill_ring(void)
{
	for (uint32_t i = 0; i < 600; i++) {
		struct brick_record *r = &ring[i];
		*r = (struct brick_record){.begin = fake_ticks(100 * i),
			.kind = BRICK_RECORD_SAMPLE,
			.ticks = 20,
			.source = BRICK_SOURCE_TSC,
			.brick = (uint16_t)(i % 3),
			.layer = (int16_t)(i % 4)};
		if (i % 6 == 0 || i % 6 == 5) {
			r->kind = i % 6 ? BRICK_RECORD_CLOSE : BRICK_RECORD_OPEN;
			r->brick = BRICK_DECODE;
			r->elements = i % 6 ? 0 : 1;
			r->ticks = 0;
		}
	}
	lane->head = 600;
}

static void create(void)
{
	static struct fake fake;
	struct brick_session_header layout = {0};
	uint64_t lanes_at = lay_out(&layout), histogram_at = page_round(sizeof *lane);
	uint64_t ring_at = histogram_at + page_round(BRICK_HISTOGRAM_BLOCK_BYTES);
	uint64_t lane_bytes = ring_at + CAPACITY * sizeof *ring;

	fd = memfd_create("fuzz", 0);
	if (fd < 0 || ftruncate(fd, (off_t)(lanes_at + lane_bytes)))
		abort();
	file = mmap(NULL, lanes_at + lane_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (file == MAP_FAILED)
		abort();
	fake_init(&fake, (uint32_t)getpid());
	header = (void *)file;
	*header = layout;
	memcpy(&header->magic, &fake.header.magic, 8);
	header->version = BRICK_SESSION_VERSION;
	header->header_bytes = sizeof *header;
	header->lane_bytes = sizeof *lane;
	header->state = BRICK_SESSION_OPEN;
	header->pid = (uint32_t)getpid();
	header->clock = *brick_clock_get();
	header->start_ticks = fake_ticks(0);
	header->brick_count = fake.tables.brick_count;
	header->category_count = fake.tables.category_count;
	header->site_count = header->kernel_count = header->lane_count = 1;
	memcpy(file + header->brick_offset, fake.bricks, 128 * sizeof *fake.bricks);
	memcpy(file + header->category_offset, fake.categories, sizeof fake.categories);
	*(struct brick_session_lane *)(void *)(file + BRICK_SESSION_LANES_OFFSET) =
		(struct brick_session_lane){lanes_at, lane_bytes};
	lane = (void *)(file + lanes_at);
	*lane = fake.lane;
	lane->capacity = CAPACITY;
	lane->histogram_offset = histogram_at;
	lane->ring_offset = ring_at;
	ring = (void *)(file + lanes_at + ring_at);
	fill_ring();
	keep(0, header, HEAD_BYTES);
	keep(1, file + header->brick_offset, 128 * sizeof(struct brick_session_brick));
	keep(2, file + header->site_offset, 64 * sizeof(struct brick_session_site));
	keep(3, file + header->kernel_offset, 64 * sizeof(struct brick_session_kernel));
	keep(4, lane, offsetof(struct brick_lane, stats));
	keep(5, lane->stats, 128 * sizeof *lane->stats);
	keep(6, ring, 1024 * sizeof *ring);
}

static void restore(void)
{
	for (int i = 0; i < PARTS; i++)
		memcpy(parts[i].at, parts[i].honest, parts[i].bytes);
}

/* Overwrite up to 255 numbers of one to eight bytes, anywhere in a part. */
static void lie(struct input *in)
{
	uint8_t count = 0;

	take(in, &count, 1);
	while (count-- && in->left) {
		struct {
			uint8_t part, bytes;
			uint16_t at;
			uint8_t value[8];
		} change;
		take(in, &change.part, 1);
		take(in, &change.bytes, 1);
		take(in, &change.at, 2);
		size_t bytes = change.bytes % 8 + 1;
		take(in, change.value, bytes);
		const struct part *part = &parts[change.part % PARTS];
		size_t at = (size_t)change.at * (part->bytes > 65536 ? 8 : 1);
		/* most of a record's fields, and of a header's, lie at multiples of their size */
		at = change.bytes & 0x80 ? at : at / bytes * bytes;
		if (at + bytes <= part->bytes)
			memcpy(part->at + at, change.value, bytes);
	}
}

static void use(struct run *run)
{
	struct step_index index;

	if (step_index_init(&index, run) < 0)
		return;
	struct summary *summary;
	/* one kind each time: all of them would take most of the time */
	enum summary_by by = (enum summary_by)(run->step_count % SUMMARY_BY_COUNT);
	if (summary_create(&summary, run, by, SUMMARY_ALL_PHASES) == 0)
		summary_destroy(summary);
	struct heatmap *heat;
	if (heatmap_create(&heat, run, &index, STEP_DECODE) == 0)
		heatmap_destroy(heat);
	step_index_fini(&index);
}

static struct run *look(struct drain *view, size_t room)
{
	struct snapshot_part part = {view, DRAIN_END_OUTLIVED, fake_ticks(1000000)};
	struct run *run;
	int whole;

	if (live_snapshot(&run, &part, 1, room, &whole) < 0)
		return NULL;
	const char *wrong = check_run(run);
	if (wrong) {
		fprintf(stderr, "%s\n", wrong);
		abort();
	}
	return run;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	struct drain *view;
	const char *why;

	if (fd < 0)
		create();
	restore();
	lie(&in);
	if (drain_open_view(&view, fd, NULL, &why))
		return 0;
	struct run *base = look(view, 512);
	lie(&in);
	struct run *run = look(view, 4096);
	if (run && base)
		live_subtract(run, base);
	if (run)
		use(run);
	run_destroy(run);
	run_destroy(base);
	drain_close(view);
	return 0;
}
