/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that lays a session out by hand, from include/brick/abi/session.h alone, and then lies:
 * a named lie, told before the recorder sees the file or while it reads it, or random bytes in all
 * that decisions could be made on. The recorder must survive each, and say that a process was lost.
 *
 *   hostile LIE        one of the lies below ("none" is an honest session of 100 samples)
 *   hostile random=N   random lies for a while, seeded by N
 */
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
#define HISTOGRAM_BYTES ((uint64_t)BRICK_MAX_BRICKS * BRICK_HISTOGRAM_BUCKETS * 4)

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
	at += HISTOGRAM_BYTES;
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
	uint64_t ring_at = histogram_at + page_round(HISTOGRAM_BYTES);
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
	for (int i = 0; i < BRICK_MAX_BRICKS; i++)
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

/* Lies that are told before the recorder opens the file; 0: this is none. */
static int lie_early(const char *lie)
{
	if (!strcmp(lie, "empty"))
		return ftruncate(fd, 0) == 0;
	if (!strcmp(lie, "short"))
		return ftruncate(fd, 1000) == 0;
	if (!strcmp(lie, "magic"))
		header->magic ^= 1;
	else if (!strcmp(lie, "version"))
		header->version++;
	else if (!strcmp(lie, "header-bytes"))
		header->header_bytes--;
	else if (!strcmp(lie, "lane-bytes"))
		header->lane_bytes++;
	else if (!strcmp(lie, "state"))
		header->state = 7;
	else if (!strcmp(lie, "clock"))
		header->clock.source += 7;
	else if (!strcmp(lie, "notes-offset"))
		header->notes_offset = file_bytes - 8;
	else if (!strcmp(lie, "site-offset"))
		header->site_offset = UINT64_MAX - 7;
	else if (!strcmp(lie, "drained-offset"))
		header->drained_offset = 64;
	else if (!strcmp(lie, "digest-offset"))
		header->digest_offset = file_bytes - PAGE;
	else if (!strcmp(lie, "kernel-offset"))
		header->kernel_offset = file_bytes - PAGE;
	else if (!strcmp(lie, "kernel-count"))
		header->kernel_count = BRICK_MAX_KERNELS + 1;
	else if (!strcmp(lie, "code-offset"))
		header->code_offset = UINT64_MAX - 7;
	else if (!strcmp(lie, "code-bytes"))
		header->code_bytes = BRICK_CODE_BYTES + 8;
	else if (!strcmp(lie, "code-entry")) {
		struct brick_session_code entry_of_code = {.source_bytes = UINT32_MAX};
		memcpy(file + header->code_offset, &entry_of_code, sizeof entry_of_code);
		header->code_bytes = 64;
	} else if (!strcmp(lie, "digest-head"))
		header->digest_head = BRICK_DIGEST_RING + 1;
	else if (!strcmp(lie, "brick-offset-odd"))
		header->brick_offset++;
	else if (!strcmp(lie, "brick-count"))
		header->brick_count = UINT32_MAX;
	else if (!strcmp(lie, "site-count"))
		header->site_count = BRICK_MAX_SITES + 1;
	else if (!strcmp(lie, "lane-count"))
		header->lane_count = BRICK_MAX_LANES + 1;
	else if (!strcmp(lie, "lanes-of-nothing"))
		header->lane_count = BRICK_MAX_LANES;
	else if (!strcmp(lie, "lane-offset"))
		entry->offset = file_bytes;
	else if (!strcmp(lie, "lane-offset-odd"))
		entry->offset += 8;
	else if (!strcmp(lie, "lane-on-header"))
		entry->offset = 0;
	else if (!strcmp(lie, "lane-too-long"))
		entry->bytes = UINT64_MAX - entry->offset;
	else if (!strcmp(lie, "ring-offset"))
		lane->ring_offset = UINT64_MAX - 31;
	else if (!strcmp(lie, "ring-on-lane"))
		lane->ring_offset = 0;
	else if (!strcmp(lie, "histogram-offset"))
		lane->histogram_offset = entry->bytes;
	else if (!strcmp(lie, "capacity"))
		lane->capacity = CAPACITY - 1;
	else if (!strcmp(lie, "capacity-huge"))
		lane->capacity = 1ull << 40;
	else if (!strcmp(lie, "head"))
		lane->head = CAPACITY + 1;
	else if (!strcmp(lie, "head-huge"))
		lane->head = UINT64_MAX;
	else
		return 0;
	return 1;
}

