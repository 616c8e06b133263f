/* SPDX-License-Identifier: Apache-2.0 */
/* Description: the recorder's backlog keeps within the memory of the machine, of cgroups (both
 * versions, also of those further up) and of its address space. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include "record/encoder.h"
#include "tests/unit/put_file.h"

#define MIB (1ull << 20)

static char root[64];

static int set_up(void **state)
{
	(void)state;
	strcpy(root, "/tmp/brick-unit-XXXXXX");
	if (!mkdtemp(root))
		return -1;
	put_file(root, "proc/meminfo", "MemTotal: 99999999 kB\nMemAvailable: 8388608 kB\n");
	put_file(root, "proc/self/statm", "1000 10 10 1 0 1 0\n");
	return 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(path);
}

static int tear_down(void **state)
{
	(void)state;
	return nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void of_the_machine(void **state)
{
	(void)state;
	assert_int_equal(backlog_capacity_bytes(root), 512 * MIB);
	put_file(root, "proc/meminfo", "MemTotal: 99999999 kB\nMemAvailable: 409600 kB\n");
	assert_int_equal(backlog_capacity_bytes(root), 100 * MIB);
	put_file(root, "proc/meminfo", "MemAvailable: 10 kB\n");
	assert_int_equal(backlog_capacity_bytes(root), 4 * MIB);
	put_file(root, "proc/meminfo", "");
	assert_int_equal(backlog_capacity_bytes(root), 512 * MIB);
}

static void of_cgroups(void **state)
{
	(void)state;
	put_file(root, "proc/self/cgroup", "0::/a/b\n");
	assert_int_equal(backlog_capacity_bytes(root), 512 * MIB);
	put_file(root, "sys/fs/cgroup/a/b/memory.max", "max\n");
	put_file(root, "sys/fs/cgroup/a/memory.max", "104857600\n"); /* 100 MiB */
	assert_int_equal(backlog_capacity_bytes(root), 25 * MIB);
	/* the page cache gives way */
	put_file(root, "sys/fs/cgroup/a/memory.stat",
		"anon 41943040\nfile 62914560\nshmem 20971520\n");
	assert_int_equal(backlog_capacity_bytes(root), 10 * MIB);
	put_file(root, "sys/fs/cgroup/a/memory.stat", "anon 204857600\n");
	assert_int_equal(backlog_capacity_bytes(root), 4 * MIB);
}

static void of_older_cgroups(void **state)
{
	(void)state;
	put_file(root, "proc/self/cgroup", "9:cpu:/x\n5:memory:/docker/x\n0::/\n");
	put_file(root, "sys/fs/cgroup/memory/memory.limit_in_bytes", "83886080\n");
	put_file(root, "sys/fs/cgroup/memory/memory.stat",
		"rss 1\ntotal_rss 41943040\ntotal_cache 9\n");
	assert_int_equal(backlog_capacity_bytes(root), 10 * MIB);
}

static void of_the_address_space(void **state)
{
	struct rlimit before, small;
	(void)state;

	assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
	small = before;
	small.rlim_cur = 1000 * 4096 + (1024 << 20);
	assert_int_equal(setrlimit(RLIMIT_AS, &small), 0);
	uint64_t bytes = backlog_capacity_bytes(root);
	assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
	assert_int_equal(bytes, 256 * MIB);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(of_the_machine),
		TEST(of_cgroups),
		TEST(of_older_cgroups),
		TEST(of_the_address_space),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
