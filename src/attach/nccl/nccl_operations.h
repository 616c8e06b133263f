/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collectives and messages that are on the way. Each takes as long as the GPU's clock says: from
 * the first of its channels' begins to the last of their ends. Its place on the host's time line is
 * not known, so that it is recorded as an execution that the program timed itself. A handle is a
 * number, which is good for one operation: one that NCCL keeps longer leads nowhere. Any thread.
 */
#pragma once

#include <stdint.h>

struct nccl_operation {
	const char *function, *algorithm, *protocol; /* the latter two: NULL if there is none */
	const char *type;			     /* of an element */
	uint64_t count;
	uint32_t channels; /* that its kernel will tell of */
};

/* 0: it is not taken, for lack of room or for its number of channels, which is counted. */
uint64_t operations_start(const struct nccl_operation *operation);

/* Of a channel of it: begin_ns 0 is not known. 0: there is no such operation. */
uint64_t operations_channel(uint64_t operation, uint8_t channel, uint64_t begin_ns);
void operations_channel_ends(uint64_t channel, uint64_t end_ns);

/* Notes at the end of the process what was not recorded, if anything. */
void operations_tell_at_exit(void);
