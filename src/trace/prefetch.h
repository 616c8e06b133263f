/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inflating ahead: a second thread inflates the next few compressed packets while the caller
 * decodes the one before them. Memory is that of the few. Short files, and processes that get no
 * thread, are inflated by the caller. The caller is one thread; results come in the order handed
 * in.
 */
#pragma once

#include <stdbool.h>
#include "trace/pb_read.h"

struct prefetch;
struct prefetch *prefetch_create(void);
void prefetch_destroy(struct prefetch *p);
bool prefetch_is_full(const struct prefetch *p);

/* One more, if it is not full; packed is copied. 0 or -ENOMEM. */
int prefetch_add(struct prefetch *p, struct pb_reader packed, uint64_t offset);

/*
 * The oldest one; false: there is none. *error: as inflate_packet() says; *out: its packets, until
 * it is released.
 */
bool prefetch_take(struct prefetch *p, struct pb_reader *out, int *error, uint64_t *offset);
void prefetch_release(struct prefetch *p);

/* One compressed packet at a time, in the caller's thread. */
struct inflater;
struct inflater *inflater_create(void);
void inflater_destroy(struct inflater *inflater);
/* The packets of a compressed one, valid until the next call. 0, -ENOMEM, or BRICK_EFORMAT: it
 * cannot be inflated. */
int inflate_packet(struct inflater *inflater, struct pb_reader packed, struct pb_reader *out);
