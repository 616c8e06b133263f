/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels by name (modules.h). CUPTI's records name a kernel but not its module, so the names come
 * from the modules' own tables. An entry of a module that is gone may be taken over; one that is
 * contested by two living modules stays unknown until one of them is unloaded.
 */
#include "attach/cuda/modules.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "attach/cuda/cubin.h"
#include "base/fnv.h"
#include "brick/queue.h"

enum { MAX_KERNELS = 1 << 16, PLACES = 1 << 17 };
static const size_t most_source_bytes = 8 << 20;

struct entry {
	uint64_t name; /* hash; 0: free */
	uint64_t code;
	uint32_t module; /* id */
	uint32_t others; /* further living modules that define the name with other code */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct entry *entries; /* [PLACES], made with the first module */
static uint32_t entry_count;
static uint32_t generation; /* atomic */

/* Never 0, which is no name and no code. */
static uint64_t hash_of(const void *data, size_t bytes)
{
	uint64_t hash = fnv1a(data, bytes);
	return hash ? hash : 1;
}

/* Its place, or the free one where it would be. */
static struct entry *place(uint64_t name)
{
	uint32_t i = (uint32_t)(name ^ name >> 32) % PLACES;

	while (entries[i].name && entries[i].name != name)
		i = (i + 1) % PLACES;
	return &entries[i];
}

struct loading {
	uint32_t id;
	uint64_t code;
};

static void add_name(void *context, const char *kernel)
{
	const struct loading *module = context;
	uint64_t name = hash_of(kernel, strlen(kernel));
	struct entry *e = place(name);

	if (!e->name) {
		if (entry_count == MAX_KERNELS)
			return;
		entry_count++;
	} else if (e->module && e->code != module->code) {
		e->others++;
		return;
	}
	*e = (struct entry){name, module->code, module->id, e->others};
}

void modules_loaded(uint32_t id, const void *cubin, size_t bytes, uint64_t source)
{
	struct loading module = {id ? id : UINT32_MAX, source};

	if (!cubin || !bytes)
		return;
	if (!source)
		module.code = hash_of(cubin, bytes);
	pthread_mutex_lock(&lock);
	if (!entries)
		entries = calloc(PLACES, sizeof *entries);
	if (entries)
		cubin_names(cubin, bytes, add_name, &module);
	__atomic_add_fetch(&generation, 1, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&lock);
}

/*
 * Which of the others is left is not known any more: the name is free for the next module, and
 * unknown until then.
 */
static void leave(struct entry *e)
{
	e->module = 0;
	if (e->others)
		e->code = 0;
	e->others = 0;
}

void modules_unloading(uint32_t id)
{
	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; entries && i < PLACES; i++)
		if (entries[i].name && entries[i].module == (id ? id : UINT32_MAX))
			leave(&entries[i]);
	__atomic_add_fetch(&generation, 1, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&lock);
}

uint32_t modules_generation(void)
{
	return __atomic_load_n(&generation, __ATOMIC_ACQUIRE);
}

uint64_t modules_code(const char *kernel)
{
	uint64_t code = 0;

	pthread_mutex_lock(&lock);
	if (entries) {
		const struct entry *e = place(hash_of(kernel, strlen(kernel)));
		code = e->name && !e->others ? e->code : 0;
	}
	pthread_mutex_unlock(&lock);
	return code;
}

/* PTX begins with comments and then ".version"; other images begin with bytes that are no text. */
static int is_ptx(const char *text)
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
