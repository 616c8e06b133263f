/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slots that skip hooks (slots.h). Slots are only written inside of dl_iterate_phdr(), under the
 * dynamic linker's lock, so that the object written to is not being unloaded. slots_mutex is taken
 * within that lock and never around it. A slot that was not called through yet gets the function,
 * as the dynamic linker would set it without Brick. A slot in read-only memory is read-only again
 * after each write; but the slots of plain steps, which are written twice a step, stay writable.
 */
#include "attach/ggml/nodes/slots.h"

#include <elf.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "attach/common/loaded_tables.h"
#include "attach/ggml/engine/resolve.h"
#include "base/array.h"
#include "base/scope.h"

/* A word that holds the address that calls of a symbol from one object go to. */
struct slot {
	uintptr_t *at;
	uintptr_t hook, function; /* the two values that *at has */
	bool is_sealed;		  /* read-only except while it is written */
};

struct slots {
	ARRAY(struct slot) of;
};

/* Change a slot from one address to another. 0: it has a third value, or cannot be written. */
static int lead(const struct slot *s, uintptr_t from, uintptr_t to)
{
	if (s->is_sealed && loaded_page_protect(s->at, PROT_READ | PROT_WRITE))
		return 0;
	int done = __atomic_compare_exchange_n(
		s->at, &from, to, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	if (s->is_sealed)
		loaded_page_protect(s->at, PROT_READ);
	return done;
}

/* Set the slots in one loaded object. Slots of unloaded objects are never written. */
static void lead_all(const struct slots *slots, const struct dl_phdr_info *info, int to_function)
{
	struct loaded_object object;

	object_describe(&object, info);
	for (size_t i = 0; i < slots->of.count; i++) {
		const struct slot *s = &slots->of.items[i];
		if ((uintptr_t)s->at - object.low < object.bytes)
			lead(s, to_function ? s->hook : s->function,
				to_function ? s->function : s->hook);
	}
}

/* A function whose hook is skipped until it is watched. */

static struct skipped {
	enum ggml_symbol_id symbol;
	uintptr_t hook;
	bool is_watched; /* no further slot skips the hook; under slots_mutex */
	bool is_done;	 /* all slots lead to the hook again */
	struct slots slots;
} barrier = {.symbol = GGML_BARRIER}, emptiness = {.symbol = GGML_IS_EMPTY};

pthread_mutex_t slots_mutex = PTHREAD_MUTEX_INITIALIZER;

void slots_init(uintptr_t is_empty_hook, uintptr_t barrier_hook)
{
	emptiness.hook = is_empty_hook;
	barrier.hook = barrier_hook;
}

struct search {
	struct skipped *skipped;
	uintptr_t low;	    /* first address of the object whose slots are wanted */
	uintptr_t function; /* that they are to lead to */
	struct loaded_object object;
};

static int skip_slot(void *argument, const struct loaded_tables *tables, uintptr_t *at,
	const ElfW(Rela) * relocation)
{
	const struct search *w = argument;
	struct skipped *skipped = w->skipped;
	const char *name = loaded_name(tables, relocation);
	uintptr_t now = __atomic_load_n(at, __ATOMIC_RELAXED);

	if (strcmp(name, ggml_symbols[skipped->symbol].name) != 0 ||
		(now != skipped->hook && now - w->object.low >= w->object.bytes))
		return 0;
	const struct slot s = {at, skipped->hook, w->function, loaded_is_sealed(tables, at)};
	if (lead(&s, now, w->function) && array_push(&skipped->slots.of, s))
		lead(&s, w->function, skipped->hook); /* no memory to remember the slot */
	return 0;
}

static int skip_in(struct dl_phdr_info *info, size_t bytes, void *argument)
{
	struct search *w = argument;
	struct loaded_tables tables;

	object_describe(&w->object, info);
	if (w->object.low != w->low || !loaded_tables_read(&tables, info))
		return 0;
	HOLD(&slots_mutex);
	if (!w->skipped->is_watched)
		loaded_each_slot(&tables, skip_slot, w);
	return 1;
}

static void slots_skip(struct skipped *skipped, uintptr_t low, uintptr_t function)
{
	struct search search = {.skipped = skipped, .low = low, .function = function};
	KEEP_ERRNO();

	if (attach_shared.is_late) /* no slot leads to a hook, and none is to be left changed */
		return;
	dl_iterate_phdr(skip_in, &search);
}

static int watch_in(struct dl_phdr_info *info, size_t bytes, void *argument)
{
	struct skipped *skipped = argument;

	HOLD(&slots_mutex);
	skipped->is_watched = true; /* skip_in() adds no slot from here on */
	lead_all(&skipped->slots, info, 0);
	return 0;
}

static void slots_watch(struct skipped *skipped)
{
	KEEP_ERRNO();

	if (__atomic_load_n(&skipped->is_done, __ATOMIC_ACQUIRE))
		return;
	dl_iterate_phdr(watch_in, skipped);
	__atomic_store_n(&skipped->is_done, 1, __ATOMIC_RELEASE);
}

void slots_skip_barrier(uintptr_t low, barrier_fn function)
{
	slots_skip(&barrier, low, (uintptr_t)function);
}

void slots_watch_barrier(void)
{
	slots_watch(&barrier);
}

/* Store an object that may skip ggml_is_empty()'s hook. low and bytes are set once. */
static void share_caller(
	struct attach_caller *c, uintptr_t low, uintptr_t bytes, uint32_t generation)
{
	uintptr_t none = 0, nowhere = 0;

	if (!__atomic_compare_exchange_n(
		    &c->low, &none, low, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) &&
		none != low)
		return;
	uint32_t before = __atomic_exchange_n(&c->generation, generation, __ATOMIC_ACQ_REL);
	bool is_new = __atomic_compare_exchange_n(
		&c->bytes, &nowhere, bytes, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
	if (is_new || before != generation)
		slots_skip(&emptiness, low, (uintptr_t)attach_shared.is_empty);
}

void slots_skip_is_empty(const struct engine *e)
{
	struct attach_shared *s = &attach_shared;
	_Bool (*none)(const void *tensor) = NULL;

	if (!e || !e->is_empty)
		return;
	if (__atomic_compare_exchange_n(
		    &s->is_empty, &none, e->is_empty, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) ||
		none == e->is_empty)
		share_caller(&s->empty[0], e->object.low, e->object.bytes, e->generation);
}

void slots_skip_is_empty_of(uintptr_t caller, is_empty_fn function)
{
	static uint32_t tried; /* the generation of the last try: one try per generation */
	uint32_t now = shared_get(&attach_shared.resolve_generation);
	struct loaded_object object;

	if (!function || __atomic_load_n(&attach_shared.is_empty, __ATOMIC_ACQUIRE) != function ||
		__atomic_exchange_n(&tried, now, __ATOMIC_RELAXED) == now)
		return;
	if (resolve_object(caller, &object))
		share_caller(&attach_shared.empty[1], object.low, object.bytes, now);
}

void slots_watch_is_empty(void)
{
	for (int i = 0; i < 2; i++)
		__atomic_store_n(&attach_shared.empty[i].bytes, 1, __ATOMIC_RELEASE);
	slots_watch(&emptiness);
}

/* All hooks of the hot path, for a plain step. */

static struct slots slots_all;
static unsigned long long changes_seen;
static struct loaded_object self; /* where the hooks are */
static bool are_missing;	  /* the last plain step left its jumps away */
static int skips_phases;
pthread_mutex_t slots_off_mutex = PTHREAD_MUTEX_INITIALIZER;

/* The symbol, or -1: none whose hook is to be skipped. */
static int skipped_symbol(const char *name)
{
	for (int i = 0; i < GGML_SYMBOL_COUNT; i++) {
		enum ggml_use use = ggml_symbols[i].use;
		bool is_skipped = i == GGML_NODE_FORWARD || i == GGML_BARRIER ||
				  i == GGML_FUSED_FORWARD || i == GGML_IS_EMPTY ||
				  (skips_phases && i != GGML_FREE &&
					  (use == GGML_FOR_PHASES || use == GGML_FOR_GRAPHS));
		if (is_skipped && !strcmp(ggml_symbols[i].name, name))
			return i;
	}
	return -1;
}

struct found_slot {
	struct slot slot; /* its `function` is filled in later */
	int symbol;
	uintptr_t low; /* of the caller */
};

struct found_slots {
	ARRAY(struct found_slot) of;
};

struct caller {
	struct loaded_object object;
	struct found_slots *found;
};

static int slots_add(void *argument, const struct loaded_tables *tables, uintptr_t *at,
	const ElfW(Rela) * relocation)
{
	const struct caller *c = argument;
	int id = skipped_symbol(loaded_name(tables, relocation));

	if (id < 0 || *at - self.low >= self.bytes)
		return 0; /* the slot does not lead to our hook (yet) */
	(void)array_push(&c->found->of, (struct found_slot){{at, *at, 0, 0}, id, c->object.low});
	return 0;
}

static int add_slots(struct dl_phdr_info *info, size_t bytes, void *found)
{
	struct caller c = {.found = found};
	struct loaded_tables tables;

	object_describe(&c.object, info);
	if (loaded_tables_read(&tables, info) && c.object.low != self.low)
		loaded_each_slot(&tables, slots_add, &c);
	return 0;
}

static int unseal_in(struct dl_phdr_info *info, size_t bytes, void *argument)
{
	struct loaded_object object;

	object_describe(&object, info);
	for (size_t i = 0; i < slots_all.of.count; i++) {
		struct slot *s = &slots_all.of.items[i];
		if ((uintptr_t)s->at - object.low < object.bytes)
			s->is_sealed = loaded_page_protect(s->at, PROT_READ | PROT_WRITE) != 0;
	}
	return 0;
}

/*
 * Fill slots_all, anew whenever objects were loaded or unloaded. The functions are looked up
 * outside of dl_iterate_phdr(), as dlsym() takes the dynamic linker's locks in another order.
 */
static void slots_find_all(void)
{
	struct object_changes so_far = object_changes();
	unsigned long long changes = so_far.loads + so_far.unloads;
	struct found_slots found = {0};

	if (changes == changes_seen || (!self.bytes && !object_at((uintptr_t)&slots_all, &self)))
		return;
	changes_seen = changes;
	slots_all.of.count = 0;
	dl_iterate_phdr(add_slots, &found);
	for (size_t i = 0; i < found.of.count; i++) {
		struct found_slot *f = &found.of.items[i];
		f->slot.function = (uintptr_t)resolve_slow((enum ggml_symbol_id)f->symbol, f->low);
		if (f->slot.function)
			(void)array_push(&slots_all.of, f->slot);
	}
	array_fini(&found.of);
	dl_iterate_phdr(unseal_in, NULL);
}

/*
 * Is this the only thread? Then no thread executes the instructions that a jump displaces. A folder
 * has two links, and one for each folder in it.
 */
static bool slots_is_alone(void)
{
	struct stat tasks;

	return !stat("/proc/self/task", &tasks) && tasks.st_nlink == 3;
}

/* If another thread runs by now, the jumps stay away; the next plain step tries again. */
static int put_jumps_back(void)
{
	int error = patched_switch(1, slots_is_alone());

	are_missing = error != 0;
	return error;
}

static int lead_all_in(struct dl_phdr_info *info, size_t bytes, void *to_function)
{
	lead_all(&slots_all, info, to_function != NULL);
	return 0;
}

void slots_skip_phases(void)
{
	skips_phases = 1;
}

int slots_skip_all_begin(void)
{
	KEEP_ERRNO();

	int error = are_missing ? put_jumps_back() : 0;
	if (!error) {
		slots_find_all();
		error = patched_switch(0, slots_is_alone());
	}
	if (!error)
		dl_iterate_phdr(lead_all_in, &slots_all);
	return error;
}

void slots_skip_all_end(void)
{
	KEEP_ERRNO();

	put_jumps_back();
	dl_iterate_phdr(lead_all_in, NULL);
}

void slots_skip_off(bool is_off)
{
	static bool is_skipping;
	KEEP_ERRNO();

	HOLD(&slots_off_mutex);
	if (is_skipping)
		dl_iterate_phdr(lead_all_in, NULL);
	is_skipping = is_off;
	skips_phases = is_off;
	if (!is_off)
		return;
	changes_seen = 0;
	slots_find_all();
	dl_iterate_phdr(lead_all_in, &slots_all);
}
