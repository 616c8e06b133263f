/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Going past the hooks (bypass.h). The slots are looked for again whenever objects have come or
 * gone; those that the dynamic linker has made read-only stay writable. Called for plain steps.
 */
#include "attach/ggml/nodes/bypass.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "attach/ggml/dynamic_table.h"
#include "attach/ggml/resolve.h"
#include "base/array.h"
#include "base/scope.h"

/* A word that holds the address that calls of a symbol from one object go to. */
struct slot {
	uintptr_t *at, hook, function;
};

static ARRAY(struct slot) slots;
static unsigned long long changes_seen;
static struct loaded_object self; /* where the hooks are */
static int are_missing;		  /* jumps that could not be put back */
static int is_all;		  /* also the hooks of phases and graphs */

static int is_hot(int symbol)
{
	return symbol == GGML_NODE_FORWARD || symbol == GGML_BARRIER ||
	       symbol == GGML_FUSED_FORWARD || symbol == GGML_IS_EMPTY;
}

static int is_wanted(int symbol)
{
	enum ggml_use use = ggml_symbols[symbol].use;

	return is_hot(symbol) || (is_all && (use == GGML_FOR_PHASES || use == GGML_FOR_GRAPHS));
}

/* The symbol, or -1: none whose hook is to be gone past. */
static int symbol_past(const char *name)
{
	for (int i = 0; i < GGML_SYMBOL_COUNT; i++)
		if (is_wanted(i) && !strcmp(ggml_symbols[i].name, name))
			return i;
	return -1;
}

static int let_write(uintptr_t *at)
{
	uintptr_t size = (uintptr_t)sysconf(_SC_PAGESIZE), page = (uintptr_t)at & ~(size - 1);

	return mprotect((void *)page, size, PROT_READ | PROT_WRITE);
}

static void consider(const struct loaded_object *object, uintptr_t *at, int symbol)
{
	if (*at - self.low >= self.bytes)
		return; /* not called yet, or not hooked */
	uintptr_t function = (uintptr_t)resolve_slow((enum ggml_symbol_id)symbol, object->low);
	if (function && !let_write(at))
		(void)array_push(&slots, (struct slot){at, *at, function});
}

static int look_at(struct dl_phdr_info *info, size_t bytes, void *argument)
{
	struct dynamic_table d;
	struct loaded_object object;

	object_describe(&object, info);
	if (!dynamic_table_read(&d, info) || object.low == self.low)
		return 0;
	for (int list = 0; list < 2; list++)
		for (size_t i = 0; d.lists[list] && i < d.bytes[list] / sizeof(ElfW(Rela)); i++) {
			const ElfW(Rela) *r = &d.lists[list][i];
			size_t name = ELF64_R_SYM(r->r_info);
			int symbol = name ? symbol_past(d.strings + d.symbols[name].st_name) : -1;
			if (symbol >= 0)
				consider(&object, (uintptr_t *)(info->dlpi_addr + r->r_offset),
					symbol);
		}
	return 0;
}

static void find_slots(void)
{
	struct object_changes all = object_changes();
	unsigned long long changes = all.loads + all.unloads;

	if (changes == changes_seen || (!self.bytes && !object_at((uintptr_t)&slots, &self)))
		return;
	changes_seen = changes;
	slots.count = 0;
	dl_iterate_phdr(look_at, NULL);
}

/* The only thread: nobody can be in what a jump displaces. */
static int is_alone(void)
{
	struct stat tasks;

	return !stat("/proc/self/task", &tasks) && tasks.st_nlink == 3;
}

/* A thread that was born meanwhile keeps the jumps away, until it is gone. */
static int put_back(void)
{
	int error = patched_switch(1, is_alone());

	are_missing = error != 0;
	return error;
}

/* Under the dynamic linker's lock, so that what is written to is not being unloaded. */
static int write_slots(struct dl_phdr_info *info, size_t bytes, void *past)
{
	struct loaded_object object;

	object_describe(&object, info);
	for (size_t i = 0; i < slots.count; i++) {
		const struct slot *s = &slots.items[i];
		uintptr_t from = past ? s->hook : s->function;
		if ((uintptr_t)s->at - object.low < object.bytes)
			__atomic_compare_exchange_n(s->at, &from, past ? s->function : s->hook, 0,
				__ATOMIC_RELAXED, __ATOMIC_RELAXED);
	}
	return 0;
}

void bypass_all(void)
{
	is_all = 1;
}

int bypass_begin(void)
{
	KEEP_ERRNO();

	int error = are_missing ? put_back() : 0;
	if (!error) {
		find_slots();
		error = patched_switch(0, is_alone());
	}
	if (!error)
		dl_iterate_phdr(write_slots, &slots);
	return error;
}

void bypass_end(void)
{
	KEEP_ERRNO();

	put_back();
	dl_iterate_phdr(write_slots, NULL);
}
