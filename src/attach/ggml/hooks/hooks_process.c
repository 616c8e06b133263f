/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hooks of dlopen(), dlclose() and fork(). ggml opens and closes its backends, and programs open
 * libraries that contain ggml. After dlclose() another library may lie at the same address, so
 * functions found there are forgotten before a hook can use them. After dlopen() the library may
 * have to be patched before the program calls it. A name without a path is left to the dynamic
 * linker: if we opened it, the search would use our paths, not the caller's. A fork holds all
 * locks, and the child forgets the parent's state.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "attach/common/filter_guard.h"
#include "attach/ggml/devices/backend_table.h"
#include "attach/ggml/devices/device_graph.h"
#include "attach/ggml/graphs/device_nodes.h"
#include "attach/ggml/hooks/ggml_hooks.h"
#include "attach/ggml/graphs/known_graphs.h"
#include "attach/ggml/engine/loader.h"
#include "attach/ggml/nodes/method.h"
#include "attach/ggml/nodes/node_text.h"
#include "attach/ggml/graphs/node_ready.h"
#include "attach/ggml/nodes/site_table.h"
#include "attach/ggml/nodes/slots.h"
#include "attach/ggml/engine/patched.h"
#include "attach/ggml/engine/resolve.h"
#include "attach/ggml/steps/contexts.h"
#include "attach/ggml/steps/engine_buffers.h"
#include "attach/ggml/steps/phases.h"
#include "base/lock.h"
#include "base/scope.h"
#include "brick/export.h"
#include "lib/sys/environment.h"
#include "lib/sys/interpose.h"

BRICK_API int dlclose(void *handle);
int dlclose(void *handle)
{
	int status = loader_close(handle);

	resolve_after_unload();
	return status;
}

static struct patch_wish *wishes; /* by enum ggml_symbol_id; made once */

/*
 * Our own hooks, by our own handle: a program that exports functions of these names comes first. No
 * lock is held meanwhile, pthread_once()'s neither, since this asks the dynamic linker: where two
 * threads make the list, the first is used.
 */
