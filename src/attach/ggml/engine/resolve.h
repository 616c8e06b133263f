/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the function that a hook stands in front of: the function that the caller would have
 * reached without Brick. RTLD_NEXT does not find libraries that were loaded RTLD_LOCAL, so the
 * search begins at the object that the call came from. A process may have several copies of an
 * engine, unload them, and load others at the same addresses: a result holds for calls from one
 * range of addresses in one generation. Any thread.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "attach/common/object.h"
#include "attach/ggml/engine/patched.h"
#include "attach/ggml/engine/ggml_shared.h"
#include "attach/rules/ggml_symbols.h"

/*
 * How most hooks call what they stand in front of: six integer registers in, two out, which fits
 * every function whose arguments and result are integers, pointers and references.
 */
typedef uintptr_t word;
typedef unsigned __int128 word_pair;
typedef word_pair (*words_fn)(word, word, word, word, word, word);

/* The function that calls from one object lead to. Never freed; only `generation` changes. */
struct resolve_way {
	const struct resolve_way *next;
	uintptr_t low, bytes; /* of the calling object */
	void *function;
	uint32_t generation;
};

/* By symbol: a list of ways, newest first. Ways are only added. */
extern const struct resolve_way *resolve_ways[GGML_SYMBOL_COUNT];

/*
 * Call it after objects may have been unloaded. If any was, attach_shared.resolve_generation grows,
 * and patched code of unloaded objects is forgotten.
 */
void resolve_after_unload(void);

/* Look the function up, and remember it. NULL: no object but ours defines it. */
void *resolve_slow(enum ggml_symbol_id symbol, uintptr_t caller);

/*
 * The function that a call of the symbol by a caller with this return address is meant for; NULL:
 * none. A hook calls it before anything else, as it takes patched_told (patched.h).
 */
static inline void *resolve(enum ggml_symbol_id symbol, const void *return_address)
{
	uintptr_t caller = (uintptr_t)return_address;
	void *told = patched_told;

	if (told) {
		patched_told = NULL;
		return told;
	}
	const struct resolve_way *way = __atomic_load_n(&resolve_ways[symbol], __ATOMIC_ACQUIRE);

	for (; way; way = way->next)
		if (caller - way->low < way->bytes &&
			__atomic_load_n(&way->generation, __ATOMIC_RELAXED) ==
				shared_get(&attach_shared.resolve_generation))
			return way->function;
	return resolve_slow(symbol, caller);
}

/* The object of an address; for inner code, the patched function's object. False: none. */
bool resolve_object(uintptr_t address, struct loaded_object *object);

/*
 * The definition of a symbol that code in that object would reach without Brick. hooked: Brick
 * hooks this symbol, so a definition in front of the hook (another interposer, which has called the
 * hook) is not taken. NULL: not there.
 */
void *resolve_from(const struct loaded_object *object, const char *name, bool hooked);

/*
 * Put the result into a pointer to a function, by memcpy(): C has no cast for that, but wherever
 * there is dlsym() both kinds of pointers have one size.
 */
#define RESOLVE(field, object, name, hooked)                                \
	do {                                                                \
		void *function_ = resolve_from((object), (name), (hooked)); \
		memcpy(&(field), &function_, sizeof(function_));            \
	} while (0)

/* Does any loaded object besides ours define the symbol, exported or patched? */
bool resolve_exists(enum ggml_symbol_id symbol);

extern pthread_mutex_t resolve_mutex; /* held over forks */
