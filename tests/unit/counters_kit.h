/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests of counters: a double of the kernel's counters, which moves when it is read.
 */
#pragma once

#include <errno.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>
#include "analysis/accounts/counter_accounts.h"
#include "brick/brick.h"
#include "lib/probe/counter_events.h"
#include "lib/sys/perf.h"
#include "tests/unit/run_builder.h"
#include "trace/load.h"

/* The double: descriptors 100 + config for hardware, each with the one page. */
static struct perf_event_mmap_page page;
static uint64_t hardware_counter, ticking, by_descriptor[3];
static uint32_t last_index;
static int hardware_error, software_error, kernel_error, level, changes, reads, opens;
static bool is_taken; /* the program has closed the descriptors, and uses their numbers */

static inline int fake_open(uint32_t type, uint64_t config, int exclude_kernel)
{
	int error = type == PERF_TYPE_HARDWARE ? hardware_error : software_error;
	if (!error && !exclude_kernel)
		error = kernel_error;
	opens += !error;
	return error ? error : 100 + (int)config;
}

static inline void *fake_map(int fd)
{
	return &page;
}

static inline int fake_read(int fd, uint64_t words[3])
{
	reads++;
	memcpy(words, by_descriptor, sizeof by_descriptor);
	return 0;
}

static inline uint64_t fake_id(int fd)
{
	return is_taken ? 0 : (uint64_t)fd;
}

static inline void fake_close(int fd, void *mapped)
{
	opens -= fd >= 0;
}

/* The kernel moves the thread while its counter is read: everything changes. */
static inline uint64_t fake_rdpmc(uint32_t index)
{
	uint64_t value = hardware_counter;
	last_index = index;
	hardware_counter += ticking;
	if (changes > 0) {
		changes--;
		page.lock += 2;
		page.offset += 1000;
		page.index = 3;
		hardware_counter = 7;
	}
	return value;
}

static inline int fake_paranoid(void)
{
	return level;
}

static const struct brick__perf_system fake = {
	fake_open, fake_map, fake_read, fake_id, fake_close, fake_rdpmc, fake_paranoid};
static const struct brick__perf_system *real;

static inline int use_fake(void **state)
{
	real = brick__perf_system;
	brick__perf_system = &fake;
	memset(&page, 0, sizeof page);
	page.cap_user_rdpmc = 1;
	page.index = 1;
	page.pmc_width = 48;
	page.time_enabled = page.time_running = 500;
	hardware_counter = ticking = 0;
	hardware_error = software_error = kernel_error = changes = reads = opens = 0;
	is_taken = false;
	return 0;
}

static inline int use_real(void **state)
{
	brick__perf_system = real;
	return 0;
}
