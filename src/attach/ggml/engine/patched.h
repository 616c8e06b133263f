/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects that contain ggml and call it without the dynamic linker: static programs, addons that
 * export nothing, libraries that bind within themselves. Their functions are patched to lead to the
 * hooks (src/attach/patch/patch.h) before they can be called: when Brick is loaded, and in
 * dlopen(). libbrick-patch.so is loaded only if there is such an object. Any thread.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include "attach/common/entry.h"
#include "attach/common/object.h"
#include "attach/patch/patch.h"
#include "attach/rules/ggml_symbols.h"

/*
 * A patched function sets this to its inner code and leads to its hook, whose resolve() takes it
 * and sets NULL. The caller's address does not tell enough: a function that a hook called may have
 * jumped to the patched function.
 */
extern __thread void *patched_told __attribute__((tls_model("initial-exec")));

/*
 * Patch the objects that were loaded since the last call. wishes: [GGML_SYMBOL_COUNT], or NULL to
 * patch nothing in these objects, ever. is_live: other threads may be executing them; then
 * functions that cannot be patched under other threads stay as they are.
 */
void patched_look(const struct patch_wish *wishes, bool is_live);

/*
 * A recorder attaches to the running process: prepare jumps in all objects with engines, whether
 * the dynamic linker reaches them or not, and list them. False: no object has such functions.
 */
bool patched_enter(const struct patch_wish *wishes, struct brick_enter_control *control);

/* Objects were unloaded: free their trampolines. Their functions are found no more. */
void patched_forget(void);

/*
 * The code to call for a function by its name, in an object with patched functions. NULL: the
 * object has none, or no such function.
 */
void *patched_function(const struct loaded_object *object, const char *name);

/* The code that behaves as the function did before it was patched, or the function itself. */
void *patched_inner(void *function);

/* The patched function that this inner code belongs to; any other address unchanged. */
uintptr_t patched_home(uintptr_t inner);

/* Does the function lie in an object whose constants have a text of ggml's? */
bool patched_is_engine(const void *function);

/* Does any object have a patched function of that symbol? */
bool patched_has(enum ggml_symbol_id symbol);

/*
 * Put the jumps of the hot path back (on), or take them away. alone: no other thread runs, so no
 * thread can be inside of a jump. 0, or -EBUSY: there are jumps, and other threads may run.
 */
int patched_switch(bool on, bool alone);

/* Note in the recording which functions were patched, and why others were not. */
void patched_note(void);

extern pthread_mutex_t patched_mutex; /* held over forks */
