/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The newest records of a ring as a whole of their own: what belongs to something before them is
 * taken out, so that all that is left nests. Pure; any thread.
 */
#pragma once

#include <stddef.h>
#include "brick/abi/session.h"

/*
 * Keep the records that begin at from_ticks or later, without ends of what began before, and
 * without what is said about those. In place; returns how many are left.
 */
size_t live_window_trim(struct brick_record *records, size_t count, uint64_t from_ticks);
