/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Vtables by type information. In the part of the library that is constant once it is relocated
 * (PT_GNU_RELRO) stand
 *
 *	type information    [vtable of its kind] [name] [base]                     one base at 0
 *	                    [vtable of its kind] [name] [flags, n] { [base] [at] } n of them
 *	vtables             [minus the base's place] [type information] [functions ...]
 */
#include "attach/onnxruntime/vtables.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/array.h"

enum { MAX_BASES = 16, PASSES = 8, OFFSET_SHIFT = 8, IS_VIRTUAL = 1 };

struct span {
	uintptr_t low, high;
};

/* A class, and where the base lies in its objects. */
struct derived {
	uintptr_t type;
	intptr_t at;
};

struct vtables {
	struct span constants, code, texts;
	ARRAY(struct derived) classes;
	ARRAY(uintptr_t) tables;
};

static bool vtables_holds(const struct span *span, uintptr_t address, size_t bytes)
{
	return address >= span->low && address < span->high && bytes <= span->high - address;
}

struct search {
	uintptr_t library;
	struct vtables *found;
};

static void widen(struct span *span, uintptr_t low, size_t bytes)
{
	if (!span->high || low < span->low)
		span->low = low;
	if (low + bytes > span->high)
		span->high = low + bytes;
}

static int vtables_read_segments(struct dl_phdr_info *info, size_t bytes, void *argument)
{
	struct search *search = argument;
	struct vtables v = {0};
	struct span all = {0, 0};

	(void)bytes;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t low = info->dlpi_addr + p->p_vaddr;
		if (p->p_type == PT_LOAD)
			widen(&all, low, p->p_memsz);
		if (p->p_type == PT_GNU_RELRO)
			widen(&v.constants, low, p->p_memsz);
		else if (p->p_type == PT_LOAD && (p->p_flags & PF_X))
			widen(&v.code, low, p->p_memsz);
	}
	/* texts are read where they are pointed to: anywhere in the first segments */
	v.texts = (struct span){all.low, v.constants.low};
	if (!vtables_holds(&all, search->library, 1))
		return 0;
	*search->found = v;
	return 1;
}

static uintptr_t vtables_word_at(uintptr_t address)
{
	return *(const uintptr_t *)address;
}

static const struct derived *vtables_class_of(const struct vtables *v, uintptr_t type)
{
	for (size_t i = 0; i < v->classes.count; i++)
		if (v->classes.items[i].type == type)
			return &v->classes.items[i];
	return NULL;
}

/*
 * True if a name of a class is here. Ends of segments may not be mapped, so only a few bytes are
 * read.
 */
static bool vtables_is_name(const struct vtables *v, uintptr_t text)
{
	return vtables_holds(&v->texts, text, 8) &&
	       (*(const char *)text == 'N' || *(const char *)text == '*' ||
		       (*(const char *)text >= '1' && *(const char *)text <= '9'));
}

/*
 * True if type information that begins here is derived from a known class; *offset is then the
 * place of the base.
 */
static bool derives(const struct vtables *v, uintptr_t at, intptr_t *offset)
{
	const struct derived *base = vtables_class_of(v, vtables_word_at(at + 16));

	if (base) {
		*offset = base->at;
		return true;
	}
	uintptr_t count = vtables_word_at(at + 16) >> 32,
		  flags = vtables_word_at(at + 16) & UINT32_MAX;
	if (!count || count > MAX_BASES || flags > 3 ||
		!vtables_holds(&v->constants, at, 24 + 16 * count))
		return false;
	for (uintptr_t i = 0; i < count; i++) {
		intptr_t where = (intptr_t)vtables_word_at(at + 32 + 16 * i);
		base = vtables_class_of(v, vtables_word_at(at + 24 + 16 * i));
		if (!base || (where & IS_VIRTUAL))
			continue;
		*offset = (where >> OFFSET_SHIFT) + base->at;
		return true;
	}
	return false;
}

static int find_classes(struct vtables *v)
{
	size_t before;

	for (int pass = 0; pass < PASSES; pass++) {
		before = v->classes.count;
		for (uintptr_t at = v->constants.low; vtables_holds(&v->constants, at, 32);
			at += 8) {
			intptr_t offset;
			if (!vtables_is_name(v, vtables_word_at(at + 8)) ||
				vtables_class_of(v, at) || !derives(v, at, &offset))
				continue;
			if (array_push(&v->classes, (struct derived){at, offset}))
				return -ENOMEM;
		}
		if (v->classes.count == before)
			break;
	}
	return 0;
}

