/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing code (patch_text.h). The kernel writes it through /proc/self/mem, and the page's
 * protection does not change. If the kernel refuses, the page is writable, but not executable, for
 * a moment. A live page is instead replaced by a page with the same bytes that has a second,
 * writable mapping.
 */
#include "attach/patch/patch_text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/membarrier.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/scope.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

enum { MAX_ALIASES = 64 };

static struct alias {
	uintptr_t page;
	uint8_t *writable;
	pid_t owner;
} patch_text_aliases[MAX_ALIASES];

static void *patch_text_take(uintptr_t at, size_t code_bytes, size_t data_bytes)
{
	size_t bytes = code_bytes + data_bytes;
	void *memory = mmap((void *)at, bytes, PROT_READ | PROT_EXEC,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if (memory == MAP_FAILED)
		return NULL;
	if (memory == (void *)at &&
		!mprotect((char *)memory + code_bytes, data_bytes, PROT_READ | PROT_WRITE))
		return memory;
	munmap(memory, bytes);
	return NULL;
}

/* Goes through all gaps between mappings; a page is left free on both sides. */
void *text_near(uintptr_t low, size_t bytes, uint64_t reach, size_t code_bytes, size_t data_bytes)
{
	KEEP_ERRNO();
	uintptr_t begin, end, last = 1 << 20, high = low + bytes;
	size_t wanted = code_bytes + data_bytes;
	FILE *maps = fopen("/proc/self/maps", "re");
	void *memory = NULL;
	char line[512];

	while (maps && !memory && fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &begin, &end) != 2)
			continue;
		uintptr_t from = last, to = begin - TEXT_PAGE;
		last = end + TEXT_PAGE;
		if (to < from || to - from < wanted)
			continue;
		uintptr_t at = to <= low ? to - wanted : from; /* the nearest place in the gap */
		uintptr_t span_end = at + wanted > high ? at + wanted : high;
		if (at && span_end - (at < low ? at : low) < reach)
			memory = patch_text_take(at, code_bytes, data_bytes);
	}
	if (maps)
		fclose(maps);
	return memory;
}

static int write_by_kernel(uintptr_t address, const void *bytes, size_t count)
{
	int fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	ssize_t n = pwrite(fd, bytes, count, (off_t)address);
	int error = n == (ssize_t)count ? 0 : n < 0 ? -errno : -EIO;
	close(fd);
	return error;
}

static int write_by_turns(uintptr_t address, const void *bytes, size_t count)
{
	uintptr_t page = address & ~(uintptr_t)(TEXT_PAGE - 1);
	size_t span = address + count - page;

	if (mprotect((void *)page, span, PROT_READ | PROT_WRITE))
		return -errno;
	memcpy((void *)address, bytes, count);
	return mprotect((void *)page, span, PROT_READ | PROT_EXEC) ? -errno : 0;
}

int text_write(uintptr_t address, const void *bytes, size_t count)
{
	KEEP_ERRNO();
	int error = write_by_kernel(address, bytes, count);

	if (error)
		error = write_by_turns(address, bytes, count);
	__builtin___clear_cache((char *)address, (char *)address + count);
	return error;
}

/* A second, writable mapping of a page of code, which becomes one of a file in memory. */
static uint8_t *make_alias(uintptr_t page)
{
	int fd = (int)syscall(SYS_memfd_create, "brick-patch", 1u /* MFD_CLOEXEC */);
	void *writable = MAP_FAILED;

	if (fd < 0)
		return NULL;
	if (pwrite(fd, (const void *)page, TEXT_PAGE, 0) == TEXT_PAGE)
		writable = mmap(NULL, TEXT_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (writable != MAP_FAILED && mmap((void *)page, TEXT_PAGE, PROT_READ | PROT_EXEC,
					      MAP_PRIVATE | MAP_FIXED, fd, 0) == MAP_FAILED) {
		munmap(writable, TEXT_PAGE);
		writable = MAP_FAILED;
	}
	close(fd);
	return writable == MAP_FAILED ? NULL : writable;
}

static uint8_t *find_alias(uintptr_t page)
{
	for (int i = 0; i < MAX_ALIASES; i++) {
		struct alias *a = &patch_text_aliases[i];
		if (a->page == page)
			return a->owner == getpid() ? a->writable : NULL;
		if (a->page)
			continue;
		a->writable = make_alias(page);
		a->page = a->writable ? page : 0;
		a->owner = getpid();
		return a->writable;
	}
	return NULL;
}

/* Waits until no CPU runs instructions that it had fetched before. */
static int synchronize(void)
{
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0) == 0)
		return 0;
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0) ||
		syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0))
		return -errno;
	return 0;
}

int text_write_live(uintptr_t address, const void *bytes, size_t count)
{
	int saved = errno, error = -EBUSY;
	uintptr_t page = address & ~(uintptr_t)(TEXT_PAGE - 1), at = address % TEXT_WORD;
	uint64_t word;

	if (at + count > TEXT_WORD)
		return -EBUSY;
	error = synchronize(); /* not to be had: nothing is written */
	uint8_t *writable = error ? NULL : find_alias(page);
	if (writable) {
		uint64_t *to = (uint64_t *)(void *)(writable + (address - page - at));
		word = __atomic_load_n(to, __ATOMIC_RELAXED);
		memcpy((uint8_t *)&word + at, bytes, count);
		__atomic_store_n(to, word, __ATOMIC_SEQ_CST);
		error = synchronize();
	} else if (!error) {
		error = -EBUSY;
	}
	errno = saved;
	return error;
}
