/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inflates ahead: a second thread inflates the next few compressed packets while the caller decodes
 * the packet before them. The caller inflates itself if the file is short or no thread can be had.
 * Results come in the order in which packets were added. One thread at a time calls these
 * functions.
 */
#pragma once

#include <stdbool.h>
#include "base/pb_read.h"

struct prefetch;
struct prefetch *prefetch_create(void);	   /* NULL: no memory */
void prefetch_destroy(struct prefetch *p); /* NULL is legal */
bool prefetch_is_full(const struct prefetch *p);

/*
 * Adds a compressed packet, which is copied; it must not be full. `offset` comes back with the
 * result. 0 or -ENOMEM.
 */
int prefetch_add(struct prefetch *p, struct pb_reader packed, uint64_t offset);

/*
 * Waits for the oldest packet that was added. False: there is none. *error: the result of
 * inflate_packet(); *out: the packets in it, valid until prefetch_release(), which must come before
 * the next prefetch_take().
 */
bool prefetch_take(struct prefetch *p, struct pb_reader *out, int *error, uint64_t *offset);
void prefetch_release(struct prefetch *p);

/* Inflates one compressed packet at a time, in the caller's thread. */
struct inflater;
struct inflater *inflater_create(void);		  /* NULL: no memory */
void inflater_destroy(struct inflater *inflater); /* NULL is legal */
/*
 * Sets *out to the packets in a compressed packet, valid until the next call. 0, -ENOMEM, or
 * BRICK_EFORMAT: it cannot be inflated.
 */
int inflate_packet(struct inflater *inflater, struct pb_reader packed, struct pb_reader *out);
