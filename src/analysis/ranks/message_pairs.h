/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages between ranks: what was sent is held against what was received. MPI keeps the order of
 * messages that agree in communicator, sender, receiver and tag, so that the two ends of a message
 * have the same number. A call that receives waits for its senders until the last of them has begun
 * to send; the rest of it is the transfer. Pure; any thread.
 */
#pragma once

#include "trace/run.h"

/*
 * The same number for both ends of a message, and for no other message; 0: the ends are not known.
 * event: SENT or RECEIVED.
 */
uint64_t message_key(const struct run *run, const struct run_message *message);

/* The call that sent or received a message; NULL: not known. */
const struct run_sample *message_call(const struct run *run, const struct run_message *message);

struct message_pair {
	uint32_t sent, received; /* in run->messages */
};

struct message_pairs {
	struct message_pair *list; /* in the order of `received` */
	size_t count;
	uint64_t bytes; /* of all of them */
	/* without the other end: of ranks that were not recorded, lost, or not numbered */
	uint64_t sent_alone, received_alone;
	uint64_t unequal; /* pairs whose ends tell different numbers of bytes */
	/* Of the calls in which messages were received. */
	uint64_t calls, waited_ns, transfer_ns;
};

/* 0 or -ENOMEM; *pairs is then empty. */
int message_pairs_init(struct message_pairs *pairs, const struct run *run);
void message_pairs_fini(struct message_pairs *pairs);
