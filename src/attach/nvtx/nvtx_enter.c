/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recorder is in the running process (attach/common/entry.c). NVTX would load a tool at an
 * object's first call only, by a variable that cannot be set in a process that runs. So the data
 * that NVTX keeps in each object is looked for in the object's own data, which is known by a table
 * of addresses within itself, and our functions are written where a tool's would be. NVTX calls
 * what is there, or nothing where NULL is.
 *
 * An object that has not called NVTX yet is initialised in its place. One that has, without a tool,
 * has no functions. One that has a tool's is left alone. Objects are looked at with the dynamic
 * linker's list held: none is unloaded meanwhile. When we leave, each of our functions becomes
 * NULL.
 */
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>
#include "attach/annotate/ranges.h"
#include "attach/common/entry.h"
#include "attach/common/object.h"
#include "attach/nvtx/nvtx_calls.h"
#include "base/scope.h"
#include "brick/brick.h"
#include "lib/sys/environment.h"

enum { WORD = sizeof(uint64_t), PAGE = 4096, BATCH = 512 };

/* So that no child gets the dynamic linker's list held. */
static pthread_mutex_t nvtx_enter_lock = PTHREAD_MUTEX_INITIALIZER;
LOCK_OVER_FORKS(nvtx_enter_lock)

/* By the thread of ours alone. */
static struct {
	bool is_in, has_other; /* the user has set another tool */
	unsigned looks;	       /* that are due, since objects were loaded */
	unsigned long long loads;
	uint32_t taken, late, others; /* objects; late: that were initialised before */
} nvtx_enter;

static bool nvtx_enter_is_globals(const struct nvtx_globals *copy, const struct nvtx_globals *at)
{
	const size_t last = NVTX_SLOTS + 2 * NVTX_TABLES - 2;

	return copy->callbacks.size == sizeof(copy->callbacks) && copy->about_bytes == 24 &&
	       copy->version == 3 && !copy->reserved && copy->state <= NVTX_COMPLETE &&
	       !copy->tables[0] && copy->tables[1] == &at->slots[0] &&
	       copy->tables[last] == &at->slots[NVTX_SLOTS - 1] && !copy->tables[last + 1];
}

enum found { FOUND_NOTHING, FOUND_TAKEN, FOUND_LATE, FOUND_OTHERS };

/* The program may have made the pages constant: the kernel writes two of our words as they are. */
static bool nvtx_enter_is_writable(struct nvtx_globals *g)
{
	uint32_t version = g->version;
	nvtx_function *end = NULL, **last = &g->tables[NVTX_SLOTS + 2 * NVTX_TABLES - 1];
	struct iovec from[] = {{&version, sizeof(version)}, {&end, sizeof(end)}},
		     to[] = {{&g->version, sizeof(version)}, {last, sizeof(end)}};

	return process_vm_writev(getpid(), from, 2, to, 2, 0) == sizeof(version) + sizeof(end);
}

static void nvtx_enter_write(struct nvtx_globals *g)
{
	for (unsigned i = 0; i < NVTX_SLOTS; i++)
		__atomic_store_n(&g->slots[i], nvtx_call_of(i), __ATOMIC_RELEASE);
}

static enum found nvtx_enter_take(struct nvtx_globals *g)
{
	uint32_t state = NVTX_FRESH;
	bool is_free = true, is_there = true;

