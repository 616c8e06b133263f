/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slots that lead past the hook (past_slots.h). One that was not called through yet is settled as
 * the dynamic linker would have done without us. What it has made read-only is so again. Called by
 * node_ready.c and node_graph.c, seldom.
 */
#include "attach/ggml/nodes/past_slots.h"

#include <elf.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "attach/ggml/dynamic_table.h"
#include "attach/ggml/ggml_hooks.h"
#include "attach/common/object.h"
#include "base/array.h"
#include "base/scope.h"
#include "attach/rules/ggml_symbols.h"

struct slot {
	uintptr_t *at, function;
	int is_sealed; /* read-only but while it is written */
};

static struct past {
	enum ggml_symbol_id symbol;
	uintptr_t hook;
	int is_wanted;
	ARRAY(struct slot) slots;
} pasts[PAST_COUNT] = {
	[PAST_EMPTY] = {.symbol = GGML_IS_EMPTY, .hook = (uintptr_t)&ggml_is_empty},
	[PAST_BARRIER] = {.symbol = GGML_BARRIER, .hook = (uintptr_t)&ggml_barrier},
};
pthread_mutex_t past_slots_mutex = PTHREAD_MUTEX_INITIALIZER;

static int protect(uintptr_t *at, int how)
{
	uintptr_t size = (uintptr_t)sysconf(_SC_PAGESIZE), page = (uintptr_t)at & ~(size - 1);

	return mprotect((void *)page, size, how);
}

/* Returns whether it leads to `to` now. */
static int lead(const struct slot *s, uintptr_t from, uintptr_t to)
{
	if (s->is_sealed && protect(s->at, PROT_READ | PROT_WRITE))
		return 0;
	int done = __atomic_compare_exchange_n(
		s->at, &from, to, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	if (s->is_sealed)
		protect(s->at, PROT_READ);
	return done;
}

static int is_sealed(const struct dl_phdr_info *info, const uintptr_t *at)
{
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_GNU_RELRO &&
			(uintptr_t)at - info->dlpi_addr - info->dlpi_phdr[i].p_vaddr <
				info->dlpi_phdr[i].p_memsz)
			return 1;
	return 0;
}

static void consider(struct past *p, const struct dl_phdr_info *info,
	const struct loaded_object *object, uintptr_t *at, uintptr_t function)
{
	const struct slot s = {at, function, is_sealed(info, at)};
	uintptr_t now = __atomic_load_n(at, __ATOMIC_RELAXED);

	if (now != p->hook && now - object->low >= object->bytes)
		return;
	if (lead(&s, now, function) && array_push(&p->slots, s))
		lead(&s, function, p->hook); /* no memory to lead it back one day */
}

struct wanted {
	struct past *past;
	uintptr_t low, function;
};

static int look_at(struct dl_phdr_info *info, size_t bytes, void *argument)
{
	const struct wanted *w = argument;
	struct dynamic_table d;
	struct loaded_object object;

	object_describe(&object, info);
	if (object.low != w->low || !dynamic_table_read(&d, info))
		return 0;
	for (int list = 0; list < 2; list++)
		for (size_t i = 0; d.lists[list] && i < d.bytes[list] / sizeof(ElfW(Rela)); i++) {
			const ElfW(Rela) *r = &d.lists[list][i];
			size_t name = ELF64_R_SYM(r->r_info);
			if (name && !strcmp(d.strings + d.symbols[name].st_name,
					    ggml_symbols[w->past->symbol].name))
				consider(w->past, info, &object,
					(uintptr_t *)(info->dlpi_addr + r->r_offset), w->function);
		}
	return 1;
}

void past_slots_lead(enum past_slots which, uintptr_t low, uintptr_t function)
{
	struct wanted w = {&pasts[which], low, function};
	KEEP_ERRNO();

	HOLD(&past_slots_mutex);
	if (!w.past->is_wanted)
		dl_iterate_phdr(look_at, &w);
}

/* Those of an object that is loaded now: what is gone has no slots to write to. */
static int lead_back(struct dl_phdr_info *info, size_t bytes, void *argument)
{
	const struct past *p = argument;
	struct loaded_object object;

	object_describe(&object, info);
	for (size_t i = 0; i < p->slots.count; i++)
		if ((uintptr_t)p->slots.items[i].at - object.low < object.bytes)
			lead(&p->slots.items[i], p->slots.items[i].function, p->hook);
	return 0;
}

void past_slots_lead_back(enum past_slots which)
{
	struct past *p = &pasts[which];
	KEEP_ERRNO();

	if (__atomic_load_n(&p->is_wanted, __ATOMIC_ACQUIRE))
		return;
	HOLD(&past_slots_mutex);
	dl_iterate_phdr(lead_back, p);
	p->slots.count = 0;
	__atomic_store_n(&p->is_wanted, 1, __ATOMIC_RELEASE);
}