static int find_tables(struct vtables *v)
{
	for (uintptr_t at = v->constants.low; vtables_holds(&v->constants, at, 24); at += 8) {
		const struct derived *class = vtables_class_of(v, vtables_word_at(at + 8));
		if (class && (intptr_t)vtables_word_at(at) == -class->at &&
			array_push(&v->tables, at + 16))
			return -ENOMEM;
	}
	return 0;
}

/* The type information of the class of that name. */
static int vtables_find_base(struct vtables *v, const char *name)
{
	size_t bytes = strlen(name) + 1;

	for (uintptr_t at = v->constants.low; vtables_holds(&v->constants, at, 24); at += 8) {
		uintptr_t text = vtables_word_at(at + 8);
		if (!vtables_holds(&v->texts, text, bytes) ||
			memcmp((const char *)text, name, bytes) != 0)
			continue;
		return array_push(&v->classes, (struct derived){at, 0});
	}
	return -ENOENT;
}

int vtables_find(struct vtables **out, const void *library, const char *base)
{
	struct vtables *v = calloc(1, sizeof(*v));
	struct search search = {(uintptr_t)library, v};

	if (!v)
		return -ENOMEM;
	int error = dl_iterate_phdr(vtables_read_segments, &search) ? 0 : -ENOENT;
	v->constants.low = (v->constants.low + 7) & ~(uintptr_t)7;
	if (!error)
		error = vtables_find_base(v, base);
	if (!error)
		error = find_classes(v);
	if (!error)
		error = find_tables(v);
	if (error)
		vtables_destroy(v);
	else
		*out = v;
	return error;
}

void vtables_destroy(struct vtables *vtables)
{
	if (!vtables)
		return;
	array_fini(&vtables->classes);
	array_fini(&vtables->tables);
	free(vtables);
}

uint32_t vtables_count(const struct vtables *vtables)
{
	return (uint32_t)vtables->tables.count;
}

const char *vtable_class(const void *vtable)
{
	uintptr_t type = ((const uintptr_t *)vtable)[-1];
	const char *name = (const char *)vtables_word_at(type + 8);

	return *name == '*' ? name + 1 : name;
}

/*
 * Constants are pages that can be read only, and become so again. The dynamic linker leaves the
 * last page as it is if variables begin in it.
 */
static int vtables_protect(const struct span *constants, int protection)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t low = constants->low & ~(page - 1), high = constants->high & ~(page - 1);

	return high > low && mprotect((void *)low, high - low, protection) ? -errno : 0;
}

int vtables_replace(const struct vtables *v, uint32_t index, vtable_visit_fn visit)
{
	int error = vtables_protect(&v->constants, PROT_READ | PROT_WRITE), count = 0;

	for (size_t i = 0; !error && i < v->tables.count; i++) {
		void **entry = (void **)v->tables.items[i] + index;
		if (!vtables_holds(&v->constants, (uintptr_t)entry, sizeof(*entry)))
			continue;
		const void *function = visit((const void *)v->tables.items[i], *entry,
			vtables_holds(&v->code, (uintptr_t)*entry, 1));
		if (function) {
			__atomic_store_n(entry, (void *)(uintptr_t)function, __ATOMIC_RELEASE);
			count++;
		}
	}
	if (!error)
		vtables_protect(&v->constants, PROT_READ);
	return error ? error : count;
}

int constants_replace(void **const slots[], const void *const functions[], uint32_t count)
{
	struct vtables v = {0};
	struct search search = {(uintptr_t)slots[0], &v};

	if (!dl_iterate_phdr(vtables_read_segments, &search))
		return -ENOENT;
	for (uint32_t i = 0; i < count; i++)
		if (!vtables_holds(&v.constants, (uintptr_t)slots[i], sizeof(*slots[i])))
			return -ENOENT;
	int error = vtables_protect(&v.constants, PROT_READ | PROT_WRITE);
	for (uint32_t i = 0; !error && i < count; i++)
		__atomic_store_n(slots[i], (void *)(uintptr_t)functions[i], __ATOMIC_RELEASE);
	return error ? error : vtables_protect(&v.constants, PROT_READ);
}
