/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of backends: built-in ones, and those of shared libraries that BRICK_BACKEND_PATH
 * names. The path is followed once, when somebody first asks. Accepted libraries stay loaded;
 * refused ones are kept by name, with the reason.
 */
#include "lib/backends/backend_load.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "base/scope.h"
#include "brick/device.h"
#include "brick/error.h"
#include "lib/sys/environment.h"

enum { MAX_BACKENDS = 32, MAX_REFUSED = 32, NAME_BYTES = 16 };

#define FILE_PREFIX "libbrick-backend-"

struct refused {
	char path[512];
	char reason[384];
};

static const struct brick_backend *const built_in[] = {
	&brick__backend_cpu,
	&brick__backend_opencl,
	&brick__backend_vulkan,
	&brick__backend_cuda,
	&brick__backend_metal,
	&brick__backend_null,
};

struct collection {
	const struct brick_backend *backends[MAX_BACKENDS];
	uint32_t backend_count;
	struct refused refused[MAX_REFUSED];
	uint32_t refused_count;
};

static const struct collection *collected; /* whole, and for good; NULL: nobody has asked */

static bool backend_load_is_whole(const struct brick_backend *b)
{
	return b->probe && b->open && b->begin && b->end && b->drain && b->synchronise &&
	       b->correlate && b->close;
}

int brick__backend_check(const struct brick_backend *b, char *reason, size_t bytes)
{
	if (b->size < BRICK__BACKEND_MIN_BYTES || b->version != BRICK_BACKEND_VERSION) {
		snprintf(reason, bytes,
			"its table is of version %u with %zu bytes; this is version %u with %zu",
			b->version, b->size, BRICK_BACKEND_VERSION, BRICK__BACKEND_MIN_BYTES);
		return BRICK_EVERSION;
	}
	if (!b->name || !*b->name || strnlen(b->name, NAME_BYTES) == NAME_BYTES) {
		snprintf(reason, bytes, "its name is missing or longer than 15 bytes");
		return -EINVAL;
	}
	if (!backend_load_is_whole(b)) {
		snprintf(reason, bytes, "%s: its table lacks a function", b->name);
		return -EINVAL;
	}
	return 0;
}

static const struct brick_backend *backend_load_find(const struct collection *c, const char *name)
{
	for (uint32_t i = 0; i < c->backend_count; i++)
		if (!strcmp(c->backends[i]->name, name))
			return c->backends[i];
	return NULL;
}

static void backend_load_refuse(struct collection *c, const char *path, const char *reason)
{
	if (c->refused_count == MAX_REFUSED)
		return;
	struct refused *r = &c->refused[c->refused_count++];
	snprintf(r->path, sizeof(r->path), "%s", path);
	snprintf(r->reason, sizeof(r->reason), "%s", reason);
}

/* Take the table of a library, or say why not. */
static int backend_load_take(
	struct collection *c, const struct brick_backend *b, char *reason, size_t bytes)
{
	if (!b) {
		snprintf(reason, bytes, "it exports no brick_backend_table");
		return 0;
	}
	if (brick__backend_check(b, reason, bytes))
		return 0;
	if (backend_load_find(c, b->name)) {
		snprintf(reason, bytes, "there is a backend %s already", b->name);
		return 0;
	}
	if (c->backend_count == MAX_BACKENDS) {
		snprintf(reason, bytes, "there are %d backends already", MAX_BACKENDS);
		return 0;
	}
	c->backends[c->backend_count++] = b;
	return 1;
}

static void backend_load(struct collection *c, const char *path)
{
	char reason[256];
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	if (!library) {
		const char *why = dlerror();
		backend_load_refuse(c, path, why ? why : "it cannot be loaded");
	} else if (!backend_load_take(
			   c, dlsym(library, "brick_backend_table"), reason, sizeof(reason))) {
		backend_load_refuse(c, path, reason);
		dlclose(library);
	}
}

static int is_backend_file(const struct dirent *entry)
{
	size_t n = strlen(entry->d_name);
	return !strncmp(entry->d_name, FILE_PREFIX, sizeof(FILE_PREFIX) - 1) && n > 3 &&
	       !strcmp(entry->d_name + n - 3, ".so");
}

/* In the order of their names, so that every run finds the same. */
static void load_directory(struct collection *c, const char *directory)
{
	struct dirent **entries;
	int n = scandir(directory, &entries, is_backend_file, alphasort);

	for (int i = 0; i < n; i++) {
		char path[512];
		int length = snprintf(path, sizeof(path), "%s/%s", directory, entries[i]->d_name);
		if (length > 0 && (size_t)length < sizeof(path))
			backend_load(c, path);
		free(entries[i]);
	}
	if (n >= 0)
		free(entries);
	else
		backend_load_refuse(c, directory, strerror(errno));
}

/*
 * Without a lock: another thread may hold the loader's and wait for ours. Where two threads
 * collect, the list of the first is used.
 */
static const struct collection *backend_load_collect(void)
{
	static const struct collection none;
	const struct collection *first = __atomic_load_n(&collected, __ATOMIC_ACQUIRE);
	KEEP_ERRNO();

	if (first)
		return first;
	struct collection *c = calloc(1, sizeof(*c));
	if (!c)
		return &none;
	for (size_t i = 0; i < sizeof(built_in) / sizeof(*built_in); i++)
		c->backends[c->backend_count++] = built_in[i];
	/* a program with more rights than its user must not load what that user names */
	const char *path = brick__environment("BRICK_BACKEND_PATH");
	while (path && *path) {
		char place[512];
		size_t n = strcspn(path, ":");
		if (n >= sizeof(place))
			backend_load_refuse(c, path, strerror(ENAMETOOLONG));
		else if (n) {
			memcpy(place, path, n);
			place[n] = '\0';
			struct stat st;
			if (stat(place, &st) < 0)
				backend_load_refuse(c, place, strerror(errno));
			else if (S_ISDIR(st.st_mode))
				load_directory(c, place);
			else
				backend_load(c, place);
		}
		path += n + (path[n] == ':');
	}
	if (__atomic_compare_exchange_n(
		    &collected, &first, c, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return c;
	free(c);
	return first;
}

const struct brick_backend *brick_backend_find(const char *name)
{
	return name ? backend_load_find(backend_load_collect(), name) : NULL;
}

const struct brick_backend *brick_backend_at(uint32_t index)
{
	const struct collection *c = backend_load_collect();

	return index < c->backend_count ? c->backends[index] : NULL;
}

const char *brick_backend_refused(uint32_t index, const char **reason)
{
	const struct collection *c = backend_load_collect();

	if (index >= c->refused_count)
		return NULL;
	*reason = c->refused[index].reason;
	return c->refused[index].path;
}
