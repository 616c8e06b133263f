/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perf_event_open(2). Hardware events count user space only; software events count the kernel's
 * part where that is allowed, and all but context switches do without it. The page's protocol is
 * that of struct perf_event_mmap_page in linux/perf_event.h: a sequence lock, a base, and the
 * index and width of the hardware counter that holds the rest.
 */
#include "lib/sys/perf.h"

#include <errno.h>
#include <stdbool.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/descriptor.h"
#include "base/file.h"
#include "base/scope.h"
#include "brick/counters.h"
#include "lib/sys/confined.h"

enum { PAGE_TRIES = 64, COUNTER_BITS = 64 };

static int system_open(uint32_t type, uint64_t config, int exclude_kernel)
{
	struct perf_event_attr attr = {
		.type = type,
		.size = sizeof(attr),
		.config = config,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
		.exclude_kernel = (unsigned)exclude_kernel & 1,
		.exclude_hv = 1,
	};
	KEEP_ERRNO();

	if (brick__sys_is_confined())
		return -EPERM;
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return -errno;
	return fd < DESCRIPTOR_STREAMS ? descriptor_raise(fd) : fd;
}

static uint64_t system_id(int fd)
{
	KEEP_ERRNO();
	uint64_t id = 0;

	return brick__sys_is_confined() || ioctl(fd, PERF_EVENT_IOC_ID, &id) ? 0 : id;
}

static void *system_map(int fd)
{
	KEEP_ERRNO();
	void *page = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED, fd, 0);

	return page == MAP_FAILED ? NULL : page;
}

static int system_read(int fd, uint64_t words[3])
{
	KEEP_ERRNO();

	if (brick__sys_is_confined())
		return -EPERM;
	ssize_t n = read(fd, words, 3 * sizeof(*words));
	int result = n < 0 ? -errno : n == 3 * (ssize_t)sizeof(*words) ? 0 : -EIO;

	return result;
}

static void system_close(int fd, void *page)
{
	KEEP_ERRNO();

	if (page)
		munmap(page, (size_t)sysconf(_SC_PAGESIZE));
	if (fd >= 0)
		close(fd);
}

#if defined(__x86_64__)
static uint64_t system_rdpmc(uint32_t index)
{
	uint32_t low, high;

	__asm__ __volatile__("rdpmc" : "=a"(low), "=d"(high) : "c"(index));
	return (uint64_t)high << 32 | low;
}
#define RDPMC system_rdpmc
#else
#define RDPMC NULL
#endif

static int system_paranoid(void)
{
	KEEP_ERRNO();
	char text[16];

	return file_begin("/proc/sys/kernel/perf_event_paranoid", text, sizeof(text)) ? atoi(text)
										      : -1;
}

static const struct brick__perf_system perf_real = {
	system_open, system_map, system_read, system_id, system_close, RDPMC, system_paranoid};
const struct brick__perf_system *brick__perf_system = &perf_real;

