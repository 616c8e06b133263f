/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages are numbered by communicator, peer, tag and direction: MPI delivers those that agree in
 * these in the order in which they were sent, so that sender and receiver give a message the same
 * number. Numbers go on while nothing records. Any thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "base/hashmap.h"

/* The last numbers of a communicator's messages, by their ends. All zero has none. */
struct mpi_numbers {
	struct hashmap last;
	bool has_none[2]; /* of messages received, sent: they are not known any more */
};

/* The number of the next message to or from a peer; 0: it is not known, which is counted. */
uint32_t mpi_message_number(struct mpi_numbers *numbers, bool is_sent, int32_t peer, int32_t tag);

/*
 * A receive that has a number may take no message. If the number is not the last one, the end's
 * messages have no numbers from now on.
 */
void mpi_message_give_back(struct mpi_numbers *numbers, int32_t peer, int32_t tag, uint32_t number);

/* From now on the communicator's messages of that direction have no numbers. */
void mpi_messages_lose(struct mpi_numbers *numbers, bool is_sent);

/* False: a number that a receive from this end was given earlier may be wrong. */
bool mpi_message_is_numbered(const struct mpi_numbers *numbers, int32_t peer, int32_t tag);

void mpi_numbers_fini(struct mpi_numbers *numbers);

/* Notes at the end of the process how many messages have no number, if any. */
void mpi_messages_tell_at_exit(void);
