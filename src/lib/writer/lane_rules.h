/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules of a lane's records: slices nest, time never runs back, ids are in the tables. Nothing
 * in a record is trusted: a record that breaks a rule is counted and left out, and the others go to
 * writer_lane.c. One thread at a time.
 */
#pragma once

#include "lib/writer/writer_lane.h"

/*
 * Takes records in ring order; count is not 0. The last record is held back if records about it may
 * follow in the next call. 0, or the error of the packets.
 */
int lane_rules_take(struct writer_lane *lane, const struct brick_record *records, size_t count);

/* Hands over the record that is held back, if there is one. 0, or the error of the packets. */
int lane_rules_release(struct writer_lane *lane);
