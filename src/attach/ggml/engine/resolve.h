/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding the function that a hook stands in front of: the one that the caller would have reached
 * without us. RTLD_NEXT does not find libraries that were loaded RTLD_LOCAL, so it is looked up
 * from the object that the call came from. Several copies of an engine may live in one process, be
 * unloaded, and be replaced by others at the same address: whatever is found is good for calls from
 * one range of addresses in one generation. Any thread.
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

/* Where calls from one object lead. Immutable but for its generation. */
struct resolve_way {
	const struct resolve_way *next;
	uintptr_t low, bytes;
	void *function;
	uint32_t generation;
};

/* By symbol: where calls of it lead. Ways are only ever added. */
extern const struct resolve_way *resolve_ways[GGML_SYMBOL_COUNT];

/*
 * Objects may have been unloaded: if any was, what was found before may be gone, too, and
 * attach_shared.resolve_generation grows.
 */
void resolve_after_unload(void);

/* The function that a call of symbol from this address means; NULL if there is none but ours. */
void *resolve_slow(enum ggml_symbol_id symbol, uintptr_t caller);

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

/* The object that an address lies in; for inner code, that of the patched function. 0: none. */
bool resolve_object(uintptr_t address, struct loaded_object *object);

/*
 * The definition of a symbol that code in that object would reach without us. hooked: other
 * interposers that stand in front of our hook are left out, too. NULL: not there.
 */
void *resolve_from(const struct loaded_object *object, const char *name, bool hooked);

/*
 * The same into a pointer to a function, which has the size of data pointers wherever there is
 * dlsym().
 */
#define RESOLVE(field, object, name, hooked)                                \
	do {                                                                \
		void *function_ = resolve_from((object), (name), (hooked)); \
		memcpy(&(field), &function_, sizeof(function_));            \
	} while (0)

/* Is there any definition of a symbol besides ours in what is loaded now? */
bool resolve_exists(enum ggml_symbol_id symbol);

extern pthread_mutex_t resolve_mutex; /* held over forks */
