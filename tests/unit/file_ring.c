/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of a recording without an end: through a simulated week they never take more bytes, or
 * are older, than was said; the newest are always there, in order; and no file of somebody else is
 * touched.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "lib/writer/writer.h"
#include "lib/keep/file_ring.h"

#define SECOND 1000000000ull
#define HOUR (3600 * SECOND)
#define LOOK_S 10
#define WEEK_S (7 * 24 * 3600)

struct place {
	char directory[64], path[96], wrong[128];
	struct file_ring ring;
};

static int set_up(void **state)
{
	struct place *p = calloc(1, sizeof *p);

	strcpy(p->directory, "/tmp/brick-unit-XXXXXX");
	if (!p || !mkdtemp(p->directory))
		return -1;
	snprintf(p->path, sizeof p->path, "%s/run.pftrace", p->directory);
	p->ring = (struct file_ring){.path = p->path, .bytes = 200000000};
	*state = p;
	return 0;
}

static void name_of(const struct place *p, unsigned number, char name[128])
{
	if (number)
		snprintf(name, 128, "%s/run.%u.pftrace", p->directory, number);
	else
		snprintf(name, 128, "%s", p->path);
}

static int tear_down(void **state)
{
	struct place *p = *state;
	char command[128];

	snprintf(command, sizeof command, "rm -rf %s", p->directory);
	int status = system(command);
	free(p);
	return status;
}

/* Keeps the first packets of a recording, which say what it is a part of. */
static int keep_head(void *context, const void *data, size_t bytes)
{
	int *fd = context;

	if (*fd >= 0)
		assert_int_equal(write(*fd, data, bytes), bytes);
	*fd = -1;
	return 0;
}

/* A part of a ring, NULL: of none, as a file without blocks; its number is in its last 8 bytes. */
static void make(const char *ring, const char *name, uint64_t bytes, uint64_t number)
{
	int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600), head = fd;
	const struct trace_writer_options options = {.start_unix_ns = SECOND,
		.ring = ring,
		.output = keep_head,
		.output_context = &head};
	struct trace_writer *writer;

	assert_true(fd >= 0);
	assert_int_equal(trace_writer_create(&writer, &options), 0);
	trace_writer_abandon(writer);
	assert_int_equal(head, -1);
	assert_true(lseek(fd, 0, SEEK_CUR) <= (off_t)bytes - 8);
	assert_int_equal(ftruncate(fd, (off_t)bytes), 0);
	assert_int_equal(pwrite(fd, &number, 8, (off_t)bytes - 8), 8);
	close(fd);
}

static uint64_t number_in(const char *name, uint64_t *bytes)
{
	struct stat st;
	uint64_t number = 0;
	int fd = open(name, O_RDONLY);

	*bytes = 0;
	if (fd < 0)
		return 0;
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(pread(fd, &number, 8, st.st_size - 8), 8);
	*bytes = (uint64_t)st.st_size;
	close(fd);
	return number;
}

/* The newest is number `last`, each other one less; returns how many earlier files there are. */
static unsigned assert_in_order(const struct place *p, uint64_t last, uint64_t *sum)
{
	char name[128];
	uint64_t bytes;
	unsigned count = 0;

	for (unsigned i = 1; i <= FILE_RING_EARLIER + 1; i++) {
		name_of(p, i, name);
		uint64_t number = number_in(name, &bytes);
		if (!number)
			continue;
		assert_int_equal(i, count + 1);
		assert_int_equal(number, last - count++);
		*sum += bytes;
	}
	assert_true(count <= FILE_RING_EARLIER);
	return count;
}

/* A week at a look each ten seconds, with a load that changes: what the recorder does at each
 * flush. */
