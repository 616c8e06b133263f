/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packets that were decoded before, but for their timestamp. Remembering is a help, not a need:
 * NULL is legal everywhere and remembers nothing. One thread at a time.
 */
#pragma once

#include "trace/load_ids.h"

struct load_memo;
struct load_memo *load_memo_create(void); /* NULL: no memory */
void load_memo_destroy(struct load_memo *m);

/* Does again what an equal packet did before; false: none is known, nothing was done. */
bool load_memo_packet(struct load_memo *m, struct build *b, struct pb_reader packet);
/* The same for the packets at the begin of a chunk, as far as they are known. */
void load_memo_packets(struct load_memo *m, struct build *b, struct pb_reader *chunk);
void load_memo_add(struct load_memo *m, struct load_sequence *s, struct pb_reader packet,
	struct pb_reader timestamp, const struct build_slice *slice);
