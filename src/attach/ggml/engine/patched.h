/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects that have ggml inside and call it without the dynamic linker: static programs, addons
 * that export nothing, libraries that bind within themselves. Their functions are patched to lead
 * to our hooks (src/attach/patch/patch.h), before anybody can call them: when we are loaded, and in
 * dlopen(). The library that does so is loaded only where there is such an object. Any thread.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include "attach/common/object.h"
#include "attach/patch/patch.h"
#include "attach/rules/ggml_symbols.h"

/*
 * When a patched function leads to a hook, this holds what is behind that function; the hook takes
 * it first of all (resolve.h). The caller's address would not tell: a function that we called may
 * have jumped there.
 */
extern __thread void *patched_told __attribute__((tls_model("initial-exec")));

/*
 * Look at what was loaded since the last time, and patch it. is_live: other threads may be
 * executing it, and what cannot be patched under them stays as it is. So does all where wishes are
 * NULL. They are by enum ggml_symbol_id.
 */
void patched_look(const struct patch_wish *wishes, bool is_live);

/* Objects were unloaded: forget those that are gone. */
void patched_forget(void);

/* A function by its name, in an object of which we have patched something. NULL: not there. */
void *patched_function(const struct loaded_object *object, const char *name);

/* The code that behaves as the function did before it was patched, or the function itself. */
void *patched_inner(void *function);

/* The opposite: the patched function for its inner code; any other address unchanged. */
uintptr_t patched_home(uintptr_t inner);

/* Does the function lie in an object that has a word of ggml's in its constants? */
bool patched_is_engine(const void *function);

/* Is there a patched function of that symbol? */
bool patched_has(enum ggml_symbol_id symbol);

/*
 * Put the jumps of the hot path back (on), or take them away. alone: no other thread runs, so that
 * nobody can be inside of one. -EBUSY: there are jumps, and other threads may run.
 */
int patched_switch(bool on, bool alone);

/* Tell the recording what was patched, and what was not and why. */
void patched_note(void);

extern pthread_mutex_t patched_mutex; /* held over forks */
