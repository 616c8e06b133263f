/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hooks in front of functions that are called without the dynamic linker. A jump replaces a
 * function's first instructions and leads to the hook. The hook may call the function at its
 * `inner` address, which has these instructions and a jump back behind them. This is
 * libbrick-patch.so, which the injected library loads only if there is something to patch. Each
 * object by one thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "attach/patch/patch_name.h"
#include "brick/export.h"

/*
 * A wish for a hook. hook_from is used instead of `hook` for functions with can_keep whose callers
 * rely on more registers than a function preserves. Its sixth argument is the call's return
 * address, so the function may have at most five.
 */
struct patch_wish {
	struct patch_name of;
	void *hook, *hook_from; /* NULL: there is none */
	int64_t tell; /* offset of a thread-local word from the thread pointer; `inner` is written
			 to it before `hook` is called; 0: none */
};

/* The place of an object. */
struct patch_place {
	const char *path;     /* of its file */
	uintptr_t low, bytes; /* in memory */
	uintptr_t bias;	      /* address in memory less address in the file */
	bool is_live;	      /* other threads may execute it now */
	bool is_forced;	      /* patch also functions that the dynamic linker would reach */
	bool is_prepared;     /* write no jump: brick_patch_jumps() tells them */
};

/* The result of a wish. */
struct patch_result {
	const char *name;
	const char *refused; /* why it could not be patched, a constant; NULL: see `inner` */
	void *entry;	     /* the function; NULL: not patched */
	void *inner;	     /* code that behaves as the function did before; NULL: not patched */
};

struct patch_object;

/*
 * Patch all functions that can be patched. 0; *out is NULL, and nothing was done, if the object
 * defines none of the signs (patch_name.is_sign), or the dynamic linker reaches all functions. On
 * an error (-errno or BRICK_E*) nothing was done, too.
 */
BRICK_API int brick_patch_open(struct patch_object **out, const struct patch_place *place,
	const struct patch_wish *wishes, size_t count);

/*
 * The results, in the order of the wishes; a function that is not defined or not patched has only
 * its name.
 */
BRICK_API const struct patch_result *brick_patch_results(
	const struct patch_object *object, size_t *count);

/* A function of the object by its name, exported or not; NULL: none, ambiguous, or no code. */
BRICK_API void *brick_patch_function(const struct patch_object *object, const char *name);

/*
 * Take the jumps of a group of wishes (or PATCH_ALL_GROUPS) away, or put them back. 0, or -EBUSY:
 * some jumps are unchanged, because other threads may run (is_live).
 */
enum { PATCH_ALL_GROUPS = -1 };
BRICK_API int brick_patch_off(struct patch_object *object, int group, bool is_live);
BRICK_API int brick_patch_on(struct patch_object *object, int group, bool is_live);

/* A jump, and what is in its place without it. */
struct patch_jump {
	uintptr_t site;
	const uint8_t *before, *after;
	size_t bytes;	  /* of either */
	size_t displaced; /* bytes of the whole instructions that it replaces */
};

/* Tell all jumps, written or not, to `each`. Returns the memory of the trampolines, in *bytes. */
typedef void (*patch_jump_fn)(void *context, const struct patch_jump *jump);
BRICK_API uintptr_t brick_patch_jumps(
	const struct patch_object *object, patch_jump_fn each, void *context, size_t *bytes);

/* The object was unloaded: free its record and trampolines, without touching its code. */
BRICK_API void brick_patch_forget(struct patch_object *object);
