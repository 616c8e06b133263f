/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session laid out by hand, from include/brick/abi/session.h alone: an honest one, with one lane
 * and what it takes to put records and digests into it.
 */
#pragma once

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "brick/abi/session.h"
#include "brick/brick.h"

enum { CAPACITY = 4096, SAMPLES = 100, PAGE = 4096 };

static const char *directory;
static char draft[512], final[512];
static int fd;
static char *file;
static uint64_t lanes_at, file_bytes;
static struct brick_session_header *header;
static struct brick_session_lane *entry;
static struct brick_lane *lane;
static struct brick_record *ring;

static void fail(const char *what)
{
	perror(what);
	exit(99);
}

static uint64_t page_round(uint64_t bytes)
{
	return (bytes + PAGE - 1) / PAGE * PAGE;
}

static void lay_out(void)
{
	struct brick_session_header h = {0};
	uint64_t at =
		BRICK_SESSION_LANES_OFFSET + BRICK_MAX_LANES * sizeof(struct brick_session_lane);

	h.notes_offset = at;
	at += BRICK_NOTES_BYTES;
	h.category_offset = at;
	at += BRICK_MAX_CATEGORIES * sizeof(struct brick_session_category);
	h.brick_offset = at;
	at += BRICK_MAX_BRICKS * sizeof(struct brick_session_brick);
	h.site_offset = at;
	at += BRICK_MAX_SITES * sizeof(struct brick_session_site);
	h.drained_offset = at;
	at += BRICK_HISTOGRAM_BLOCK_BYTES;
	h.kernel_offset = at = page_round(at);
	h.kernel_count = 2;
	at += BRICK_MAX_KERNELS * sizeof(struct brick_session_kernel);
	h.code_offset = at;
	at += BRICK_CODE_BYTES;
	h.digest_offset = at = page_round(at);
	h.digest_capacity = BRICK_DIGEST_RING;
	at += BRICK_DIGEST_RING * sizeof(struct brick_session_digest);
	lanes_at = page_round(at);
	uint64_t histogram_at = page_round(sizeof(struct brick_lane));
	uint64_t ring_at = histogram_at + page_round(BRICK_HISTOGRAM_BLOCK_BYTES);
	uint64_t lane_bytes = ring_at + CAPACITY * sizeof(struct brick_record);
	file_bytes = lanes_at + lane_bytes;
	if (ftruncate(fd, (off_t)file_bytes) < 0)
		fail("ftruncate");
	file = mmap(NULL, file_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (file == MAP_FAILED)
		fail("mmap");
	header = (void *)file;
	entry = (void *)(file + BRICK_SESSION_LANES_OFFSET);
	lane = (void *)(file + lanes_at);
	ring = (void *)(file + lanes_at + ring_at);
	*header = h;
	*entry = (struct brick_session_lane){lanes_at, lane_bytes};
	lane->capacity = CAPACITY;
	lane->histogram_offset = histogram_at;
	lane->ring_offset = ring_at;
}

static void fill(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	header->magic = BRICK_SESSION_MAGIC;
	header->version = BRICK_SESSION_VERSION;
	header->header_bytes = sizeof *header;
	header->lane_bytes = sizeof *lane;
	header->state = BRICK_SESSION_OPEN;
	header->pid = (uint32_t)getpid();
	header->parent = (uint32_t)getppid();
	header->rank = header->world = -1;
	header->start_ticks = brick_ticks();
	header->start_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	header->clock = *brick_clock_get();
	strcpy(header->executable, "/hostile");
	struct brick_session_category *categories = (void *)(file + header->category_offset);
	for (int i = 0; i < BRICK_CATEGORY_FIRST_DYNAMIC; i++)
		snprintf(categories[i].name, sizeof categories[i].name, "Category%d", i);
	header->category_count = BRICK_CATEGORY_FIRST_DYNAMIC;
	struct brick_session_brick *bricks = (void *)(file + header->brick_offset);
	for (int i = 0; i < BRICK_FIRST_DYNAMIC; i++)
		snprintf(bricks[i].name, sizeof bricks[i].name, "Brick%d", i);
	header->brick_count = BRICK_FIRST_DYNAMIC;
	header->site_count = 1;
	header->lane_count = 1;
	lane->state = BRICK_LANE_LIVE;
	lane->tid = (uint64_t)getpid();
	lane->owners = 1;
	lane->start_ticks = header->start_ticks;
	for (int i = 0; i < BRICK_FIRST_ROWS; i++)
		lane->stats[i].min = UINT64_MAX;
}

static void produce(int count)
{
	static uint64_t last_end;

	for (int i = 0; i < count; i++) {
		uint64_t now = brick_ticks();
		if (now < last_end)
			now = last_end;
		last_end = now + 5;
		ring[lane->head % CAPACITY] = (struct brick_record){
			.begin = now,
			.ticks = 5,
			.kind = BRICK_RECORD_SAMPLE,
			.source = BRICK_SOURCE_TSC,
			.brick = (uint16_t)(i % 3),
			.layer = -1,
		};
		lane->stats[i % 3].count++;
		lane->stats[i % 3].total += 5;
		__atomic_store_n(&lane->head, lane->head + 1, __ATOMIC_RELEASE);
	}
}

static void publish(void)
{
	if (rename(draft, final) < 0)
		fail("rename");
}

static void close_session(void)
{
	header->end_ticks = brick_ticks();
	__atomic_store_n(&header->state, BRICK_SESSION_CLOSED, __ATOMIC_RELEASE);
}

/* Digests of which every second is nonsense in each of its fields. */
static void produce_digests(void)
{
	struct brick_session_digest *digests = (void *)(file + header->digest_offset);

	for (int i = 0; i < SAMPLES; i++) {
		digests[i] = (struct brick_session_digest){
			.ticks = brick_ticks(), .step = 1, .brick = 1, .layer = 2};
		digests[i].digest.dtype = BRICK_DTYPE_F32;
		for (int k = 0; k < 4; k++)
			digests[i].digest.ne[k] = 1;
		if (i % 2)
			memset((char *)&digests[i] + i * 23 % 2000, 0xff, 300);
	}
	__atomic_store_n(&header->digest_head, SAMPLES, __ATOMIC_RELEASE);
}
