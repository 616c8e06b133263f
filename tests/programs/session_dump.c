/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints a session file as lines of words, for tests that look at what a process recorded before
 * any consumer has had it: N notes, H header, B bricks, S sites, K kernels, L lanes, Q which of
 * them are queues, R records (all that are in the ring), T statistics. Run as: program-session_dump
 * FILE.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "brick/abi/session.h"
#include "lib/drain/expand.h"
#include "lib/probe/leaf_stats.h"

static const char *base;
static uint64_t size;

static const void *at(uint64_t offset, uint64_t bytes)
{
	return offset <= size && bytes <= size - offset ? base + offset : NULL;
}

static void print_notes(const struct brick_session_header *h)
{
	const char *text = at(h->notes_offset, h->notes_bytes);

	for (uint32_t i = 0; text && i < h->notes_bytes;) {
		int n = 0;
		while (i + (uint32_t)n < h->notes_bytes && text[i + (uint32_t)n] != '\n')
			n++;
		printf("N\t%.*s\n", n, text + i);
		i += (uint32_t)n + 1;
	}
}

static void print_tables(const struct brick_session_header *h)
{
	const struct brick_session_brick *brick =
		at(h->brick_offset, h->brick_count * sizeof *brick);
	const struct brick_session_category *category =
		at(h->category_offset, h->category_count * sizeof *category);
	const struct brick_session_site *site = at(h->site_offset, h->site_count * sizeof *site);

	for (uint32_t i = 0; brick && category && i < h->brick_count; i++)
		printf("B\t%u\t%s\t%s\n", i, brick[i].name, category[brick[i].category].name);
	for (uint32_t i = 1; site && i < h->site_count; i++)
		printf("S\t%u\t%u\t%d\t%u\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%s\t%s\n", i,
			site[i].brick, site[i].layer, site[i].flags, site[i].elements,
			site[i].bytes, site[i].flops, site[i].operation, site[i].label);
}

static void print_kernels(const struct brick_session_header *h)
{
	const struct brick_session_kernel *k = at(h->kernel_offset, h->kernel_count * sizeof *k);

	for (uint32_t i = 1; k && i < h->kernel_count; i++)
		printf("K\t%u\t%u\t%u\t%u\t%s\t%s\n", i, k[i].kind, k[i].grid[0], k[i].block[0],
			k[i].backend, k[i].name);
}

static void print_record(uint32_t lane, const struct brick_record *r)
{
	printf("R\t%u\t%u\t%" PRIu64 "\t%u\t%u\t%u\t%u\t%d\t%u\t%" PRIu64 "\t%u\t%u\n", lane,
		r->kind, r->begin, r->ticks, r->wait, r->source, r->brick, r->layer,
		r->flags & ~BRICK_FLAG_UNCOUNTED, r->elements,
		r->flags & BRICK_FLAG_SITE ? r->site : 0,
		r->flags & BRICK_FLAG_SITE ? r->inner : 0);
}

/* A record that stands for several is printed as these. */
static void print_records(
	const struct brick_session_header *h, uint32_t lane, const struct brick_record *record)
{
	const struct brick_session_site *site = at(h->site_offset, h->site_count * sizeof *site);
	struct brick_samples samples;
	static struct drain_ahead ahead;
	struct brick_record out[3];

	if (record->kind == BRICK_RECORD_WORK_AHEAD) {
		drain_ahead_add(&ahead, record);
		return;
	}
	if (record->kind != BRICK_RECORD_SAMPLES) {
		print_record(lane, record);
		return;
	}
	memcpy(&samples, record, sizeof samples);
	uint32_t count = brick_samples_read(&samples, out);
	for (uint32_t i = 0; i < count; i++) {
		if (site && out[i].site < h->site_count) {
			out[i].brick = site[out[i].site].brick;
			out[i].layer = site[out[i].site].layer;
		}
		print_record(lane, &out[i]);
		const struct brick_record *work = drain_ahead_take(&ahead);
		if (!work)
			continue;
		out[i] = (struct brick_record){.begin = work->begin,
			.kind = BRICK_RECORD_WORK,
			.elements = work->elements};
		print_record(lane, &out[i]);
	}
}

static void print_lane(const struct brick_session_header *h, uint32_t index,
	const struct brick_session_lane *entry)
{
	const struct brick_lane *lane = at(entry->offset, sizeof *lane);

	if (!lane)
		return;
	printf("L\t%u\t%" PRIu64 "\t%" PRIu64 "\t%u\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64
	       "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%u\t%s\n",
		index, lane->tid, lane->owners, lane->state, lane->head, lane->ledger.dropped,
		lane->ledger.unmatched, lane->ledger.clamped, lane->ledger.too_deep,
		lane->hook_calls, lane->hook_timed, lane->hook_ticks, brick_lane_open(lane),
		lane->name);
	if (lane->kind == BRICK_LANE_QUEUE)
		printf("Q\t%u\t%s\t%" PRIu64 "\n", index, lane->backend, lane->queue_flags);
	const struct brick_record *ring =
		at(entry->offset + lane->ring_offset, lane->capacity * sizeof *ring);
	static struct leaf_stats leaves;
	brick__leaf_stats_read(lane, ring, ring ? lane->capacity : 0, h->brick_count, &leaves);
	for (uint32_t i = 0; i < h->brick_count; i++) {
		if (!brick_lane_has_rows(lane, i))
			continue;
		struct brick_stat sum = lane->stats[i], *s = &sum;
		if (lane->kind == BRICK_LANE_THREAD)
			brick__leaf_stat_add(s, &leaves.stats[i]);
		if (s->count)
			printf("T\t%u\t%u\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64
			       "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\n",
				index, i, s->count, s->total, s->self, s->wait, s->elements,
				s->bytes, s->flops);
	}
	uint64_t from = lane->head > lane->capacity ? lane->head - lane->capacity : 0;
	for (uint64_t i = from; ring && lane->capacity && i < lane->head; i++)
		print_records(h, index, &ring[i & (lane->capacity - 1)]);
}

int main(int argc, char **argv)
{
	struct stat st;
	int fd = argc == 2 ? open(argv[1], O_RDONLY) : -1;

	if (fd < 0 || fstat(fd, &st) < 0 ||
		(size_t)st.st_size < sizeof(struct brick_session_header))
		return 2;
	size = (uint64_t)st.st_size;
	base = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	if (base == MAP_FAILED)
		return 2;
	const struct brick_session_header *h = (const void *)base;
	const struct brick_session_lane *lanes =
		at(BRICK_SESSION_LANES_OFFSET, h->lane_count * sizeof *lanes);
	if (h->magic != BRICK_SESSION_MAGIC || !lanes)
		return 3;
	printf("H\t%u\t%u\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\n", h->pid, h->state,
		h->clock.frequency, h->ledger.table_full, h->pair_cost, h->ledger.unmatched);
	print_notes(h);
	print_tables(h);
	print_kernels(h);
	for (uint32_t i = 0; i < h->lane_count; i++)
		print_lane(h, i, &lanes[i]);
	return 0;
}
