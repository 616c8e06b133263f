/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each process has a list of mappings, sorted by address, without overlaps. A fork copies the list,
 * an exec empties it, and the end of the process's last thread frees it.
 */
#include "record/stacks/address_spaces.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/fnv.h"
#include "base/hash.h"
#include "base/order.h"

enum { MAX_OBJECTS = 1 << 16, MAX_SEGMENTS = 64 };

struct mapping {
	uint64_t start, end;
	uint64_t own_start; /* the file's own address of `start` */
	uint32_t object;    /* its number */
};

struct address_space {
	uint32_t threads; /* of the process that still run */
	ARRAY(struct mapping) mappings;
};

/* Objects. */

/* False for anonymous memory and the like, in which a just-in-time compiler puts its code. */
static bool has_file(const char *path)
{
	static const char *const others[] = {"//", "[", "/memfd:", "/dev/", "/SYSV"};

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (!strncmp(path, others[i], strlen(others[i])))
			return !strcmp(path, "[vdso]");
	return path[0] == '/';
}

/* Bytes that two ranges have in common. */
static uint64_t spaces_overlap(uint64_t a, uint64_t a_bytes, uint64_t b, uint64_t b_bytes)
{
	uint64_t start = a > b ? a : b;
	uint64_t end = a + a_bytes < b + b_bytes ? a + a_bytes : b + b_bytes;

	return start < end ? end - start : 0;
}

/* Read the program headers; returns how many. 0: it is no 64-bit ELF file, or has too many. */
static unsigned spaces_read_segments(const char *path, Elf64_Phdr segments[MAX_SEGMENTS])
{
	Elf64_Ehdr header;
	unsigned count = 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return 0;
	if (pread(fd, &header, sizeof(header), 0) == sizeof(header) &&
		!memcmp(header.e_ident, ELFMAG, SELFMAG) &&
		header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_phentsize == sizeof(*segments) &&
		header.e_phnum <= MAX_SEGMENTS) {
		size_t bytes = header.e_phnum * sizeof(*segments);
		if (pread(fd, segments, bytes, (off_t)header.e_phoff) == (ssize_t)bytes)
			count = header.e_phnum;
	}
	close(fd);
	return count;
}

/*
 * The number to add to an offset in the file for the address that symbols have. A mapping has whole
 * pages, so it may include ends of other segments: the largest executable part decides.
 */
static uint64_t bias_of(const char *path, uint64_t offset, uint64_t bytes)
{
	Elf64_Phdr segments[MAX_SEGMENTS];
	unsigned count = path[0] == '/' ? spaces_read_segments(path, segments) : 0;
	uint64_t bias = 0, most = 0;

	for (unsigned i = 0; i < count; i++) {
		const Elf64_Phdr *s = &segments[i];
		uint64_t common = spaces_overlap(s->p_offset, s->p_filesz, offset, bytes);
		if (s->p_type == PT_LOAD && (s->p_flags & PF_X) && common > most) {
			most = common;
			bias = s->p_vaddr - s->p_offset;
		}
	}
	return bias;
}

static bool spaces_is_same(const struct code_object *a, const struct code_object *b)
{
	return a->offset == b->offset && a->inode == b->inode && a->pid == b->pid &&
	       a->build_id_bytes == b->build_id_bytes &&
	       !memcmp(a->build_id, b->build_id, a->build_id_bytes) && !strcmp(a->path, b->path);
}

static uint32_t object_like(
	struct address_spaces *s, const struct code_object *like, uint64_t bytes)
{
	uint64_t hash = hash_add(hash_add(fnv1a_text(like->path), like->offset), like->pid);
	struct hash_probe probe = hash_probe(hash);

	for (uint32_t i; (i = hash_index_next(&s->index, &probe)) != HASH_INDEX_NONE;)
		if (spaces_is_same(&s->objects.items[i], like))
			return i;
	uint32_t number = (uint32_t)s->objects.count;
	char *path = number < MAX_OBJECTS ? strdup(like->path) : NULL;
	if (!path || array_push(&s->objects, *like)) {
		free(path);
		return SPACES_NONE;
	}
	struct code_object *object = &s->objects.items[number];
	object->path = path;
	if (!object->pid)
		object->bias = bias_of(path, object->offset, bytes);
	if (hash_index_add(&s->index, hash, number)) {
		free(path);
		s->objects.count--;
		return SPACES_NONE;
	}
	return number;
}

static uint32_t spaces_object_of(struct address_spaces *s, const struct stack_event *event)
{
	struct code_object like = {.path = (char *)event->text, .offset = event->offset};
	char map[48];

	if (!has_file(event->text)) {
		snprintf(map, sizeof(map), "/tmp/perf-%u.map", event->pid);
		like = (struct code_object){.path = map, .pid = event->pid};
	} else {
		like.inode = event->inode;
		like.build_id_bytes = event->build_id_bytes;
		memcpy(like.build_id, event->build_id, sizeof(like.build_id));
	}
	return object_like(s, &like, event->bytes);
}