static void live(struct place *p, uint64_t bytes_per_s)
{
	uint64_t now_ns = SECOND, number = 1, size = 8, earlier = 0;
	unsigned seed = 1, fewest = FILE_RING_EARLIER, rotations = 0;

	assert_int_equal(file_ring_start(&p->ring, now_ns, p->wrong, sizeof p->wrong), 0);
	for (int s = 0; s < WEEK_S; s += LOOK_S) {
		now_ns += LOOK_S * SECOND;
		seed = seed * 1103515245 + 12345;
		size += LOOK_S * bytes_per_s * (seed / 65536 % 100 ? 1 : 20); /* bursts */
		assert_true(earlier + size <= p->ring.bytes); /* before anybody looks, too */
		file_ring_trim(&p->ring, size, now_ns);
		if (!file_ring_is_due(&p->ring, size, now_ns, false))
			continue;
		make(p->ring.id, p->path, size, number);
		assert_int_equal(file_ring_turn(&p->ring, now_ns), 0);
		file_ring_trim(&p->ring, 0, now_ns);
		size = 8;
		rotations++;
		uint64_t sum = 0;
		unsigned count = assert_in_order(p, number++, &sum);
		earlier = sum;
		if (rotations > FILE_RING_EARLIER && count < fewest)
			fewest = count;
		for (unsigned i = 0; i < count && p->ring.keep_ns; i++)
			assert_true(now_ns - p->ring.ended_ns[i] <= p->ring.keep_ns);
	}
	assert_true(rotations > 100);
	assert_true(fewest >= FILE_RING_PARTS - 4);
}

static void a_week_of_bytes(void **state)
{
	live(*state, 40000);
}

static void a_week_of_minutes(void **state)
{
	struct place *p = *state;

	p->ring.keep_ns = 600 * SECOND;
	live(p, 1000);
}

/* The ring of a recorder that has left no file. */
static void start_anew(struct place *p, char id[FORMAT_RING_DIGITS + 1])
{
	assert_int_equal(file_ring_start(&p->ring, SECOND, p->wrong, sizeof p->wrong), 0);
	assert_int_equal(strlen(p->ring.id), FORMAT_RING_DIGITS);
	memcpy(id, p->ring.id, sizeof p->ring.id);
	*p->ring.id = '\0';
}

static void what_was_there_goes_on(void **state)
{
	struct place *p = *state;
	char name[128], id[FORMAT_RING_DIGITS + 1];
	uint64_t bytes;

	start_anew(p, id);
	snprintf(name, sizeof name, "%s.part", p->path);
	make(id, name, 4096, 9); /* its recorder was killed */
	make(id, p->path, 4096, 8);
	name_of(p, 1, name);
	make(id, name, 4096, 7);
	assert_int_equal(file_ring_start(&p->ring, SECOND, p->wrong, sizeof p->wrong), 0);
	assert_string_equal(p->ring.id, id);
	for (unsigned i = 1; i <= 3; i++) {
		name_of(p, i, name);
		assert_int_equal(number_in(name, &bytes), 10 - i);
	}
	assert_int_equal(access(p->path, F_OK), -1);
}

static void others_files_stay(void **state)
{
	struct place *p = *state;
	char name[128], link_name[128], id[FORMAT_RING_DIGITS + 1];

	start_anew(p, id);
	name_of(p, 3, name);
	assert_int_equal(symlink("/nowhere", name), 0);
	make(id, p->path, 4096, 1);
	assert_int_equal(file_ring_start(&p->ring, SECOND, p->wrong, sizeof p->wrong), -EEXIST);
	assert_string_equal(p->wrong, name);
	assert_int_equal(access(p->path, F_OK), 0);
	assert_int_equal(readlink(name, link_name, sizeof link_name), 8);
}

static void refuse(struct place *p, const char *name)
{
	struct stat st;

	*p->ring.id = '\0';
	assert_int_equal(file_ring_start(&p->ring, SECOND, p->wrong, sizeof p->wrong), -EEXIST);
	assert_string_equal(p->wrong, name);
	assert_int_equal(stat(name, &st), 0);
	assert_int_equal(unlink(name), 0);
}

