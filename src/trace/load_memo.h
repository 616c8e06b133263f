/* SPDX-License-Identifier: Apache-2.0 */
/* Packets that were decoded before, but for their timestamp. */
#pragma once

#include "trace/load_state.h"

int load_memo_packet(struct load *l, struct pb_reader packet); /* 1: done */
void load_memo_add(struct load *l, struct load_sequence *s, struct pb_reader packet,
	struct pb_reader timestamp, const struct build_slice *slice);
void load_memo_fini(struct load *l);
