/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests of runs with digests: two recordings, and how to load them.
 */
#pragma once

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "analysis/diverge/diverge.h"
#include "brick/brick.h"
#include "tests/unit/peek.h"
#include "trace/load.h"

static char file_room[] = "/tmp/brick-digest-XXXXXX", file_a[64], file_b[64];

static inline int make_names(void **state)
{
	(void)state;
	if (!mkdtemp(file_room))
		return -1;
	snprintf(file_a, sizeof file_a, "%s/a.pftrace", file_room);
	snprintf(file_b, sizeof file_b, "%s/b.pftrace", file_room);
	return 0;
}

static inline int remove_files(void **state)
{
	(void)state;
	unlink(file_a);
	unlink(file_b);
	return rmdir(file_room);
}

static inline struct run *load(const char *path)
{
	struct load_error error;
	struct run *run;

	assert_int_equal(run_load(&run, path, &error), 0);
	assert_int_equal(run->bad_packets, 0);
	return run;
}
