/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inflating ahead: a second thread inflates the next few compressed packets while the caller
 * decodes the one before them. Memory is that of the few. Short files, and processes that get no
 * thread, are inflated by the caller. The caller is one thread; results come in the order handed
 * in.
 */
#pragma once

#include "trace/pb_read.h"

struct prefetch;
struct prefetch *prefetch_create(void);
void prefetch_destroy(struct prefetch *p);
int prefetch_is_full(const struct prefetch *p);

/* One more, if it is not full; packed is copied. 0: no memory. */
int prefetch_add(struct prefetch *p, struct pb_reader packed, uint64_t offset);

/* Whether there is one; of the oldest: *result: 1, 0: cannot be inflated, -1: no memory; *out: its
 * packets until it is released. */
int prefetch_take(struct prefetch *p, struct pb_reader *out, int *result, uint64_t *offset);
void prefetch_release(struct prefetch *p);
