/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Remembers decoded packets: one that differs in its timestamp only need not be decoded again. This
 * only saves time: a NULL memo is legal everywhere and remembers nothing. One thread at a time.
 */
#pragma once

#include "trace/load_ids.h"

struct load_memo;
struct load_memo *load_memo_create(void); /* NULL: no memory */
void load_memo_destroy(struct load_memo *m);

/* Does what an equal packet did before. False: no equal packet is known, and nothing was done. */
bool load_memo_packet(struct load_memo *m, struct build *b, struct pb_reader packet);
/* Does that for the packets at the begin of a chunk and moves chunk->at behind them. */
void load_memo_packets(struct load_memo *m, struct build *b, struct pb_reader *chunk);
/* Remembers that the packet, with that timestamp field, came to that slice of the sequence. */
void load_memo_add(struct load_memo *m, struct load_sequence *s, struct pb_reader packet,
	struct pb_reader timestamp, const struct build_slice *slice);
