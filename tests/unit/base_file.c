/* SPDX-License-Identifier: Apache-2.0 */
/* Small files as text at all their bounds, where a user's own files are, and numbers of
 * descriptors. */
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
#include <unistd.h>
#include "base/descriptor.h"
#include "base/file.h"
#include "base/user_path.h"

static char path[] = "/tmp/brick-file-XXXXXX";

static void put(const char *text, size_t bytes)
{
	FILE *out = fopen(path, "we");

	assert_non_null(out);
	assert_int_equal(fwrite(text, 1, bytes, out), bytes);
	assert_int_equal(fclose(out), 0);
}

static void begins_and_ends(void **state)
{
	char out[6];

	put("abc\ndefgh", 9);
	assert_int_equal(file_begin(path, out, sizeof out), 5);
	assert_string_equal(out, "abc\nd");
	assert_int_equal(file_line(path, out, sizeof out), 1);
	assert_string_equal(out, "abc");
	assert_int_equal(file_begin("/nowhere", out, sizeof out), 0);
	assert_string_equal(out, "");
	put("ab\0cd", 5);
	char *end = file_end(path, 4);
	assert_string_equal(end, "b cd");
	free(end);
	end = file_end(path, 100);
	assert_string_equal(end, "ab cd");
	free(end);
	assert_null(file_end("/nowhere", 4));
}

/* A status of a process with many groups: fields stand far behind, and beside a line that is longer
 * than any buffer; also where buffers of any length end. */
static void finds_fields_behind_long_lines(void **state)
{
	static char text[30000];
	char out[16] = "";

	(void)state;
	for (size_t blanks = 0; blanks < 9000; blanks += blanks < 4000 || blanks > 4200 ? 61 : 1) {
		size_t n = (size_t)sprintf(text, "Uid:\t0\nGroups:\t");
		memset(text + n, '1', blanks);
		n += blanks;
		n += (size_t)sprintf(
			text + n, " x VmHWM:  7 kB\nNStgid:\t1\nVmHWM:\t   12 kB\nlast:\t1");
		put(text, n);
		file_field(path, "VmHWM", out, sizeof out);
		assert_string_equal(out, "12 kB");
		file_field(path, "last", out, sizeof out);
		assert_string_equal(out, "1");
	}
}

/* As /proc/cpuinfo and /proc/meminfo have them: blanks before the colon, and keys within keys. */
static void finds_fields(void **state)
{
	static const char text[] =
		"model\t\t: 85\nmodel name\t: A CPU\nno colon\nMemAvailable:   12 kB\nlast :";
	char out[6] = "old";

	put(text, sizeof text - 1);
	file_field(path, "model name", out, sizeof out);
	assert_string_equal(out, "A CPU");
	file_field(path, "model", out, sizeof out);
	assert_string_equal(out, "85");
	file_field(path, "MemAvailable", out, sizeof out);
	assert_string_equal(out, "12 kB");
	file_field(path, "no colon", out, sizeof out);
	file_field(path, "Mem", out, sizeof out);
	file_field("/nowhere", "model", out, sizeof out);
	assert_string_equal(out, "12 kB");
	file_field(path, "last", out, sizeof out);
	assert_string_equal(out, "");
}

static void reads_all_or_says_why(void **state)
{
	char *text = NULL;
	size_t bytes;

	put("12345", 5);
	assert_int_equal(file_read(&text, &bytes, path, 5), 0);
	assert_int_equal(bytes, 5);
	assert_string_equal(text, "12345");
	free(text);
	assert_int_equal(file_read(&text, &bytes, path, 4), -EFBIG);
	assert_int_equal(file_read(&text, &bytes, "/dev/zero", 4), -EFBIG);
	assert_int_equal(file_read(&text, &bytes, "/nowhere", 4), -ENOENT);
	assert_int_equal(file_read(&text, &bytes, "/tmp", 1 << 20), -EISDIR);
}

static void is(enum user_place place, const char *expected)
{
	char *found = user_path(place, "%s", "x/y");

	if (expected)
		assert_string_equal(found, expected);
	else
		assert_null(found);
	free(found);
}

static void is_where_the_specification_says(void **state)
{
	setenv("HOME", "/h", 1);
	unsetenv("XDG_DATA_HOME");
	setenv("XDG_CACHE_HOME", "not/absolute", 1);
	setenv("XDG_CONFIG_HOME", "/c", 1);
	is(USER_DATA, "/h/.local/share/brick/x/y");
	is(USER_CACHE, "/h/.cache/brick/x/y");
	is(USER_CONFIG, "/c/brick/x/y");
	unsetenv("HOME");
	is(USER_DATA, NULL);
	is(USER_CONFIG, "/c/brick/x/y");
}

static void makes_directories_above(void **state)
{
	char below[64];
	struct stat st;

	unlink(path);
	snprintf(below, sizeof below, "%s/a/b", path);
	user_path_make(below);
	assert_int_not_equal(stat(below, &st), 0);
	*strrchr(below, '/') = '\0';
	assert_int_equal(stat(below, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	rmdir(below);
	rmdir(path);
}

/* Another thread of the program may have closed it, and use its number. */
static void closes_only_what_it_opened(void **state)
{
	struct stat own;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_int_equal(fstat(fd, &own), 0);
	close(fd);
	descriptor_close(fd, &own);
	assert_int_equal(open("/", O_RDONLY | O_CLOEXEC), fd);
	descriptor_close(fd, &own);
	assert_int_not_equal(fcntl(fd, F_GETFD), -1);
	close(fd);
	assert_int_equal(open(path, O_RDONLY | O_CLOEXEC), fd);
	descriptor_close(fd, &own);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
}

/* Also while the program has closed them. */
static void holds_the_streams(void **state)
{
	struct streams_held held;
	struct stat own;
	int kept = fcntl(0, F_DUPFD_CLOEXEC, 10);

	close(0);
	int root = open("/", O_PATH | O_CLOEXEC);
	assert_int_equal(root, 0);
	assert_int_equal(fstat(root, &own), 0);
	int one = fcntl(1, F_DUPFD_CLOEXEC, 10);
	close(1);
	streams_hold(&held, root, &own);
	int above = open(path, O_RDONLY | O_CLOEXEC), wrote = (int)write(1, "", 1);
	streams_release(&held);
	int is_free = fcntl(1, F_GETFD) < 0;
	dup2(one, 1);
	dup2(kept, 0);
	close(one);
	close(kept);
	assert_true(above > 2);
	assert_int_equal(wrote, -1);
	assert_true(is_free);
	close(above);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(begins_and_ends),
		cmocka_unit_test(finds_fields),
		cmocka_unit_test(finds_fields_behind_long_lines),
		cmocka_unit_test(reads_all_or_says_why),
		cmocka_unit_test(closes_only_what_it_opened),
		cmocka_unit_test(holds_the_streams),
		cmocka_unit_test(is_where_the_specification_says),
		cmocka_unit_test(makes_directories_above),
	};
	int fd = mkstemp(path);

	if (fd < 0)
		return 1;
	close(fd);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