/* Lies that are told once the recorder has the file; 0: this is none. */
static int lie_late(const char *lie)
{
	if (!strcmp(lie, "head-back"))
		lane->head -= 1000;
	else if (!strcmp(lie, "head-jump"))
		lane->head += CAPACITY + SAMPLES;
	else if (!strcmp(lie, "bricks-vanish"))
		header->brick_count = 2;
	else if (!strcmp(lie, "lanes-vanish"))
		header->lane_count = 0;
	else if (!strcmp(lie, "cut"))
		return ftruncate(fd, PAGE) == 0;
	else if (!strcmp(lie, "cut-ring"))
		return ftruncate(fd, (off_t)(lanes_at + PAGE)) == 0;
	else
		return 0;
	return 1;
}

static uint64_t seed;

static uint64_t number(void)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return seed >> 33 ^ seed >> 60;
}

static uint64_t lie_value(void)
{
	static const uint64_t values[] = {0, 1, 2, 31, 127, 128, 1023, 1024, 4095, 4096, 65535,
		65536, INT32_MAX, UINT32_MAX, 1ull << 32, INT64_MAX, UINT64_MAX, UINT64_MAX - 4095};
	uint64_t pick = number() % 24;

	return pick < sizeof values / sizeof *values ? values[pick]
	       : pick < 22			     ? number()
						     : number() << 32 | number();
}

/* Random values anywhere that a reader looks: header, tables, lane, ring; rarely a new length. */
static void lie_randomly(int count)
{
	while (count-- > 0) {
		char *at;
		switch (number() % 8) {
		case 0:
			at = file + number() % sizeof *header;
			break;
		case 1:
			at = (char *)&header->brick_count + number() % 24;
			break;
		case 2:
			at = (char *)entry + number() % 64;
			break;
		case 3:
			at = (char *)lane + number() % (offsetof(struct brick_lane, frames) + 4096);
			break;
		case 4:
			at = file + BRICK_SESSION_LANES_OFFSET +
			     number() % (lanes_at - BRICK_SESSION_LANES_OFFSET - 8);
			break;
		case 5:
			lane->head += number() % CAPACITY;
			continue;
		default:
			at = (char *)ring + number() % (CAPACITY * sizeof *ring - 8);
			break;
		}
		uint64_t value = lie_value();
		memcpy(at, &value, number() % 2 ? 8 : 4);
	}
}

static void pause_ms(long ms)
{
	struct timespec t = {ms / 1000, ms % 1000 * 1000000};
	nanosleep(&t, NULL);
}

static void be_random(uint64_t n)
{
	seed = n * 2654435761u + 1;
	produce((int)(number() % CAPACITY));
	if (n % 3 == 0)
		lie_randomly((int)(number() % 4));
	/* half of them are believable when they are opened */
	publish();
	for (int i = 0; i < 4; i++) {
		pause_ms((long)(number() % 30));
		lie_randomly((int)(number() % 40));
		if (number() % 2)
			header->lane_count = 1;
	}
	if (number() % 4 == 0 && ftruncate(fd, (off_t)(number() % file_bytes)) < 0)
		fail("ftruncate");
	_exit(0); /* a look at the mapping after that would be our own end */
}

int main(int argc, char **argv)
{
	const char *lie = argc > 1 ? argv[1] : "none";

	directory = getenv("BRICK_SESSION_DIR");
	if (!directory)
		return 98;
	snprintf(draft, sizeof draft, "%s/.%d-hostile", directory, (int)getpid());
	snprintf(final, sizeof final, "%s/%d-hostile.session", directory, (int)getpid());
	if (!strcmp(lie, "fifo")) {
		if (mkfifo(final, 0600) < 0)
			fail("mkfifo");
		pause_ms(200);
		return 0;
	}
	if (!strcmp(lie, "directory")) {
		if (mkdir(draft, 0700) < 0)
			fail("mkdir");
		publish();
		pause_ms(200);
		return 0;
	}
	if (!strcmp(lie, "link")) {
		if (symlink("/etc/passwd", draft) < 0)
			fail("symlink");
		publish();
		return 0;
	}
	fd = open(draft, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		fail(draft);
	lay_out();
	fill();
	if (!strncmp(lie, "random=", 7))
		be_random(strtoull(lie + 7, NULL, 10));
	produce(SAMPLES);
	if (!strcmp(lie, "digests"))
		produce_digests();
	int told = !strcmp(lie, "none") || !strcmp(lie, "digests") || lie_early(lie);
	publish();
	if (!told) {
		pause_ms(150); /* the recorder opens it at once */
		if (!lie_late(lie))
			return 97;
		pause_ms(150);
		_exit(0);
	}
	pause_ms(100);
	if (!strcmp(lie, "none") || !strcmp(lie, "digests"))
		close_session();
	_exit(0);
}
