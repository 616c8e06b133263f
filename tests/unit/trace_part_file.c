/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Description: PATH.part is a file of ours alone: what else has that name is left as it is, a
 * descriptor that became another file's is not written to or closed, and whoever replaces, removes
 * or changes the file is told of.
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
#include "lib/writer/part_file.h"

static char directory[64], path[80], part[96], other[96];

static int set_up(void **state)
{
	(void)state;
	strcpy(directory, "/tmp/brick-unit-XXXXXX");
	if (!mkdtemp(directory))
		return -1;
	snprintf(path, sizeof path, "%s/run", directory);
	snprintf(part, sizeof part, "%s.part", path);
	snprintf(other, sizeof other, "%s/other", directory);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	unlink(path);
	if (unlink(part))
		rmdir(part);
	unlink(other);
	/* nothing else is left, under any name */
	return rmdir(directory);
}

static void put(const char *name, const char *text)
{
	FILE *file = fopen(name, "w");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void check_text(const char *name, const char *expected)
{
	char text[64] = "";
	FILE *file = fopen(name, "r");

	assert_non_null(file);
	assert_int_equal(fread(text, 1, sizeof text - 1, file), strlen(expected));
	fclose(file);
	assert_string_equal(text, expected);
}

static struct part_file *opened(const char *text)
{
	struct part_file *f;

	assert_int_equal(part_file_open(&f, path), 0);
	assert_int_equal(part_file_write(f, text, strlen(text)), 0);
	return f;
}

static int own_descriptor(void)
{
	struct stat ours, st;

	assert_int_equal(stat(part, &ours), 0);
	for (int fd = 3; fd < 1024; fd++)
		if (!fstat(fd, &st) && st.st_ino == ours.st_ino && st.st_dev == ours.st_dev)
			return fd;
	fail();
	return -1;
}

static void becomes_whole(void **state)
{
	(void)state;
	put(path, "an older recording");
	struct part_file *f = opened("one");
	part_file_sync(f);
	assert_int_equal(part_file_write(f, "two", 3), 0);
	check_text(part, "onetwo");
	check_text(path, "an older recording");
	assert_int_equal(part_file_finish(f), 0);
	check_text(path, "onetwo");
	assert_int_equal(access(part, F_OK), -1);
}

static void replaces_what_was_given_up(void **state)
{
	(void)state;
	part_file_leave(opened("from before"));
	check_text(part, "from before");
	struct part_file *f = opened("new");
	check_text(part, "new");
	part_file_remove(f);
	assert_int_equal(access(part, F_OK), -1);
	assert_int_equal(part_file_open(&f, path), 0);
	part_file_leave(f); /* nothing was written */
	assert_int_equal(access(part, F_OK), -1);
}

static void refused(const char *word)
{
	struct part_file *f = NULL;
	char why[256];

	assert_int_equal(part_file_open(&f, path), -EEXIST);
	assert_null(f);
	assert_int_equal(part_file_explain(path, -EEXIST, why, sizeof why), 1);
	assert_non_null(strstr(why, part));
	assert_non_null(strstr(why, word));
}

static void takes_no_other_name(void **state)
{
	(void)state;
	put(other, "mine");
	assert_int_equal(symlink(other, part), 0);
	refused("symbolic link");
	unlink(part);
	assert_int_equal(mkfifo(part, 0600), 0);
	refused("pipe");
	unlink(part);
	assert_int_equal(mkdir(part, 0700), 0);
	refused("directory");
	rmdir(part);
	assert_int_equal(link(other, part), 0);
	refused("hard links");
	unlink(part);
	check_text(other, "mine");
	put(part, "theirs");
	if (!chown(part, 12345, (gid_t)-1)) /* root may */
		refused("another user");
}

/* Another process: locks do not hold against our own. */
static void waits_for_nobody(void **state)
{
	(void)state;
	struct part_file *f = opened("first"), *second;
	pid_t child = fork();
	int status;
	if (!child)
		_exit(-part_file_open(&second, path));
	waitpid(child, &status, 0);
	assert_int_equal(WEXITSTATUS(status), EBUSY);
	check_text(part, "first");
	assert_int_equal(part_file_finish(f), 0);
}

static void writes_to_nobody_elses_file(void **state)
{
	(void)state;
	struct part_file *f = opened("one");
	put(other, "mine");
	int fd = own_descriptor(), mine = open(other, O_RDWR);
	assert_int_equal(dup2(mine, fd), fd);
	assert_int_equal(part_file_write(f, "two", 3), 0);
	check_text(other, "mine");
	check_text(part, "onetwo");
	assert_int_not_equal(own_descriptor(), fd);
	assert_int_equal(close(own_descriptor()), 0);
	assert_int_equal(part_file_finish(f), 0);
	check_text(path, "onetwo");
	assert_int_equal(fcntl(fd, F_GETFD), 0); /* still open */
	close(fd);
	close(mine);
}

static void says_who_interferes(void **state)
{
	(void)state;
	struct part_file *f = opened("one");
	put(other, "theirs");
	assert_int_equal(rename(other, part), 0);
	assert_int_equal(part_file_finish(f), -ESTALE);
	check_text(part, "theirs");
	f = opened("one");
	assert_int_equal(truncate(part, 1), 0);
	assert_int_equal(part_file_write(f, "two", 3), -ESTALE);
	assert_int_equal(part_file_finish(f), -ESTALE);
	f = opened("one");
	assert_int_equal(unlink(part), 0);
	assert_int_equal(part_file_finish(f), -ESTALE);
	assert_int_equal(access(path, F_OK), -1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(becomes_whole),
		TEST(replaces_what_was_given_up),
		TEST(takes_no_other_name),
		TEST(waits_for_nobody),
		TEST(writes_to_nobody_elses_file),
		TEST(says_who_interferes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