/* Address spaces. */

static struct address_space *space_of(const struct address_spaces *s, uint32_t pid)
{
	return hashmap_pointer(hashmap_get(&s->of_pid, pid));
}

static struct address_space *space_made(struct address_spaces *s, uint32_t pid)
{
	struct address_space *space = space_of(s, pid);

	if (space)
		return space;
	space = calloc(1, sizeof(*space));
	if (space && hashmap_set_pointer(&s->of_pid, pid, space)) {
		free(space);
		space = NULL;
	}
	if (space)
		space->threads = 1;
	return space;
}

static void space_free(struct address_space *space)
{
	if (space)
		array_fini(&space->mappings);
	free(space);
}

/* Add a mapping. It replaces older ones at its addresses; their other parts stay. */
static int add_mapping(struct address_space *space, struct mapping one)
{
	size_t count = space->mappings.count;

	if (array_reserve(&space->mappings, 2))
		return -ENOMEM;
	struct mapping *list = space->mappings.items;
	size_t first = BISECT(i, 0, count, list[i].end <= one.start);
	size_t behind = BISECT(i, first, count, list[i].start < one.end);
	struct mapping before = first < behind ? list[first] : one;
	struct mapping after = first < behind ? list[behind - 1] : one;
	struct mapping in[3];
	size_t n = 0;

	if (before.start < one.start) {
		before.end = one.start;
		in[n++] = before;
	}
	in[n++] = one;
	if (after.end > one.end) {
		after.own_start += one.end - after.start;
		after.start = one.end;
		in[n++] = after;
	}
	memmove(list + first + n, list + behind, (count - behind) * sizeof(*list));
	memcpy(list + first, in, n * sizeof(*list));
	space->mappings.count = count - (behind - first) + n;
	return 0;
}

static int on_map(struct address_spaces *s, const struct stack_event *event)
{
	struct address_space *space = space_made(s, event->pid);
	uint32_t object = spaces_object_of(s, event);

	if (!space || object == SPACES_NONE || event->start + event->bytes < event->start)
		return -ENOMEM;
	const struct code_object *of = &s->objects.items[object];
	return add_mapping(
		space, (struct mapping){
			       .start = event->start,
			       .end = event->start + event->bytes,
			       .own_start = of->pid ? event->start : event->offset + of->bias,
			       .object = object,
		       });
}

static int on_start(struct address_spaces *s, const struct stack_event *event)
{
	struct address_space *parent = space_of(s, event->parent);

	if (event->parent == event->pid) {
		if (parent)
			parent->threads++;
		return 0;
	}
	struct address_space *space = space_made(s, event->pid);
	if (!space)
		return -ENOMEM;
	space->threads = 1;
	space->mappings.count = 0;
	return parent ? array_append(
				&space->mappings, parent->mappings.items, parent->mappings.count)
		      : 0;
}

static void spaces_on_end(struct address_spaces *s, const struct stack_event *event)
{
	struct address_space *space = space_of(s, event->pid);

	if (!space || --space->threads)
		return;
	hashmap_take(&s->of_pid, event->pid);
	space_free(space);
}

static int on_exec(struct address_spaces *s, const struct stack_event *event)
{
	struct address_space *space = space_made(s, event->pid);

	if (!space)
		return -ENOMEM;
	space->threads = 1;
	space->mappings.count = 0;
	return 0;
}

int spaces_event(struct address_spaces *s, const struct stack_event *event)
{
	switch (event->kind) {
	case STACK_MAPPED:
		return on_map(s, event);
	case STACK_STARTED:
		return on_start(s, event);
	case STACK_ENDED:
		spaces_on_end(s, event);
		return 0;
	case STACK_NAMED:
		return event->is_exec ? on_exec(s, event) : 0;
	case STACK_TAKEN:
		break;
	}
	return 0;
}

uint32_t spaces_find(
	const struct address_spaces *s, uint32_t pid, uint64_t address, uint64_t *own_address)
{
	const struct address_space *space = space_of(s, pid);

	if (!space)
		return SPACES_NONE;
	const struct mapping *list = space->mappings.items;
	size_t i = BISECT(i, 0, space->mappings.count, list[i].end <= address);
	if (i == space->mappings.count || address < list[i].start)
		return SPACES_NONE;
	*own_address = list[i].own_start + (address - list[i].start);
	return list[i].object;
}

void spaces_fini(struct address_spaces *s)
{
	for (struct hashmap_slot *slot = NULL; (slot = hashmap_next(&s->of_pid, slot));)
		space_free(hashmap_pointer(slot->value));
	hashmap_fini(&s->of_pid);
	for (size_t i = 0; i < s->objects.count; i++) {
		free(s->objects.items[i].path);
		hashmap_fini(&s->objects.items[i].frames);
	}
	array_fini(&s->objects);
	hash_index_fini(&s->index);
}
