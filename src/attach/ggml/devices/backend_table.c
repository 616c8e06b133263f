/* SPDX-License-Identifier: Apache-2.0 */
/* Hooks in tables of backends (backend_table.h). An entry is written before its hook can run. */
#include "attach/ggml/devices/backend_table.h"

#include <pthread.h>
#include "base/scope.h"

enum {
	MAX_BACKENDS = 64,
	PLACE_BITS = 5,
	PLACES = 1 << PLACE_BITS, /* in which graph_compute is looked for, in words */
	GRAPH_BYTES = 1024,	  /* an empty graph for the trial calls, longer than any engine's */
};

static struct entry {
	const void *backend;
	words_fn compute, async;
} backends_entries[MAX_BACKENDS];
static uint32_t entry_count;
pthread_mutex_t backend_table_mutex = PTHREAD_MUTEX_INITIALIZER;

/* The answer of a trial call: which of answer_0 and answer_1 was called first; -1: neither yet. */
static __thread int answered __attribute__((tls_model("initial-exec")));

static word_pair answer_0(word a, word b, word c, word d, word e, word f)
{
	(void)a, (void)b, (void)c, (void)d, (void)e, (void)f;
	if (answered < 0)
		answered = 0;
	return 0;
}

static word_pair answer_1(word a, word b, word c, word d, word e, word f)
{
	(void)a, (void)b, (void)c, (void)d, (void)e, (void)f;
	if (answered < 0)
		answered = 1;
	return 0;
}

/*
 * The index of graph_compute in the table: each trial call tells one bit, and a last call confirms
 * them. -1: `async` called nothing, or a place beyond PLACES.
 */
static int backends_find_place(words_fn async)
{
	words_fn table[2 * PLACES];
	word graph[GRAPH_BYTES / sizeof(word)] = {0};
	int place = 0;

	for (int bit = 0; bit < PLACE_BITS; bit++) {
		for (int i = 0; i < 2 * PLACES; i++)
			table[i] = i >> bit & 1 ? answer_1 : answer_0;
		answered = -1;
		async((word)table, (word)graph, 0, 0, 0, 0);
		if (answered < 0)
			return -1;
		place |= answered << bit;
	}
	for (int i = 0; i < 2 * PLACES; i++)
		table[i] = i == place ? answer_1 : answer_0;
	answered = -1;
	async((word)table, (word)graph, 0, 0, 0, 0);
	return answered == 1 ? place : -1;
}

/* Under the lock. An entry with this address may be a freed backend's: it is used again. */
static struct entry *backends_entry_of(const void *backend)
{
	for (uint32_t i = 0; i < entry_count; i++)
		if (backends_entries[i].backend == backend)
			return &backends_entries[i];
	return entry_count < MAX_BACKENDS ? &backends_entries[entry_count] : NULL;
}

bool backend_table_hook(void *backend, words_fn async, words_fn hook)
{
	static words_fn last;
	static int last_place;
	struct loaded_object object;
	words_fn *table = backend;

	HOLD(&backend_table_mutex);
	if (last != async) {
		last_place = backends_find_place(async);
		last = async;
	}
	struct entry *entry = backends_entry_of(backend);
	if (last_place < 0 || !entry)
		return false;
	words_fn compute = table[last_place];
	if (compute == hook)
		return true;
	if (!resolve_object((uintptr_t)compute, &object))
		return false;
	__atomic_store_n(&entry->compute, compute, __ATOMIC_RELAXED);
	__atomic_store_n(&entry->async, async, __ATOMIC_RELAXED);
	__atomic_store_n(&entry->backend, backend, __ATOMIC_RELEASE);
	if (entry == &backends_entries[entry_count])
		__atomic_store_n(&entry_count, entry_count + 1, __ATOMIC_RELEASE);
	__atomic_store_n(&table[last_place], hook, __ATOMIC_RELEASE);
	return true;
}

bool backend_table_of(const void *backend, words_fn *compute, words_fn *async)
{
	uint32_t count = __atomic_load_n(&entry_count, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < count; i++) {
		struct entry *e = &backends_entries[i];
		if (__atomic_load_n(&e->backend, __ATOMIC_ACQUIRE) != backend)
			continue;
		*compute = __atomic_load_n(&e->compute, __ATOMIC_RELAXED);
		*async = __atomic_load_n(&e->async, __ATOMIC_RELAXED);
		return true;
	}
	return false;
}
