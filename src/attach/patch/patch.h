/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hooks in front of functions of a loaded object that are called without the dynamic linker. A jump
 * over a function's first instructions leads to the hook. The hook may call the function at its
 * `inner` address, where these instructions stand and lead back behind the jump. This is
 * libbrick-patch.so, which the injected library loads only where there is something to patch. Each
 * object by one thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "attach/patch/patch_name.h"
#include "brick/export.h"

/*
 * A hook that is wanted. hook_from is for functions with can_keep: its sixth argument is the
 * address that the call returns to, so the function may take no more than five.
 */
struct patch_wish {
	struct patch_name of;
	void *hook, *hook_from; /* NULL: there is none */
	int64_t tell; /* a thread-local word, from the thread pointer, that `inner` is written to
			 before `hook` is called; 0: none */
};

/* The place of an object. */
struct patch_place {
	const char *path; /* its file */
	uintptr_t low, bytes;
	uintptr_t bias; /* address in memory less address in the file */
	bool is_live;	/* other threads may execute it now */
	bool is_forced; /* patch also functions that the dynamic linker would reach */
};

/* The result of a wish. */
struct patch_result {
	const char *name;
	const char *refused; /* why there is no hook, a constant; NULL: there is one */
	void *entry, *inner; /* the function; a function that behaves as it did */
};

struct patch_object;

/*
 * Patches all functions that can be patched. *out is NULL, and nothing was done, where the object
 * defines none of the signs, or the dynamic linker reaches all functions. -errno or BRICK_E*,
 * likewise.
 */
BRICK_API int brick_patch_open(struct patch_object **out, const struct patch_place *place,
	const struct patch_wish *wishes, size_t count);

/*
 * The results, in the order of the wishes; a function that is not defined or not patched has only
 * its name.
 */
BRICK_API const struct patch_result *brick_patch_results(
	const struct patch_object *object, size_t *count);

/* A function of the object by its name, exported or not; NULL: none, several, or no code. */
BRICK_API void *brick_patch_function(const struct patch_object *object, const char *name);

/*
 * Take the jumps of a group of wishes (or PATCH_ALL_GROUPS) away, or put them back. -EBUSY: only as
 * many as could be while other threads may run.
 */
enum { PATCH_ALL_GROUPS = -1 };
BRICK_API int brick_patch_off(struct patch_object *object, int group, bool is_live);
BRICK_API int brick_patch_on(struct patch_object *object, int group, bool is_live);

/* The object was unloaded: forget it, with its trampolines. */
BRICK_API void brick_patch_forget(struct patch_object *object);
