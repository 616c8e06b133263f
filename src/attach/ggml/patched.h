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
 * Of a patched function that has just led to a hook, what is behind it; the hook takes it first of
 * all (resolve.h). Who called does not tell: a function may jump to it that was called by us.
 */
extern __thread void *patched_told __attribute__((tls_model("initial-exec")));

/*
 * Look at what was loaded since the last time, and patch it: nobody may have called it yet. NULL:
 * somebody may have, and it stays as it is. Wishes are by enum ggml_symbol_id.
 */
void patched_look(const struct patch_wish *wishes);

/* Objects were unloaded: forget those that are gone. */
void patched_forget(void);

/* A function of an object that we have patched something in, by its name; NULL: not there. */
void *patched_function(const struct loaded_object *object, const char *name);

/* What behaves as a function did before it was patched: the function itself if it was not. */
void *patched_inner(void *function);

/* The patched function that an inner one behaves as; any other address as it is. */
uintptr_t patched_home(uintptr_t inner);

/* Is there a patched function of that symbol? */
bool patched_has(enum ggml_symbol_id symbol);

/*
 * Take the jumps of the hot path away, or put them back, where nobody else can be in them: `alone`.
 * -EBUSY: there are some, and others can.
 */
int patched_switch(int on, int alone);

/* Tell the recording what was patched, and what was not and why. */
void patched_note(void);

extern pthread_mutex_t patched_mutex; /* held over forks */
