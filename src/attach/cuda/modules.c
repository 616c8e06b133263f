/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUPTI's records name a kernel but not its module, so the names come from the modules' own tables.
 * An entry of a module that is gone may be taken over; one that is contested by two living modules
 * stays unknown until one of them is unloaded.
 */
#include "attach/cuda/modules.h"

#include <elf.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include "base/array.h"
#include "base/fnv.h"
#include "base/hashmap.h"
#include "base/scope.h"
#include "brick/queue.h"

/* A cubin; every offset is checked. */

#define PREFIX ".text."

struct view {
	const unsigned char *data;
	size_t bytes;
};

static bool modules_holds(const struct view *v, uint64_t offset, uint64_t bytes)
{
	return offset <= v->bytes && bytes <= v->bytes - offset;
}

static int read_section(const struct view *v, const Elf64_Ehdr *elf, uint32_t i, Elf64_Shdr *out)
{
	uint64_t offset = (uint64_t)i * sizeof(*out);

	if (elf->e_shoff > v->bytes || !modules_holds(v, elf->e_shoff + offset, sizeof(*out)))
		return 0;
	memcpy(out, v->data + elf->e_shoff + offset, sizeof(*out));
	return 1;
}

/* The name, if it ends within the table. */
static const char *name_at(const struct view *v, const Elf64_Shdr *names, uint32_t at)
{
	if (at >= names->sh_size)
		return NULL;
	const char *name = (const char *)v->data + names->sh_offset + at;
	return memchr(name, '\0', names->sh_size - at) ? name : NULL;
}

int cubin_names(const void *cubin, size_t bytes, cubin_name_fn found, void *context)
{
	struct view v = {cubin, bytes};
	Elf64_Ehdr elf;
	Elf64_Shdr names, section;
	int count = 0;

	if (!cubin || bytes < sizeof(elf))
		return 0;
	memcpy(&elf, cubin, sizeof(elf));
	if (memcmp(elf.e_ident, ELFMAG, SELFMAG) || elf.e_ident[EI_CLASS] != ELFCLASS64 ||
		elf.e_shentsize != sizeof(section) ||
		!read_section(&v, &elf, elf.e_shstrndx, &names) ||
		!modules_holds(&v, names.sh_offset, names.sh_size))
		return 0;
	for (uint32_t i = 0; i < elf.e_shnum && read_section(&v, &elf, i, &section); i++) {
		const char *name = name_at(&v, &names, section.sh_name);
		if (!name || strncmp(name, PREFIX, sizeof(PREFIX) - 1))
			continue;
		found(context, name + sizeof(PREFIX) - 1);
		count++;
	}
	return count;
}

/* Kernels by name. */

enum { MAX_KERNELS = 1 << 16 };
static const size_t most_source_bytes = 8 << 20;

struct entry {
	uint64_t code;
	uint32_t module; /* id */
	uint32_t others; /* further living modules that define the name with other code */
};

static pthread_mutex_t modules_lock = PTHREAD_MUTEX_INITIALIZER;
static ARRAY(struct entry) modules_entries;
static struct hashmap modules_by_name; /* hash of a name: its entry */
static uint32_t modules_now;	       /* atomic */

/* Never 0, which is no name and no code. */
static uint64_t modules_hash_of(const void *data, size_t bytes)
{
	uint64_t hash = fnv1a(data, bytes);
	return hash ? hash : 1;
}

static struct entry *modules_find(uint64_t name)
{
	uint64_t at = hashmap_get(&modules_by_name, name);
	return at == HASHMAP_NONE ? NULL : &modules_entries.items[at];
}

struct loading {
	uint32_t id;
	uint64_t code;
};

static void modules_add_name(void *context, const char *kernel)
{
	const struct loading *module = context;
	uint64_t name = modules_hash_of(kernel, strlen(kernel));
	struct entry *e = modules_find(name);

	if (!e && (modules_entries.count == MAX_KERNELS ||
			  array_push(&modules_entries, (struct entry){0}) ||
			  hashmap_set(&modules_by_name, name, modules_entries.count - 1)))
		return;
	if (!e)
		e = &modules_entries.items[modules_entries.count - 1];
	else if (e->module && e->code != module->code) {
		e->others++;
		return;
	}
	*e = (struct entry){module->code, module->id, e->others};
}

void modules_loaded(uint32_t id, const void *cubin, size_t bytes, uint64_t source)
{
	struct loading module = {id ? id : UINT32_MAX, source};

	if (!cubin || !bytes)
		return;
	if (!source)
		module.code = modules_hash_of(cubin, bytes);
	HOLD(&modules_lock);
	cubin_names(cubin, bytes, modules_add_name, &module);
	__atomic_add_fetch(&modules_now, 1, __ATOMIC_RELEASE);
}

void modules_unloading(uint32_t id)
{
	HOLD(&modules_lock);
	for (size_t i = 0; i < modules_entries.count; i++) {
		struct entry *e = &modules_entries.items[i];
		if (e->module != (id ? id : UINT32_MAX))
			continue;
		/* Nobody knows which of the others is left: the name is free for the next module,
		 * and unknown until then. */
		e->module = 0;
		if (e->others)
			e->code = 0;
		e->others = 0;
	}
	__atomic_add_fetch(&modules_now, 1, __ATOMIC_RELEASE);
}

uint32_t modules_generation(void)
{
	return __atomic_load_n(&modules_now, __ATOMIC_ACQUIRE);
}

uint64_t modules_code(const char *kernel)
{
	HOLD(&modules_lock);
	const struct entry *e = modules_find(modules_hash_of(kernel, strlen(kernel)));
	uint64_t code = e && !e->others ? e->code : 0;
	return code;
}

/* PTX begins with comments and then ".version"; other images begin with bytes that are no text. */
static bool is_ptx(const char *text)
{
	for (;;) {
		while (*text == ' ' || *text == '\t' || *text == '\n' || *text == '\r')
			text++;
		if (strncmp(text, "//", 2))
			break;
		text += strcspn(text, "\n");
	}
	return !strncmp(text, ".version", 8);
}

uint64_t modules_source(const void *image)
{
	if (!image || !is_ptx(image))
		return 0;
	size_t bytes = strnlen(image, most_source_bytes);
	return bytes < most_source_bytes ? brick_code_register(image, bytes, "PTX", NULL) : 0;
}