static const struct patch_wish *make_wishes(void)
{
	struct patch_wish *list = calloc(GGML_SYMBOL_COUNT, sizeof(*list)), *first = NULL;
	struct patch_name names[GGML_SYMBOL_COUNT];
	Dl_info info;
	void *self = list && dladdr((void *)&make_wishes, &info)
			     ? loader_open(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD)
			     : NULL;

	ggml_symbols_names(names);
	for (int i = 0; list && i < GGML_SYMBOL_COUNT; i++) {
		bool is_wanted = ggml_symbols[i].use != GGML_FOR_NODES || method_may_be_nodes();
		list[i] = (struct patch_wish){.of = names[i],
			.hook = self && is_wanted ? dlsym(self, names[i].name) : NULL,
			.tell = (char *)&patched_told - (char *)__builtin_thread_pointer()};
		if (!list[i].hook && is_wanted)
			dlerror();
	}
	if (!list)
		return NULL;
	/* The hooks of the hot path go by their caller, which is never us. */
	list[GGML_NODE_FORWARD].tell = list[GGML_FUSED_FORWARD].tell = 0;
	list[GGML_BARRIER].tell = list[GGML_IS_EMPTY].tell = 0;
	list[GGML_COMPUTE_FORWARD].tell = 0;
	list[GGML_BARRIER].hook_from = (void *)hook_barrier_from;
	list[GGML_IS_EMPTY].hook_from = (void *)hook_is_empty_from;
	if (__atomic_compare_exchange_n(
		    &wishes, &first, list, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return list;
	free(list);
	return first;
}

/* NULL: there is no memory for them, and nothing is patched. */
static const struct patch_wish *all_wishes(void)
{
	const struct patch_wish *made = __atomic_load_n(&wishes, __ATOMIC_ACQUIRE);

	return made ? made : make_wishes();
}

/* Is this process recorded, so that patching makes sense? */
static bool hooks_process_is_recorded(void)
{
	const char *directory = brick__environment("BRICK_SESSION_DIR");

	return directory && *directory;
}

/*
 * The largest number of a thread here; the kernel gives newer threads larger ones, until it begins
 * anew. LONG_MAX: it cannot be read.
 */
static long newest_thread(void)
{
	DIR *list = opendir("/proc/self/task");
	struct dirent *entry;
	long newest = list ? 0 : LONG_MAX;

	while (list && (entry = readdir(list))) {
		long number = strtol(entry->d_name, NULL, 10);
		newest = number > newest ? number : newest;
	}
	if (list)
		closedir(list);
	return newest;
}

/* Constructors of libraries that the program is linked with may have started threads. */
static bool has_threads(void)
{
	struct stat tasks;

	return !stat("/proc/self/task", &tasks) && tasks.st_nlink > 3;
}

/* All that the program was linked with is in place; of its own code nothing has run. */
__attribute__((constructor)) static void hooks_process_look_first(void)
{
	if (hooks_process_is_recorded() && !filter_guard_is_on())
		patched_look(all_wishes(), has_threads());
}

static const char *hooks_process_prepare(struct brick_enter_control *control)
{
	const struct patch_wish *list = all_wishes();

	resolve_after_unload();
	if (!list)
		return "it has no memory left";
	return patched_enter(list, control) ? NULL : "none of its functions of ggml can be patched";
}

/* A thread of ours calls it in a process that runs already. directory: the recorder's. */
BRICK_API void brick_enter(const char *directory);
void brick_enter(const char *directory)
{
	static const struct entry_engine engine = {.prepare = hooks_process_prepare};

	entry_serve(directory, &engine);
}

static uint32_t opening, opened; /* calls of dlopen() that have not returned; all so far */
static __thread uint32_t own_opening, own_opened; /* of these, the thread's own */

void *ggml_dlopen_choose(const char *path, int flags);

/* The library, patched if need be; NULL: it is up to the dynamic linker. */
__attribute__((visibility("hidden"))) void *ggml_dlopen_choose(const char *path, int flags)
{
	loader_ready();
	if (!path || !strchr(path, '/') || strchr(path, '$') || (flags & RTLD_NOLOAD) ||
		!hooks_process_is_recorded() || filter_guard_is_on())
		return NULL;
	uint32_t around = __atomic_fetch_add(&opening, 1, __ATOMIC_ACQ_REL);
	uint32_t beside = around - own_opening++;
	uint32_t before = __atomic_add_fetch(&opened, 1, __ATOMIC_ACQ_REL) - ++own_opened;
	/* within another dlopen() a library is there whose constructors run: it is new, too */
	if (!around)
		patched_look(NULL, false);
	long newest = newest_thread();
	void *handle = loader_open(path, flags);
	/* another thread that has got the library, too, may run it already, or one that its
	 * constructors started; this one is in dlopen() and nowhere near a function's beginning */
	bool is_live = beside ||
		       __atomic_load_n(&opened, __ATOMIC_ACQUIRE) - own_opened != before ||
		       newest == LONG_MAX || newest_thread() > newest;
	if (handle)
		patched_look(all_wishes(), is_live);
	own_opening--;
	__atomic_fetch_sub(&opening, 1, __ATOMIC_ACQ_REL);
	return handle;
}

SYS_INTERPOSE(dlopen, ggml_dlopen_choose, loader_real_dlopen);

/*
 * What programs call by a name in C may be anybody's function, of any prototype: llama_decode() may
 * belong to a codec. What lies in no engine is called through as if we were not there. NULL: to our
 * hook, which finds the function again.
 */
static void *hooks_process_choose(enum ggml_symbol_id symbol, const void *caller)
{
	static void *proved[GGML_SYMBOL_COUNT]; /* last */
	KEEP_ERRNO();
	void *told = patched_told, *function = told ? told : resolve(symbol, caller);

	if (!function || __atomic_load_n(&proved[symbol], __ATOMIC_RELAXED) == function)
		return NULL;
	if ((told || patched_is_engine(function)) && contexts_are_of(function)) {
		__atomic_store_n(&proved[symbol], function, __ATOMIC_RELAXED);
		return NULL;
	}
	patched_told = NULL;
	return function;
}

#define PROVE_IN_PROGRAM(id, symbol)                                                         \
	__attribute__((visibility("hidden"))) void *choose_##id(const void *caller) __asm__( \
		SYS_CHOICE(symbol));                                                         \
	void *choose_##id(const void *caller)                                                \
	{                                                                                    \
		return hooks_process_choose(GGML_##id, caller);                              \
	}                                                                                    \
	SYS_PROVED(symbol);
#define PROVE_IN_LLAMA(id, symbol)
#define PROVE_IN_BASE(id, symbol)
#define PROVE_IN_CPU(id, symbol)
#define PROVE_IN_DEVICE(id, symbol)
#define PROVE(kind, id, symbol, library, use, need, phase, gives) PROVE_IN_##library(id, symbol)

GGML_SYMBOLS(PROVE)

/* What programs and engines reach in the place of these functions. */
#define STUB_TYPED(id, name)
#define STUB_WORDS(id, name) SYS_HOOKED(name, "hook_" #id);
#define STUB_PHASE STUB_WORDS
#define STUB_WAIT STUB_WORDS
#define STUB_HIDDEN STUB_WORDS
#define STUB_STACK STUB_WORDS
#define STUB(kind, id, symbol, library, use, need, phase, gives) \
	STUB_##kind(id, HOOK_NAME_IN_##library(symbol))

GGML_SYMBOLS(STUB)

/* In the order in which a thread may take them. */
static pthread_mutex_t *const mutexes[] = {&slots_off_mutex, &backend_table_mutex,
	&known_graphs_mutex, &site_table_mutex, &given_names_mutex, &resolve_mutex, &slots_mutex,
	&device_nodes_mutex, &patched_mutex, &engine_buffers_mutex, &node_memory_mutex};

enum { MUTEXES = sizeof(mutexes) / sizeof(*mutexes) };

static void lock_all(void)
{
	for (int i = 0; i < MUTEXES; i++)
		lock_take(mutexes[i]);
}

static void unlock_all(void)
{
	for (int i = MUTEXES; i-- > 0;)
		lock_give(mutexes[i]);
}

static void unlock_in_child(void)
{
	node_thread.open = 0; /* its time was the parent's */
	node_thread.event_count = 0;
	node_thread.run_from = node_thread.run;
	node_thread.on_device = 0;
	phase_forget();
	device_graph_forget();
	brick_launch_owner_set(NULL);
	unlock_all();
}

__attribute__((constructor)) static void watch_forks(void)
{
	pthread_atfork(lock_all, unlock_all, unlock_in_child);
}
