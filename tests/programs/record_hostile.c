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
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "tests/programs/session_by_hand.h"

/* A field that does not hold what it should. */
struct lie {
	const char *name;
	enum { OF_HEADER, OF_ENTRY, OF_LANE } place;
	size_t offset, bytes;
	enum { SET, ADD, SET_FROM_END } how; /* from the end of the file */
	uint64_t value;
};

#define IN_HEADER(field)                                         \
	OF_HEADER, offsetof(struct brick_session_header, field), \
		sizeof(((struct brick_session_header *)0)->field)
#define IN_ENTRY(field)                                       \
	OF_ENTRY, offsetof(struct brick_session_lane, field), \
		sizeof(((struct brick_session_lane *)0)->field)
#define IN_LANE(field) \
	OF_LANE, offsetof(struct brick_lane, field), sizeof(((struct brick_lane *)0)->field)
#define MINUS(n) (0 - (uint64_t)(n))

static const struct lie early_lies[] = {
	{"magic", IN_HEADER(magic), ADD, 1},
	{"version", IN_HEADER(version), ADD, 1},
	{"header-bytes", IN_HEADER(header_bytes), ADD, MINUS(1)},
	{"lane-bytes", IN_HEADER(lane_bytes), ADD, 1},
	{"state", IN_HEADER(state), SET, 7},
	{"clock", IN_HEADER(clock.source), ADD, 7},
	{"notes-offset", IN_HEADER(notes_offset), SET_FROM_END, MINUS(8)},
	{"site-offset", IN_HEADER(site_offset), SET, UINT64_MAX - 7},
	{"drained-offset", IN_HEADER(drained_offset), SET, 64},
	{"digest-offset", IN_HEADER(digest_offset), SET_FROM_END, MINUS(PAGE)},
	{"kernel-offset", IN_HEADER(kernel_offset), SET_FROM_END, MINUS(PAGE)},
	{"kernel-count", IN_HEADER(kernel_count), SET, BRICK_MAX_KERNELS + 1},
	{"code-offset", IN_HEADER(code_offset), SET, UINT64_MAX - 7},
	{"code-bytes", IN_HEADER(code_bytes), SET, BRICK_CODE_BYTES + 8},
	{"digest-head", IN_HEADER(digest_head), SET, BRICK_DIGEST_RING + 1},
	{"brick-offset-odd", IN_HEADER(brick_offset), ADD, 1},
	{"brick-count", IN_HEADER(brick_count), SET, UINT32_MAX},
	{"site-count", IN_HEADER(site_count), SET, BRICK_MAX_SITES + 1},
	{"lane-count", IN_HEADER(lane_count), SET, BRICK_MAX_LANES + 1},
	{"lanes-of-nothing", IN_HEADER(lane_count), SET, BRICK_MAX_LANES},
	{"lane-offset", IN_ENTRY(offset), SET_FROM_END, 0},
	{"lane-offset-odd", IN_ENTRY(offset), ADD, 8},
	{"lane-on-header", IN_ENTRY(offset), SET, 0},
	{"ring-offset", IN_LANE(ring_offset), SET, UINT64_MAX - 31},
	{"ring-on-lane", IN_LANE(ring_offset), SET, 0},
	{"capacity", IN_LANE(capacity), SET, CAPACITY - 1},
	{"capacity-huge", IN_LANE(capacity), SET, 1ull << 40},
	{"head", IN_LANE(head), SET, CAPACITY + 1},
	{"head-huge", IN_LANE(head), SET, UINT64_MAX},
};

static void tell(const struct lie *lie)
{
	char *const places[] = {(char *)header, (char *)entry, (char *)lane};
	char *at = places[lie->place] + lie->offset;
	uint64_t value = 0;

	/* of the host's byte order, which is little-endian wherever Brick runs */
	if (lie->how == ADD)
		memcpy(&value, at, lie->bytes);
	if (lie->how == SET_FROM_END)
		value = file_bytes;
	value += lie->value;
	memcpy(at, &value, lie->bytes);
}

/* Lies that depend on what another field holds; 0: this is none. */
static int lie_about_another(const char *lie)
{
	const struct brick_session_code too_long = {.source_bytes = UINT32_MAX};

	if (!strcmp(lie, "lane-too-long"))
		entry->bytes = UINT64_MAX - entry->offset;
	else if (!strcmp(lie, "histogram-offset"))
		lane->histogram_offset = entry->bytes;
	else if (!strcmp(lie, "code-entry")) {
		memcpy(file + header->code_offset, &too_long, sizeof too_long);
		header->code_bytes = 64;
	} else
		return 0;
	return 1;
}

/* Lies that are told before the recorder opens the file; 0: this is none. */
static int lie_early(const char *lie)
{
	if (!strcmp(lie, "empty"))
		return ftruncate(fd, 0) == 0;
	if (!strcmp(lie, "short"))
		return ftruncate(fd, 1000) == 0;
	if (lie_about_another(lie))
		return 1;
	for (size_t i = 0; i < sizeof early_lies / sizeof *early_lies; i++)
		if (!strcmp(lie, early_lies[i].name)) {
			tell(&early_lies[i]);
			return 1;
		}
	return 0;
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

/* What has the name of a session and is no file; 0: this is none. */
static int be_no_file(const char *lie)
{
	if (!strcmp(lie, "fifo")) {
		if (mkfifo(final, 0600) < 0)
			fail("mkfifo");
		pause_ms(200);
		return 1;
	}
	if (!strcmp(lie, "directory")) {
		if (mkdir(draft, 0700) < 0)
			fail("mkdir");
		publish();
		pause_ms(200);
		return 1;
	}
	if (!strcmp(lie, "link")) {
		if (symlink("/etc/passwd", draft) < 0)
			fail("symlink");
		publish();
		return 1;
	}
	return 0;
}

/* Until the recorder has opened the session, and taken what is in it. */
static void wait_for_recorder(void)
{
	enum { PATIENCE_MS = 60000 };

	for (int ms = 0; ms < PATIENCE_MS; ms += 5) {
		if (__atomic_load_n(&lane->tail, __ATOMIC_ACQUIRE) == lane->head)
			return;
		pause_ms(5);
	}
	fail("nobody reads the session");
}

/* Until it has also read the tables that the first records need: its other thread does, later. */
static void wait_for_tables(void)
{
	enum { ROUNDS = 4, ROUND_MS = 50 };

	for (int i = 0; i < ROUNDS; i++) {
		wait_for_recorder();
		produce(SAMPLES);
		pause_ms(ROUND_MS);
	}
	wait_for_recorder();
}

int main(int argc, char **argv)
{
	const char *lie = argc > 1 ? argv[1] : "none";

	directory = getenv("BRICK_SESSION_DIR");
	if (!directory)
		return 98;
	snprintf(draft, sizeof draft, "%s/.%d-hostile", directory, (int)getpid());
	snprintf(final, sizeof final, "%s/%d-hostile.session", directory, (int)getpid());
	if (be_no_file(lie))
		return 0;
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
		wait_for_tables();
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