/* Whatever is no part of this ring is refused by its name, and stays. */
static void others_recordings_stay(void **state)
{
	struct place *p = *state;
	char name[128], id[FORMAT_RING_DIGITS + 1], other[FORMAT_RING_DIGITS + 1];

	start_anew(p, other);
	start_anew(p, id);
	assert_string_not_equal(id, other);
	make(NULL, p->path, 4096, 1); /* a recording of one file */
	refuse(p, p->path);
	make(id, p->path, 4096, 1);
	name_of(p, 2, name);
	make(other, name, 4096, 1); /* of a ring of this name that is elsewhere */
	refuse(p, name);
	name_of(p, 1, name);
	make(NULL, name, 4096, 1); /* another job's rank 1 */
	refuse(p, name);
	FILE *text = fopen(name, "w");
	fputs("not a recording\n", text);
	fclose(text);
	refuse(p, name);
	fclose(fopen(name, "w"));
	refuse(p, name);
	assert_int_equal(unlink(p->path), 0);
	snprintf(name, sizeof name, "%s.part", p->path);
	make(NULL, name, 4096, 1); /* a recording of one file, whose recorder was killed */
	refuse(p, name);
	fclose(fopen(name, "w")); /* its recorder was killed at once */
	assert_int_equal(file_ring_start(&p->ring, SECOND, p->wrong, sizeof p->wrong), 0);
	assert_int_equal(unlink(name), 0);
	memcpy(id, p->ring.id, sizeof id);
	name_of(p, 1, name);

	/* the first of our earlier files is not the newest of a ring with its name */
	const char *path = p->path;
	make(id, name, 4096, 1);
	p->ring.path = name;
	refuse(p, name);
	p->ring.path = path;
}

/* Names that others take while the ring goes on are passed over, and their bytes do not count. */
static void taken_names_are_passed_over(void **state)
{
	struct place *p = *state;
	char name[128], id[FORMAT_RING_DIGITS + 1];
	uint64_t bytes, now_ns = SECOND;

	p->ring.keep_ns = 100 * SECOND;
	start_anew(p, id);
	assert_int_equal(file_ring_start(&p->ring, now_ns, p->wrong, sizeof p->wrong), 0);
	for (unsigned i = 1; i <= 40; i++) {
		name_of(p, i == 5 ? 1 : 3, name);
		if (i == 3 || i == 5)
			make(NULL, name, 300000000, 1000 + i);
		make(p->ring.id, p->path, 4096, i);
		now_ns += 8 * SECOND;
		assert_int_equal(file_ring_turn(&p->ring, now_ns), 0);
		file_ring_trim(&p->ring, 0, now_ns);
	}
	static const uint64_t expected[] = {1005, 40, 1003, 39, 38, 37, 36, 35};
	for (unsigned i = 1; i <= 8; i++) {
		name_of(p, i, name);
		assert_int_equal(number_in(name, &bytes), expected[i - 1]);
	}
	for (unsigned i = 9; i <= FILE_RING_EARLIER; i++) {
		name_of(p, i, name);
		if (number_in(name, &bytes))
			assert_true(now_ns - p->ring.ended_ns[i - 1] <= p->ring.keep_ns);
	}
	for (unsigned i = 1; i <= FILE_RING_EARLIER; i++) {
		name_of(p, i, name);
		make(NULL, name, 4096, 1);
	}
	make(p->ring.id, p->path, 4096, 41);
	assert_int_equal(file_ring_turn(&p->ring, now_ns), -EEXIST);
	file_ring_trim(&p->ring, p->ring.bytes, now_ns + HOUR);
	for (unsigned i = 1; i <= FILE_RING_EARLIER; i++) {
		name_of(p, i, name);
		assert_int_equal(number_in(name, &bytes), 1);
	}
}

/* Another recorder holds the lock of PATH.part: nothing of its ring is moved. */
static void a_living_recorder_keeps_its_files(void **state)
{
	struct place *p = *state;
	struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	char part[128], id[FORMAT_RING_DIGITS + 1];
	int ready[2], done[2], status;
	char byte = 0;

	snprintf(part, sizeof part, "%s.part", p->path);
	start_anew(p, id);
	make(id, part, 4096, 2);
	make(id, p->path, 4096, 1);
	assert_int_equal(pipe(ready) | pipe(done), 0);
	pid_t pid = fork();
	if (!pid) {
		int fd = open(part, O_RDWR);
		byte = (char)fcntl(fd, F_SETLK, &whole);
		_exit(write(ready[1], &byte, 1) != 1 || read(done[0], &byte, 1) != 1);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	assert_int_equal(byte, 0);
	assert_int_equal(file_ring_start(&p->ring, SECOND, p->wrong, sizeof p->wrong), -EBUSY);
	assert_int_equal(access(part, F_OK) | access(p->path, F_OK), 0);
	assert_int_equal(write(done[1], &byte, 1), 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_week_of_bytes),
		TEST(a_week_of_minutes),
		TEST(what_was_there_goes_on),
		TEST(others_files_stay),
		TEST(others_recordings_stay),
		TEST(taken_names_are_passed_over),
		TEST(a_living_recorder_keeps_its_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