static const struct {
	uint32_t type;
	uint64_t config;
} perf_events[BRICK_COUNTER_KINDS] = {
	[BRICK_COUNTER_CYCLES] = {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
	[BRICK_COUNTER_INSTRUCTIONS] = {PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
	[BRICK_COUNTER_CACHE_MISSES] = {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
	[BRICK_COUNTER_TASK_CLOCK] = {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK},
	[BRICK_COUNTER_PAGE_FAULTS] = {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
	[BRICK_COUNTER_CONTEXT_SWITCHES] = {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES},
};

static bool is_denied(int error)
{
	return error == -EACCES || error == -EPERM;
}

int brick__perf_open(struct brick__perf *perf, uint32_t kind)
{
	const struct brick__perf_system *system = brick__perf_system;

	*perf = (struct brick__perf){.fd = -1};
	if (kind >= BRICK_COUNTER_KINDS)
		return -EINVAL;
	int hardware = perf_events[kind].type == PERF_TYPE_HARDWARE;
	int fd = system->open(perf_events[kind].type, perf_events[kind].config, hardware);
	/* A context switch happens in the kernel: without that part there would be none. */
	if (is_denied(fd) && !hardware && kind != BRICK_COUNTER_CONTEXT_SWITCHES)
		fd = system->open(perf_events[kind].type, perf_events[kind].config, 1);
	if (fd < 0)
		return fd;
	*perf = (struct brick__perf){fd, system->id(fd), hardware ? system->map(fd) : NULL};
	return 0;
}

static bool perf_is_open(const struct brick__perf *perf)
{
	return perf->fd >= 0 && perf->id && brick__perf_system->id(perf->fd) == perf->id;
}

void brick__perf_close(struct brick__perf *perf)
{
	if (perf->fd >= 0)
		brick__perf_system->close(perf_is_open(perf) ? perf->fd : -1, perf->page);
	*perf = (struct brick__perf){.fd = -1};
}

int brick__perf_read(const struct brick__perf *perf, struct brick__perf_reading *reading)
{
	uint64_t words[3] = {0};
	int error = perf_is_open(perf) ? brick__perf_system->read(perf->fd, words) : -EBADF;

	*reading = (struct brick__perf_reading){words[0], words[1], words[2]};
	return error;
}

/* What the hardware counter holds beyond the base: as wide as the page says, and signed. */
static uint64_t beyond_base(uint32_t index, uint32_t width)
{
	uint64_t raw = brick__perf_system->rdpmc(index - 1);
	uint32_t shift = COUNTER_BITS - width;

	return (uint64_t)((int64_t)(raw << shift) >> shift);
}

/* One attempt; 0: the kernel was changing the page. */
static int read_once(const volatile struct perf_event_mmap_page *page,
	struct brick__perf_reading *reading, int *error)
{
	uint32_t sequence = page->lock;

	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	uint32_t index = page->index, width = page->pmc_width;
	uint64_t value = (uint64_t)page->offset;
	reading->enabled_ns = page->time_enabled;
	reading->running_ns = page->time_running;
	*error = 0;
	if (!page->cap_user_rdpmc || !index || !width || width > COUNTER_BITS)
		*error = -EAGAIN;
	else
		value += beyond_base(index, width);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	reading->value = value;
	return page->lock == sequence && !(sequence & 1);
}

int brick__perf_read_page(const struct brick__perf *perf, struct brick__perf_reading *reading)
{
	int error = -EAGAIN;

	*reading = (struct brick__perf_reading){0, 0, 0};
	if (!perf->page || !brick__perf_system->rdpmc)
		return -EAGAIN;
	for (int i = 0; i < PAGE_TRIES; i++)
		if (read_once(perf->page, reading, &error))
			return error;
	return -EAGAIN;
}

void brick__perf_reason(uint32_t kind, int error, char *reason, size_t bytes)
{
	int level = brick__perf_system->paranoid(), hardware = 0;
	char number[16] = "unknown";

	if (kind < BRICK_COUNTER_KINDS)
		hardware = perf_events[kind].type == PERF_TYPE_HARDWARE;
	if (level >= -1)
		snprintf(number, sizeof(number), "%d", level);
	if (is_denied(error) && kind == BRICK_COUNTER_CONTEXT_SWITCHES)
		snprintf(reason, bytes,
			"counting what happens in the kernel is not allowed "
			"(kernel.perf_event_paranoid is %s, 1 or CAP_PERFMON would do)",
			number);
	else if (is_denied(error))
		snprintf(reason, bytes,
			"the kernel or a seccomp filter does not let this process count "
			"(kernel.perf_event_paranoid is %s, 2 or CAP_PERFMON would do)",
			number);
	else if ((error == -ENOENT || error == -EOPNOTSUPP || error == -ENODEV) && hardware)
		snprintf(reason, bytes,
			"this CPU, or the virtual machine, offers no such hardware counter");
	else if (error == -ENOSYS)
		snprintf(reason, bytes,
			"the kernel has no perf_event, or a seccomp filter hides it");
	else if (error == -EMFILE || error == -ENFILE)
		snprintf(reason, bytes, "too many files are open");
	else if (error == -E2BIG)
		snprintf(reason, bytes, "too many threads: each takes an event on each CPU");
	else
		snprintf(reason, bytes, "perf_event_open: %s", strerror(-error));
}
