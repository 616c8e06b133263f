/* SPDX-License-Identifier: Apache-2.0 */
/* Goes when nothing below cli/ ends the program: see text.h. */
#pragma once

#include <stddef.h>
#include "base/array.h"
#include "base/scope.h" /* SCOPED */
#include "brick/export.h"
#include "ui/text/text.h"

/* None of these returns NULL; the caller frees (SCOPED). */
void *xcalloc(size_t n, size_t size);
/* array_grow() of src/base/array.h. */
void *xgrow(void *items, size_t *capacity, size_t wanted, size_t bytes);
char *xstrdup(const char *s);
char *xasprintf(const char *format, ...) BRICK_PRINTF(1, 2);

/* Append to a text, behind `between` if there is anything in it. *text moves; NULL is empty. */
void xappend(char **text, const char *between, const char *format, ...) BRICK_PRINTF(3, 4);

/* Append an item to an ARRAY. */
#define xpush(array, ...) xcheck(array_push((array), __VA_ARGS__))

/* Ends the program if rc, of what can fail for want of memory only, is negative. */
void xcheck(int rc);