	if (__atomic_load_n(&g->state, __ATOMIC_ACQUIRE) == NVTX_FRESH && nvtx_enter.has_other)
		return FOUND_OTHERS;
	if (__atomic_compare_exchange_n(
		    &g->state, &state, NVTX_STARTED, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		nvtx_enter_write(g);
		__atomic_store_n(&g->state, NVTX_COMPLETE, __ATOMIC_RELEASE);
		return FOUND_TAKEN;
	}
	if (state == NVTX_STARTED) { /* by a thread of the program, just now */
		nvtx_enter.looks++;
		return FOUND_NOTHING;
	}
	for (unsigned i = 0; i < NVTX_SLOTS; i++) {
		nvtx_function now = __atomic_load_n(&g->slots[i], __ATOMIC_ACQUIRE);
		is_free &= !now || now == nvtx_call_of(i);
		is_there &= now == nvtx_call_of(i);
	}
	if (is_there)
		return FOUND_NOTHING;
	if (!is_free)
		return FOUND_OTHERS;
	nvtx_enter_write(g);
	return FOUND_LATE;
}

/* A thread may have read a function just now, and call it later: it is inert by then. */
static enum found nvtx_enter_give_back(struct nvtx_globals *g)
{
	for (unsigned i = 0; i < NVTX_SLOTS; i++) {
		nvtx_function ours = nvtx_call_of(i);
		if (ours)
			__atomic_compare_exchange_n(&g->slots[i], &ours, NULL, false,
				__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
	}
	return FOUND_NOTHING;
}

typedef enum found (*nvtx_enter_fn)(struct nvtx_globals *g);

struct search {
	nvtx_enter_fn act;
	bool is_fixed;			      /* the object needs no relocation */
	uintptr_t constant_low, constant_end; /* after it was relocated */
	uintptr_t end;			      /* of the segment */
	enum found found;		      /* the most in the object */
};

/* The kernel copies, as the program may have taken rights of the page away. */
static void nvtx_enter_page(struct search *s, uintptr_t low, uintptr_t bytes)
{
	static uint64_t part[2 * PAGE / WORD];
	const uintptr_t ahead = sizeof(struct nvtx_globals) - WORD, end = low + bytes + ahead;
	struct iovec to = {part, sizeof(part)},
		     from = {(void *)low, (end < s->end ? end : s->end) - low};
	ssize_t copied = process_vm_readv(getpid(), &to, 1, &from, 1, 0);

	for (uintptr_t at = 0; (ssize_t)(at + ahead) < copied; at += WORD) {
		struct nvtx_globals *g = (struct nvtx_globals *)(low + at);
		if (!nvtx_enter_is_globals((void *)&part[at / WORD], g) ||
			!nvtx_enter_is_writable(g))
			continue;
		enum found found = s->act(g);
		s->found = found > s->found ? found : s->found;
	}
}

/*
 * The kernel's words on pages, all bits of them where it tells nothing. The file is open for
 * microseconds, as the program may close all that it has.
 */
static void nvtx_enter_pages(uint64_t pages[BATCH], uintptr_t at)
{
	memset(pages, 0xff, BATCH * sizeof(*pages));
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	(void)!pread(fd, pages, BATCH * sizeof(*pages), (off_t)(at / PAGE * sizeof(*pages)));
	close(fd);
}

/*
 * NVTX's data is full of addresses: it is in pages that the dynamic linker has written, which are
 * the file's no longer. Libraries of kernels have hundreds of megabytes that nobody has read.
 */
static void nvtx_enter_segment(struct search *s, uintptr_t low)
{
	enum { WORDS_BEFORE = 2 };
	const uint64_t is_present = UINT64_C(1) << 63, is_swapped = UINT64_C(1) << 62,
		       is_files = UINT64_C(1) << 61;
	static uint64_t pages[BATCH];

	low = (low + WORD - 1) / WORD * WORD;
	for (uintptr_t at = low / PAGE * PAGE, i = 0; at < s->end; at += PAGE, i++) {
		if (i % BATCH == 0)
			nvtx_enter_pages(pages, at);
		uint64_t p = pages[i % BATCH];
		bool is_written = p & is_swapped || (p & is_present && !(p & is_files));
		if ((is_written || s->is_fixed) &&
			(at < s->constant_low || at + PAGE > s->constant_end)) {
			uintptr_t from = at - WORDS_BEFORE * WORD; /* these are no addresses */
			from = from < low ? low : from;
			nvtx_enter_page(s, from, at + PAGE - from);
		}
	}
}

static int nvtx_enter_object(struct dl_phdr_info *info, size_t size, void *search)
{
	struct search *s = search;

	(void)size;
	s->found = FOUND_NOTHING;
	s->is_fixed = !info->dlpi_addr;
	s->constant_low = s->constant_end = 0;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_GNU_RELRO) {
			s->constant_low = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
			s->constant_end = s->constant_low + info->dlpi_phdr[i].p_memsz;
		}
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		s->end = info->dlpi_addr + p->p_vaddr + p->p_filesz;
		if (p->p_type == PT_LOAD && p->p_flags & PF_W)
			nvtx_enter_segment(s, info->dlpi_addr + p->p_vaddr);
	}
	nvtx_enter.taken += s->found == FOUND_TAKEN;
	nvtx_enter.late += s->found == FOUND_LATE;
	nvtx_enter.others += s->found == FOUND_OTHERS;
	return 0;
}

static void nvtx_enter_objects(nvtx_enter_fn act)
{
	struct search search = {.act = act};

	HOLD(&nvtx_enter_lock);
	dl_iterate_phdr(nvtx_enter_object, &search);
}

static void nvtx_enter_tell(void)
{
	char late[128] = "", others[64] = "";

	if (nvtx_enter.late)
		snprintf(late, sizeof(late),
			"; %u of them were in use before, and domains and strings that they "
			"registered then have no names",
			nvtx_enter.late);
	if (nvtx_enter.others)
		snprintf(others, sizeof(others), "; %u have another tool", nvtx_enter.others);
	brick_note("nvtx.entered", "NVTX of %u libraries is recorded%s%s",
		nvtx_enter.taken + nvtx_enter.late, late, others);
}

/* An object that is new in the list may still be relocated: it is looked at some more times. */
static void nvtx_enter_look(void)
{
	enum { LOOKS = 3 };
	unsigned long long loads = object_changes().loads;
	uint32_t before = nvtx_enter.taken + nvtx_enter.late + nvtx_enter.others;

	if (loads != nvtx_enter.loads)
		nvtx_enter.looks = LOOKS;
	nvtx_enter.loads = loads;
	if (!nvtx_enter.looks)
		return;
	nvtx_enter.looks--;
	nvtx_enter_objects(nvtx_enter_take);
	if (nvtx_enter.taken + nvtx_enter.late + nvtx_enter.others != before)
		nvtx_enter_tell();
}

BRICK_API void brick_enter_beside(int what);
void brick_enter_beside(int what)
{
	const char *other = brick__environment("NVTX_INJECTION64_PATH");

	if (what == ENTRY_BESIDE_BEGIN) {
		memset(&nvtx_enter, 0, sizeof(nvtx_enter));
		nvtx_enter.is_in = true;
		nvtx_enter.has_other = other && *other;
		ranges_enter("nvtx");
		nvtx_enter_look();
	} else if (what == ENTRY_BESIDE_LOOK && nvtx_enter.is_in) {
		nvtx_enter_look();
	} else if (what == ENTRY_BESIDE_PAUSE && nvtx_enter.is_in) {
		ranges_end_only();
	} else if (what == ENTRY_BESIDE_LEAVE && nvtx_enter.is_in) {
		nvtx_enter_objects(nvtx_enter_give_back);
		nvtx_enter.is_in = false;
		ranges_leave();
	}
}
