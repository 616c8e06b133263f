/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bounds of a spool: runs that wait count, and files that were put aside, as they hold no run,
 * do not. Those go after a week, and what a killed writer left after a day.
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
#include <time.h>
#include <unistd.h>
#include "analysis/history/spool.h"

enum { DAY_S = 86400 };

static void path_of(char path[512], const struct spool *s, const char *name)
{
	snprintf(path, 512, "%s/%s", s->directory, name);
}

static void put(const struct spool *s, const char *name, off_t bytes, int days_ago)
{
	const struct timespec then = {time(NULL) - (time_t)days_ago * DAY_S, 0},
			      both[] = {then, then};
	char path[512];

	path_of(path, s, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, bytes), 0);
	assert_int_equal(futimens(fd, both), 0);
	close(fd);
}

static bool is_there(const struct spool *s, const char *name)
{
	char path[512];

	path_of(path, s, name);
	return !access(path, F_OK);
}

static int add(struct spool *s, const char *id)
{
	struct history_run run;

	assert_int_equal(history_run_init(&run), 0);
	snprintf(run.id, sizeof(run.id), "%s", id);
	int error = spool_add(s, &run);
	history_run_fini(&run);
	return error;
}

static void files_put_aside_take_no_room(void **state)
{
	char home[] = "/tmp/brick-unit-XXXXXX", command[64];
	struct spool s;

	(void)state;
	assert_non_null(mkdtemp(home));
	setenv("XDG_DATA_HOME", home, 1);
	setenv("BRICK_SPOOL_BYTES", "4000", 1);
	assert_int_equal(spool_open(&s, "http://nowhere"), 0);
	put(&s, "0000000000000001.run.bad", 4000, 0);
	put(&s, "0000000000000002.run.bad", 4000, 6);
	put(&s, "0000000000000003.run.bad", 4000, 8);
	put(&s, "0000000000000004.run.part", 4000, 2);
	assert_int_equal(add(&s, "0000000000000005"), 0);
	assert_true(is_there(&s, "0000000000000001.run.bad"));
	assert_true(is_there(&s, "0000000000000002.run.bad"));
	assert_false(is_there(&s, "0000000000000003.run.bad"));
	assert_false(is_there(&s, "0000000000000004.run.part"));
	assert_true(is_there(&s, "0000000000000005.run"));
	put(&s, "0000000000000006.run", 4000, 30); /* it waits, however long */
	s.is_measured = false;
	assert_int_equal(add(&s, "0000000000000007"), -ENOBUFS);
	spool_close(&s);
	snprintf(command, sizeof(command), "rm -r %s", home);
	assert_int_equal(system(command), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_put_aside_take_no_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
