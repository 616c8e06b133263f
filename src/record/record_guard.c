/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The SIGBUS handler, and the table of mappings that it may repair. The handler takes no lock: it
 * reads the table and calls mmap(). An address in no entry is a fault of our own, which kills the
 * recorder as usual.
 */
#include "record/record_guard.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/scope.h"

enum { MAX_MAPPINGS = 16384 };

static struct {
	uintptr_t begin; /* 0: free; 1: being filled */
	uintptr_t end;
	uint32_t *fault;
} mappings[MAX_MAPPINGS];
static uint32_t record_guard_used; /* atomic; no entry from here on was ever filled */
static uintptr_t page_bytes;

static int record_guard_add(const void *address, size_t bytes, uint32_t *fault)
{
	for (uint32_t i = 0; i < MAX_MAPPINGS; i++) {
		uintptr_t free = 0;
		if (!__atomic_compare_exchange_n(
			    &mappings[i].begin, &free, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			continue;
		mappings[i].end = (uintptr_t)address + bytes;
		mappings[i].fault = fault;
		__atomic_store_n(&mappings[i].begin, (uintptr_t)address, __ATOMIC_RELEASE);
		uint32_t seen = __atomic_load_n(&record_guard_used, __ATOMIC_RELAXED);
		while (seen < i + 1 && !__atomic_compare_exchange_n(&record_guard_used, &seen,
					       i + 1, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
			;
		return 1;
	}
	return 0;
}

static void remove_mapping(const void *address, size_t bytes)
{
	uint32_t count = __atomic_load_n(&record_guard_used, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < count; i++)
		if (__atomic_load_n(&mappings[i].begin, __ATOMIC_RELAXED) == (uintptr_t)address) {
			__atomic_store_n(&mappings[i].begin, 0, __ATOMIC_RELEASE);
			return;
		}
}

static int repair(uintptr_t address)
{
	uint32_t count = __atomic_load_n(&record_guard_used, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < count; i++) {
		uintptr_t begin = __atomic_load_n(&mappings[i].begin, __ATOMIC_ACQUIRE);
		if (begin <= 1 || address < begin || address >= mappings[i].end)
			continue;
		void *page = (void *)(address & ~(page_bytes - 1));
		if (mmap(page, page_bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
			return 0;
		__atomic_store_n(mappings[i].fault, 1, __ATOMIC_RELAXED);
		return 1;
	}
	return 0;
}

static void on_bus_error(int number, siginfo_t *info, void *context)
{
	KEEP_ERRNO();

	if (!repair((uintptr_t)info->si_addr))
		signal(number, SIG_DFL); /* the access is repeated, and its SIGBUS ends us */
}

int guard_install(void)
{
	struct sigaction action = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO};

	page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
	sigemptyset(&action.sa_mask);
	return sigaction(SIGBUS, &action, NULL) < 0 ? -errno : 0;
}

const struct drain_guard guard_mappings = {record_guard_add, remove_mapping};
