/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library to preload: writes a line to the file that LOADER_WATCH names for each call of the
 * dynamic linker by a thread that holds a lock which one of Brick's libraries has taken. Another
 * thread may hold the dynamic linker's lock, in a constructor, and wait for that one.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "brick/export.h"
#include "lib/sys/interpose.h"

enum { LIBRARIES = 32 };

static struct range {
	uintptr_t low, high;
} ours[LIBRARIES];
static unsigned ours_count;
static __thread unsigned held __attribute__((tls_model("initial-exec")));
static __thread const void *held_by __attribute__((tls_model("initial-exec")));
static __thread int is_looking __attribute__((tls_model("initial-exec")));

static struct {
	int (*mutex_lock)(pthread_mutex_t *);
	int (*mutex_trylock)(pthread_mutex_t *);
	int (*mutex_unlock)(pthread_mutex_t *);
	int (*once)(pthread_once_t *, void (*)(void));
	int (*iterate)(int (*)(struct dl_phdr_info *, size_t, void *), void *);
	int (*addr)(const void *, Dl_info *);
	int (*close)(void *);
} real;

__attribute__((visibility("hidden"))) void *watch_real_dlsym, *watch_real_dlopen;

static int add_range(struct dl_phdr_info *info, size_t bytes, void *unused)
{
	const char *name = strrchr(info->dlpi_name, '/');
	struct range r = {UINTPTR_MAX, 0};

	if (!name || strncmp(name, "/libbrick", 9) || ours_count == LIBRARIES)
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t begin = info->dlpi_addr + p->p_vaddr;
		if (p->p_type != PT_LOAD)
			continue;
		r.low = begin < r.low ? begin : r.low;
		r.high = begin + p->p_memsz > r.high ? begin + p->p_memsz : r.high;
	}
	ours[ours_count] = r;
	__atomic_store_n(&ours_count, ours_count + 1, __ATOMIC_RELEASE);
	return 0;
}

#define FIND(member, name) *(void **)&real.member = dlvsym(RTLD_NEXT, name, "GLIBC_2.34")
#define FIND_OLD(member, name) *(void **)&real.member = dlvsym(RTLD_NEXT, name, "GLIBC_2.2.5")

__attribute__((constructor)) static void find_real(void)
{
	if (real.iterate)
		return;
	watch_real_dlsym = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
	watch_real_dlopen = dlvsym(RTLD_NEXT, "dlopen", "GLIBC_2.34");
	FIND(addr, "dladdr");
	FIND(close, "dlclose");
	FIND(once, "pthread_once");
	FIND(mutex_trylock, "pthread_mutex_trylock");
	FIND_OLD(mutex_lock, "pthread_mutex_lock");
	FIND_OLD(mutex_unlock, "pthread_mutex_unlock");
	FIND_OLD(iterate, "dl_iterate_phdr");
	real.iterate(add_range, NULL);
}

static int is_ours(const void *address)
{
	for (unsigned i = 0; i < __atomic_load_n(&ours_count, __ATOMIC_ACQUIRE); i++)
		if ((uintptr_t)address >= ours[i].low && (uintptr_t)address < ours[i].high)
			return 1;
	return 0;
}

static void say(const char *format, const char *what, const void *by, const void *caller)
{
	const char *path = getenv("LOADER_WATCH");
	Dl_info lock = {0}, call = {0};
	char line[1024];
	int fd = path ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600) : -1;

	real.addr(by, &lock);
	real.addr(caller, &call);
	int n = snprintf(line, sizeof line, format, what, lock.dli_fname ? lock.dli_fname : "",
		(size_t)((const char *)by - (const char *)lock.dli_fbase),
		call.dli_fname ? call.dli_fname : "",
		(size_t)((const char *)caller - (const char *)call.dli_fbase));
	if (fd >= 0 && write(fd, line, (size_t)n) != n)
		abort();
	close(fd);
}

static void look(const char *what, const void *caller)
{
	find_real();
	if (!held || is_looking)
		return;
	is_looking = 1;
	say("%s under a lock taken at %s+%#zx, called at %s+%#zx\n", what, held_by, caller);
	is_looking = 0;
}

static int take(int error, const void *caller)
{
	if (!error && is_ours(caller)) {
		held_by = caller;
		held++;
	}
	return error;
}

BRICK_API int pthread_mutex_lock(pthread_mutex_t *mutex)
{
	find_real();
	return take(real.mutex_lock(mutex), __builtin_return_address(0));
}

BRICK_API int pthread_mutex_trylock(pthread_mutex_t *mutex)
{
	find_real();
	return take(real.mutex_trylock(mutex), __builtin_return_address(0));
}

BRICK_API int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	find_real();
	held -= held && is_ours(__builtin_return_address(0));
	return real.mutex_unlock(mutex);
}

BRICK_API int pthread_once(pthread_once_t *once, void (*call)(void))
{
	find_real();
	take(0, __builtin_return_address(0));
	int error = real.once(once, call);
	held -= held && is_ours(__builtin_return_address(0));
	return error;
}

BRICK_API int dl_iterate_phdr(int (*call)(struct dl_phdr_info *, size_t, void *), void *data)
{
	look("dl_iterate_phdr()", __builtin_return_address(0));
	return real.iterate(call, data);
}

BRICK_API int dladdr(const void *address, Dl_info *info)
{
	look("dladdr()", __builtin_return_address(0));
	return real.addr(address, info);
}

BRICK_API int dlclose(void *handle)
{
	look("dlclose()", __builtin_return_address(0));
	return real.close(handle);
}

void *watch_dlsym(void *handle, const char *name);
__attribute__((visibility("hidden"))) void *watch_dlsym(void *handle, const char *name)
{
	look("dlsym()", name);
	return NULL;
}

void *watch_dlopen(const char *path, int flags);
__attribute__((visibility("hidden"))) void *watch_dlopen(const char *path, int flags)
{
	look("dlopen()", path);
	return NULL;
}

SYS_INTERPOSE(dlsym, watch_dlsym, watch_real_dlsym);
SYS_INTERPOSE(dlopen, watch_dlopen, watch_real_dlopen);

/* It is here: a test that sees no line has seen nothing. */
__attribute__((constructor)) static void begin(void)
{
	say("%s%.0s%.0zu%.0s%.0zu", "watching\n", NULL, NULL);
}
