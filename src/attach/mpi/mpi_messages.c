/* SPDX-License-Identifier: Apache-2.0 */
/* No more than MPI_ENDS ends have numbers at a time. */
#include "attach/mpi/mpi_messages.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/lock.h"
#include "brick/brick.h"

enum { MPI_ENDS = 1 << 18 };		 /* of all communicators */
static const uint64_t lost = 1ull << 32; /* instead of a number: the end has none any more */

static uint64_t messages_ends, messages_unnumbered;
static bool messages_lost_some;
static pid_t messages_told_by;
static pthread_mutex_t messages_lock = PTHREAD_MUTEX_INITIALIZER;

LOCK_OVER_FORKS(messages_lock)

static uint64_t messages_end(bool is_sent, int32_t peer, int32_t tag)
{
	return (uint64_t)(uint32_t)peer << 33 | (uint64_t)is_sent << 32 | (uint32_t)tag;
}

uint32_t mpi_message_number(struct mpi_numbers *numbers, bool is_sent, int32_t peer, int32_t tag)
{
	uint64_t key = messages_end(is_sent, peer, tag);

	lock_take_briefly(&messages_lock);
	uint64_t last =
		peer < 0 || numbers->has_none[is_sent] ? lost : hashmap_get(&numbers->last, key);
	bool is_new = last == HASHMAP_NONE;
	if (is_new)
		last = messages_ends < MPI_ENDS ? 0 : lost;
	bool is_given = last < UINT32_MAX && !hashmap_set(&numbers->last, key, last + 1);
	messages_ends += is_given && is_new;
	messages_unnumbered += !is_given;
	lock_give_brief(&messages_lock);
	return is_given ? (uint32_t)last + 1 : 0;
}

void mpi_message_give_back(struct mpi_numbers *numbers, int32_t peer, int32_t tag, uint32_t number)
{
	uint64_t key = messages_end(false, peer, tag);

	lock_take_briefly(&messages_lock);
	uint64_t last = hashmap_get(&numbers->last, key);
	if (last != HASHMAP_NONE) {
		messages_lost_some |= last != number;
		hashmap_set(&numbers->last, key, last == number ? last - 1 : lost);
	}
	lock_give_brief(&messages_lock);
}

void mpi_messages_lose(struct mpi_numbers *numbers, bool is_sent)
{
	lock_take_briefly(&messages_lock);
	numbers->has_none[is_sent] = true;
	messages_lost_some = true;
	lock_give_brief(&messages_lock);
}

bool mpi_message_is_numbered(const struct mpi_numbers *numbers, int32_t peer, int32_t tag)
{
	if (!__atomic_load_n(&messages_lost_some, __ATOMIC_RELAXED))
		return true;
	lock_take_briefly(&messages_lock);
	bool is_numbered = !numbers->has_none[false] &&
			   hashmap_get(&numbers->last, messages_end(false, peer, tag)) != lost;
	lock_give_brief(&messages_lock);
	return is_numbered;
}

void mpi_numbers_fini(struct mpi_numbers *numbers)
{
	lock_take_briefly(&messages_lock);
	messages_ends -= numbers->last.count;
	hashmap_fini(&numbers->last);
	lock_give_brief(&messages_lock);
}

static void messages_tell(void)
{
	uint64_t count = __atomic_load_n(&messages_unnumbered, __ATOMIC_RELAXED);

	if (count && getpid() == messages_told_by)
		brick_note("mpi.lost", "%llu messages whose other end cannot be found",
			(unsigned long long)count);
}

void mpi_messages_tell_at_exit(void)
{
	messages_told_by = getpid();
	atexit(messages_tell);
}
