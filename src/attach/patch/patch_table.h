/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of jumps: 32-bit distances from the table's own beginning, as compilers make them for a
 * switch. Where one ends is not written down: at the first word that does not lead into code. Any
 * thread.
 */
#pragma once

#include "attach/patch/image.h"

typedef int (*table_fn)(void *argument, uint64_t target);

/* Call for each address that what lies at `table` would lead to, until it returns non-zero: that.
 */
int table_walk(const struct image *image, uint64_t table, table_fn each, void *argument);
