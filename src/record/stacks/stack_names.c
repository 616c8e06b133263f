/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names are looked up when the program has ended, or when the recording is read. A file must be the
 * one that was mapped: it has the same build ID, or, if the kernel told none, the same inode. An
 * address outside of all functions of known length gets no name.
 */
#include "record/stacks/stack_names.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "attach/patch/image.h"
#include "base/demangle.h"
#include "base/file.h"
#include "base/order.h"
#include "base/scope.h"

enum { MAX_MAP_BYTES = 256 << 20 };

typedef ARRAY(struct stack_symbol) symbol_list;

static int stack_names_add(symbol_list *list, uint64_t address, const char *name, size_t bytes)
{
	SCOPED char *plain = strndup(name, bytes);
	char *text = plain ? demangle(plain) : NULL;

	if (!text) {
		text = plain;
		plain = NULL;
	}
	if (text && !array_push(list, (struct stack_symbol){address, text}))
		return 0;
	free(text);
	return -ENOMEM;
}

static void stack_names_list_free(symbol_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free((char *)list->items[i].name);
	array_fini(list);
}

/* Names from a file. */

static bool is_mapped_file(const struct code_object *object, const struct image *image)
{
	char id[2 * sizeof(object->build_id) + 1] = "";
	struct stat info;

	if (!object->build_id_bytes)
		return !fstat(image->fd, &info) && info.st_ino == object->inode;
	for (size_t i = 0; i < object->build_id_bytes; i++)
		snprintf(id + 2 * i, 3, "%02x", object->build_id[i]);
	return !strcmp(id, image->build_id);
}

static int name_of_file(symbol_list *list, const struct code_object *object)
{
	struct image image;
	int error = image_open(&image, object->path);

	if (error)
		return error == -ENOMEM ? error : 0;
	bool is_same = is_mapped_file(object, &image);
	for (struct hashmap_slot *s = NULL; is_same && !error;) {
		if (!(s = hashmap_next(&object->frames, s)))
			break;
		const struct image_function *f = image_function_at(&image, s->key);
		if (f)
			/* without its version: clock_gettime@GLIBC_2.2.5 */
			error = stack_names_add(list, s->key, f->name, strcspn(f->name, "@"));
	}
	image_close(&image);
	return error;
}

int stack_names_find(const char *path, const uint8_t *build_id, size_t bytes,
	const struct hashmap *addresses, run_name_fn tell, void *context)
{
	SCOPED_BY(stack_names_list_free) symbol_list list = {0};
	struct code_object object = {
		.path = (char *)path, .build_id_bytes = bytes, .frames = *addresses};

	if (!bytes || bytes > sizeof(object.build_id))
		return 0;
	memcpy(object.build_id, build_id, bytes);
	int error = name_of_file(&list, &object);
	for (size_t i = 0; i < list.count && !error; i++)
		error = tell(context, list.items[i].address, list.items[i].name);
	return error;
}

/* Names from a map. Each line has a function: its begin and length in hexadecimal, and its name. */

struct made_function {
	uint64_t start, bytes;
	uint64_t order;	  /* line of the map: a later function replaces one at the same start */
	const char *name; /* in the map, without a NUL */
	size_t name_bytes;
};

COMPARATOR(by_start, struct made_function, ORDER(x->start, y->start) ?: ORDER(x->order, y->order))

static bool stack_names_read_line(const char *line, size_t bytes, struct made_function *f)
{
	char *end, *name;

	f->start = strtoull(line, &end, 16);
	if (end == line || *end != ' ')
		return false;
	f->bytes = strtoull(end, &name, 16);
	if (name == end || *name != ' ' || name + 1 >= line + bytes)
		return false;
	f->name = name + 1;
	f->name_bytes = (size_t)(line + bytes - f->name);
	return true;
}

/* /tmp is writable by all: a map is read only if it is ours or root's. */
static bool stack_names_is_ours(const char *path)
{
	struct stat info;

	return !lstat(path, &info) && S_ISREG(info.st_mode) &&
	       (info.st_uid == geteuid() || !info.st_uid);
}

static int names_of_map(symbol_list *list, const struct code_object *object, const char *text)
{
	ARRAY(struct made_function) made = {0};
	int error = 0;

	for (const char *at = text; *at && !error;) {
		size_t bytes = strcspn(at, "\n");
		struct made_function f = {.order = made.count};
		if (stack_names_read_line(at, bytes, &f))
			error = array_push(&made, f);
		at += bytes + (at[bytes] == '\n');
	}
	if (made.count)
		qsort(made.items, made.count, sizeof(*made.items), by_start);
	for (struct hashmap_slot *s = NULL; !error && (s = hashmap_next(&object->frames, s));) {
		/* the last function that starts there or before; later lines come later */
		size_t i = BISECT(k, 0, made.count, made.items[k].start <= s->key);
		const struct made_function *f = i ? &made.items[i - 1] : NULL;
		if (f && s->key - f->start < f->bytes)
			error = stack_names_add(list, s->key, f->name, f->name_bytes);
	}
	array_fini(&made);
	return error;
}

static int names_of_process(symbol_list *list, const struct code_object *object)
{
	SCOPED char *text = NULL;
	size_t bytes;

	if (!stack_names_is_ours(object->path) ||
		file_read(&text, &bytes, object->path, MAX_MAP_BYTES))
		return 0;
	return names_of_map(list, object, text);
}

int stack_names_tell(struct stack_packets *p, const struct address_spaces *spaces, uint64_t time_ns,
	stack_names_fn made, void *context)
{
	int error = 0;

	dlopen("libstdc++.so.6", RTLD_LAZY); /* the machine's, if there is one: for demangle() */
	for (size_t i = 0; i < spaces->objects.count && !error; i++) {
		const struct code_object *object = &spaces->objects.items[i];
		SCOPED_BY(stack_names_list_free) symbol_list list = {0};
		if (!object->frames.count)
			continue;
		error = object->pid ? names_of_process(&list, object) : name_of_file(&list, object);
		for (size_t told = 0; told < list.count && !error; error = made(context))
			told += packets_symbols(
				p, object, time_ns, list.items + told, list.count - told);
	}
	return error;
}
