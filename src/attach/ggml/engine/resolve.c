/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding the function that a hook stands in front of (resolve.h). Ways are only added, under the
 * lock, and published complete. After an unload functions are looked up anew; a way whose function
 * is unchanged gets the new generation. Every function keeps errno, and clears dlerror()'s state.
 */
#include "attach/ggml/engine/resolve.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "attach/ggml/engine/loader.h"
#include "base/scope.h"

pthread_mutex_t resolve_mutex = PTHREAD_MUTEX_INITIALIZER;
static unsigned long long unloads_seen;

enum { FIRST_WAYS = 128 }; /* ways with static memory; more than most processes have */

const struct resolve_way *resolve_ways[GGML_SYMBOL_COUNT];

/* True: objects were unloaded since the last call. */
static bool look_for_unloads(void)
{
	unsigned long long now = object_changes().unloads;

	if (now == __atomic_load_n(&unloads_seen, __ATOMIC_RELAXED))
		return false;
	HOLD(&resolve_mutex);
	if (now != unloads_seen) {
		__atomic_store_n(&unloads_seen, now, __ATOMIC_RELAXED);
		resolve_generation_next();
	}
	return true;
}

void resolve_after_unload(void)
{
	if (look_for_unloads())
		patched_forget();
}

bool resolve_object(uintptr_t address, struct loaded_object *object)
{
	return object_at(patched_home(address), object);
}

/* Is this one of our own hooks? */
static bool resolve_is_ours(const void *function)
{
	static uintptr_t low, bytes; /* never change once set: we are never unloaded */
	struct loaded_object self;

	if (!__atomic_load_n(&bytes, __ATOMIC_ACQUIRE)) {
		if (!resolve_object((uintptr_t)&resolve_is_ours, &self))
			return false;
		__atomic_store_n(&low, self.low, __ATOMIC_RELAXED);
		__atomic_store_n(&bytes, self.bytes, __ATOMIC_RELEASE);
	}
	return (uintptr_t)function - low < bytes;
}

static void *resolve_look_up(void *handle, const char *name)
{
	void *function = dlsym(handle, name);

	if (!function)
		dlerror();
	return function;
}

/*
 * A definition that is not ours. hooked: nor the process's first definition. That one is in front
 * of our hook: another interposer, which has called the hook and must not be called back.
 */
static void *look_in(void *handle, const char *name, bool hooked)
{
	void *function = resolve_look_up(handle, name);

	if (!function || resolve_is_ours(function))
		return NULL;
	return hooked && !attach_shared.is_late && function == resolve_look_up(RTLD_DEFAULT, name)
		       ? NULL
		       : function;
}

static void *look_in_file(const char *path, const char *name, bool hooked)
{
	void *handle = loader_open(path, RTLD_LAZY | RTLD_NOLOAD), *function = NULL;

	if (handle) {
		function = look_in(handle, name, hooked);
		loader_close(handle);
	} else {
		dlerror();
	}
	return function;
}

void *resolve_from(const struct loaded_object *object, const char *name, bool hooked)
{
	KEEP_ERRNO();
	void *function = patched_function(object, name);

	if (function)
		return function;
	function = look_in_file(object->path[0] ? object->path : NULL, name, hooked);
	if (!function)
		function = look_in(RTLD_NEXT, name, hooked);
	return patched_inner(function);
}

/* The last resort: a definition in any loaded object. */
static void *look_everywhere(const char *name)
{
	struct object_list list = {0}; /* the dynamic linker may not be called while it iterates */
	void *function = NULL;
	KEEP_ERRNO();

	objects_list(&list);
	for (size_t i = 0; i < list.of.count && !function; i++)
		if (strchr(list.of.items[i].path, '/'))
			function = look_in_file(list.of.items[i].path, name, 1);
	array_fini(&list.of);
	return patched_inner(function);
}

bool resolve_exists(enum ggml_symbol_id symbol)
{
	return patched_has(symbol) || look_everywhere(ggml_symbols[symbol].name) != NULL;
}

/* Under the lock. What was found in an earlier generation is there again if nothing has changed. */
static void resolve_add_way(
	enum ggml_symbol_id symbol, const struct loaded_object *object, void *function)
{
	/*
	 * Ways leave the caches between two steps. So the first ways lie in one array, in the order
	 * in which a step uses them.
	 */
	static struct resolve_way first[FIRST_WAYS] __attribute__((aligned(64)));
	static uint32_t count;
	uint32_t generation = shared_get(&attach_shared.resolve_generation);
	struct resolve_way *way = (struct resolve_way *)resolve_ways[symbol];

	while (way && (way->low != object->low || way->bytes != object->bytes ||
			      way->function != function))
		way = (struct resolve_way *)way->next;
	if (way) {
		__atomic_store_n(&way->generation, generation, __ATOMIC_RELAXED);
		return;
	}
	way = count < FIRST_WAYS ? &first[count++] : malloc(sizeof(*first));
	if (!way)
		return; /* it will be looked up again */
	*way = (struct resolve_way){
		resolve_ways[symbol], object->low, object->bytes, function, generation};
	__atomic_store_n(&resolve_ways[symbol], way, __ATOMIC_RELEASE);
}

void *resolve_slow(enum ggml_symbol_id symbol, uintptr_t caller)
{
	KEEP_ERRNO();
	struct loaded_object object = {0, 0, ""};
	int found = resolve_object(caller, &object);
	void *function = found ? resolve_from(&object, ggml_symbols[symbol].name, 1) : NULL;

	if (!function)
		function = look_everywhere(ggml_symbols[symbol].name);
	if (found && function) {
		HOLD(&resolve_mutex);
		resolve_add_way(symbol, &object, function);
	}
	return function;
}
