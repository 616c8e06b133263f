/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules of a lane's records: slices nest, time never runs back, ids are in the tables. Nothing
 * in a record is trusted: a record that breaks a rule is counted and left out, and the others go to
 * writer_lane.c. One thread at a time.
 */
#pragma once

#include "lib/writer/writer_lane.h"

/*
 * Records in ring order; count: not 0. A record of which the next call may say more is held back
 * until then. 0, or the error of the packets.
 */
int lane_rules_take(struct writer_lane *lane, const struct brick_record *records, size_t count);

/* Hand over what is held back. */
int lane_rules_release(struct writer_lane *lane);
