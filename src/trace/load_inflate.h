/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inflating compressed packets, bounded: what a hostile file may make of a few bytes is limited by
 * a ratio that no recording comes near. The memory is kept from one packet to the next.
 */
#pragma once

#include "trace/pb_read.h"

struct load_inflater;
struct load_inflater *load_inflater_create(void);
void load_inflater_destroy(struct load_inflater *inflater);

/* The packets of a compressed one, valid until the next call. 1, 0: cannot be inflated, -1: no
 * memory. */
int load_inflate(struct load_inflater *inflater, struct pb_reader packed, struct pb_reader *out);
