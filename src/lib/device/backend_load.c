/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of backends: built-in ones, and those of shared libraries that BRICK_BACKEND_PATH
 * names. The path is followed once, when somebody first asks. Accepted libraries stay loaded;
 * refused ones are kept by name, with the reason.
 */
#include "lib/device/backend_load.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
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

static const struct brick_backend *backends[MAX_BACKENDS];
static uint32_t backend_count;
static struct refused refused[MAX_REFUSED];
static uint32_t refused_count;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static bool is_whole(const struct brick_backend *b)
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
	if (!is_whole(b)) {
		snprintf(reason, bytes, "%s: its table lacks a function", b->name);
		return -EINVAL;
	}
	return 0;
}

static const struct brick_backend *find(const char *name)
{
	for (uint32_t i = 0; i < backend_count; i++)
		if (!strcmp(backends[i]->name, name))
			return backends[i];
	return NULL;
}

static void refuse(const char *path, const char *reason)
{
	if (refused_count == MAX_REFUSED)
		return;
	struct refused *r = &refused[refused_count++];
	snprintf(r->path, sizeof(r->path), "%s", path);
	snprintf(r->reason, sizeof(r->reason), "%s", reason);
}

/* Take the table of a library, or say why not. */
static int take(const struct brick_backend *b, char *reason, size_t bytes)
{
	if (!b) {
		snprintf(reason, bytes, "it exports no brick_backend_table");
		return 0;
	}
	if (brick__backend_check(b, reason, bytes))
		return 0;
	if (find(b->name)) {
		snprintf(reason, bytes, "there is a backend %s already", b->name);
		return 0;
	}
	if (backend_count == MAX_BACKENDS) {
		snprintf(reason, bytes, "there are %d backends already", MAX_BACKENDS);
		return 0;
	}
	backends[backend_count++] = b;
	return 1;
}

static void load(const char *path)
{
	char reason[256];
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	if (!library) {
		const char *why = dlerror();
		refuse(path, why ? why : "it cannot be loaded");
	} else if (!take(dlsym(library, "brick_backend_table"), reason, sizeof(reason))) {
		refuse(path, reason);
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
static void load_directory(const char *directory)
{
	struct dirent **entries;
	int n = scandir(directory, &entries, is_backend_file, alphasort);

	for (int i = 0; i < n; i++) {
		char path[512];
		int length = snprintf(path, sizeof(path), "%s/%s", directory, entries[i]->d_name);
		if (length > 0 && (size_t)length < sizeof(path))
			load(path);
		free(entries[i]);
	}
	if (n >= 0)
		free(entries);
	else
		refuse(directory, strerror(errno));
}

static void load_place(const char *place)
{
	struct stat st;

	if (stat(place, &st) < 0)
		refuse(place, strerror(errno));
	else if (S_ISDIR(st.st_mode))
		load_directory(place);
	else
		load(place);
}

/* A program with more rights than its user must not load what that user names. */
static void follow_path(void)
{
	const char *path = brick__environment("BRICK_BACKEND_PATH");

	while (path && *path) {
		char place[512];
		size_t n = strcspn(path, ":");
		if (n >= sizeof(place))
			refuse(path, strerror(ENAMETOOLONG));
		else if (n) {
			memcpy(place, path, n);
			place[n] = '\0';
			load_place(place);
		}
		path += n + (path[n] == ':');
	}
}

static void collect(void)
{
	KEEP_ERRNO();

	for (size_t i = 0; i < sizeof(built_in) / sizeof(*built_in); i++)
		backends[backend_count++] = built_in[i];
	follow_path();
}

const struct brick_backend *brick_backend_find(const char *name)
{
	pthread_once(&once, collect);
	return name ? find(name) : NULL;
}

const struct brick_backend *brick_backend_at(uint32_t index)
{
	pthread_once(&once, collect);
	return index < backend_count ? backends[index] : NULL;
}

const char *brick_backend_refused(uint32_t index, const char **reason)
{
	pthread_once(&once, collect);
	if (index >= refused_count)
		return NULL;
	*reason = refused[index].reason;
	return refused[index].path;
}
