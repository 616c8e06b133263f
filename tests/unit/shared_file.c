/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Description: another thread of the program closes all descriptors, and opens a file of its own
 * that gets our number, at the worst of moments: between our looking whose it is and our use of it.
 * Nothing is mapped of that file, or closed.
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
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "lib/sys/shared.h"

enum { BYTES = 1 << 16 };

static char room[] = "/tmp/brick-unit-XXXXXX";
static int own = -1;   /* the program's file */
static int taken = -1; /* the number under which it has it */
static int is_time;    /* for the other thread */

/* The other thread's turn. */
static void take_number(int fd)
{
	if (!is_time)
		return;
	is_time = 0;
	taken = dup2(own, fd);
}

/* In place of the C library's. */
void *mmap(void *at, size_t bytes, int prot, int flags, int fd, off_t offset)
{
	if (fd >= 0)
		take_number(fd);
	return (void *)syscall(SYS_mmap, at, bytes, prot, flags, fd, offset);
}

static int set_up(void **state)
{
	(void)state;
	own = (int)syscall(SYS_memfd_create, "own", 0);
	return own < 0 || ftruncate(own, BYTES) || !mkdtemp(room) ? -1 : 0;
}

static int tear_down(void **state)
{
	(void)state;
	close(own);
	return rmdir(room);
}

static int is_own(int fd)
{
	struct stat a, b;

	return !fstat(fd, &a) && !fstat(own, &b) && a.st_ino == b.st_ino && a.st_dev == b.st_dev;
}

static void check_lost_number(struct brick__shared *file)
{
	int error = 0;

	assert_int_equal(brick__shared_extend(file, BYTES), 0);
	is_time = 1;
	assert_null(brick__shared_map(file, 0, BYTES, &error));
	assert_int_equal(error, -ESTALE);
	assert_int_equal(is_time, 0);
	assert_true(is_own(taken)); /* not closed */
	brick__shared_close(file);
	assert_true(is_own(taken));
	close(taken);
}

static void kept_open(void **state)
{
	struct brick__shared file;

	(void)state;
	assert_int_equal(brick__shared_create(&file, NULL, "session", false), 0);
	check_lost_number(&file);
}

static void opened_for_the_use(void **state)
{
	struct brick__shared file;
	int error;

	(void)state;
	assert_int_equal(brick__shared_create(&file, room, "session", false), 0);
	check_lost_number(&file);
	/* it is opened anew, under another number */
	void *at = brick__shared_map(&file, 0, BYTES, &error);
	assert_non_null(at);
	assert_int_equal(munmap(at, BYTES), 0);
	brick__shared_unlink(&file);
}

static int flock_error;

/* In place of the C library's. */
int flock(int fd, int operation)
{
	take_number(fd);
	errno = flock_error;
	return flock_error ? -1 : (int)syscall(SYS_flock, fd, operation);
}

/* A recorder lives whose lock cannot be looked at, and whoever says so is believed. */
static void lock_out_of_sight(void **state)
{
	char path[64];

	(void)state;
	snprintf(path, sizeof path, "%s/lock", room);
	close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	assert_false(brick__shared_is_held(room, "lock"));
	flock_error = EBADF;
	is_time = 1;
	assert_true(brick__shared_is_held(room, "lock"));
	assert_int_not_equal(fcntl(taken, F_GETFD), -1);
	flock_error = 0;
	close(taken);
	unlink(path);
}

/* A recorder whose directory is gone is gone; but under another root nothing of it can be seen. */
static void directory_out_of_sight(void **state)
{
	char place[64], moved[64], directory[96], path[128];

	(void)state;
	snprintf(place, sizeof place, "%s/place", room);
	snprintf(moved, sizeof moved, "%s/moved", room);
	snprintf(directory, sizeof directory, "%s/recorder", place);
	snprintf(path, sizeof path, "%s/page", directory);
	assert_true(!mkdir(place, 0700) && !mkdir(directory, 0700));
	assert_true(brick__shared_is_held(directory, "lock")); /* nothing was ever seen there */
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(ftruncate(fd, BYTES), 0);
	close(fd);
	void *page = brick__shared_attach(directory, "page", BYTES);
	assert_non_null(page);
	munmap(page, BYTES);
	assert_true(!unlink(path) && !rmdir(directory));
	assert_false(brick__shared_is_held(directory, "lock"));
	assert_true(!rename(place, moved) && !mkdir(place, 0700));
	assert_true(brick__shared_is_held(directory, "lock"));
	assert_int_equal(rmdir(place), 0);
	assert_true(brick__shared_is_held(directory, "lock"));
	rmdir(moved);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kept_open),
		cmocka_unit_test(opened_for_the_use),
		cmocka_unit_test(lock_out_of_sight),
		cmocka_unit_test(directory_out_of_sight),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
