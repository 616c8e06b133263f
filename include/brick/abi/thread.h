/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frozen layout of a thread's own place, and the fast half of begin and end on it. The library and
 * programs that define BRICK_INLINE share it. The fast half leaves all unusual cases to the
 * library: no lane, a full ring, another brick inside, an id of BRICK_FIRST_ROWS or more, no usable
 * counter.
 * It knows them by a frame that is taken (brick__place() returns NULL) or by a span that is not the
 * thread's (brick__leaf() returns NULL). All functions: only on the thread whose place it is.
 */
#ifndef BRICK_ABI_THREAD_H
#define BRICK_ABI_THREAD_H

#include <stdbool.h>
#include <stdint.h>
#include "brick/abi/lane.h"
#include "brick/export.h"

BRICK_BEGIN_DECLS

/* The depth of no span. */
#define BRICK__NO_SPAN UINT32_MAX

struct brick_session;

struct brick__thread {
	uint32_t serial; /* the value of brick__on when the lane was last found to be right */
	uint32_t span;	 /* of a brick that begins now; BRICK__NO_SPAN: the library begins it */
	struct brick_frame *frame; /* for a brick that begins now; free while its `kind` is 0 */
	uint64_t word; /* the 8 bytes of that frame from `kind` on, with 0 as brick: add id << 16 */
	struct brick_lane *lane;   /* NULL: it has none */
	struct brick_record *ring; /* of the lane */
	uint64_t mask;		   /* of the ring: capacity - 1; 0: there is no ring */

	/* read and written by the library only */
	uint32_t tag;		       /* a span of this thread is tag | depth + 1 */
	uint32_t number;	       /* serial number of the lane's session */
	struct brick_session *session; /* that the thread uses; NULL: the process's own */
};

/* The calling thread's. serial is BRICK__NO_SERIAL while it has no lane. */
extern BRICK_API __thread struct brick__thread brick__thread
	__attribute__((tls_model("initial-exec")));

/* 0 while no session records; it changes whenever the set of recording sessions does. */
BRICK_API extern uint32_t brick__on;

#define BRICK__ALWAYS static inline __attribute__((always_inline))

/*
 * Eight bytes of a frame or record. Each is one relaxed atomic store, so that the compiler does not
 * put two of them together first: such a store would be late.
 */
typedef uint64_t brick__word __attribute__((may_alias));

BRICK__ALWAYS void brick__store(void *to, uint64_t word)
{
	__atomic_store_n((brick__word *)to, word, __ATOMIC_RELAXED);
}

BRICK__ALWAYS uint64_t brick__load(const void *from)
{
	return __atomic_load_n((const brick__word *)from, __ATOMIC_RELAXED);
}

/* Returns the frame for a brick that begins now; NULL: the library must begin the brick. */
BRICK__ALWAYS struct brick_frame *brick__place(
	const struct brick__thread *self, uint32_t on, uint32_t brick)
{
	if (BRICK_UNLIKELY(self->serial != on || brick >= BRICK_FIRST_ROWS))
		return NULL;
	struct brick_frame *frame = self->frame;
	if (!frame)
		__builtin_unreachable(); /* a thread with a session has one */
	return BRICK_LIKELY(!brick__load(&frame->kind)) ? frame : NULL;
}

/* Returns the frame of `span` if the fast half began it and may end it; NULL: the library must. */
BRICK__ALWAYS struct brick_frame *brick__leaf(const struct brick__thread *self, uint32_t span)
{
	if (BRICK_UNLIKELY(self->span != span))
		return NULL;
	struct brick_frame *frame = self->frame;
	if (!frame)
		__builtin_unreachable(); /* where a span may begin there is one */
	return BRICK_LIKELY(frame->flags & BRICK_FLAG_UNCOUNTED) ? frame : NULL;
}

/*
 * Writes the SAMPLE of the brick in `frame`, which began at `begin` and ended at `now` (ticks).
 * word: the frame's 8 bytes from `kind` on, or 0: load them. flags: enum brick_record_flags to
 * add. payload: the record's `elements`. True: the caller frees the frame (`kind` = 0). False: no
 * room, or too long; nothing was written, and the library must end the brick.
 */
BRICK__ALWAYS bool brick__sample(struct brick__thread *self, struct brick_frame *frame,
	uint64_t begin, uint64_t word, uint64_t now, uint32_t flags, uint64_t payload)
{
	struct brick_lane *lane = self->lane;
	uint64_t ticks = now - begin, head = lane->head;

	if (BRICK_UNLIKELY(ticks > INT32_MAX || head >= lane->limit))
		return false;
	struct brick_record *record = &self->ring[head & self->mask];
	brick__store(&record->begin, begin);
	brick__store(&record->ticks, ticks); /* `wait` is 0 */
	word = word ? word : brick__load(&frame->kind);
	brick__store(&record->kind, word | (uint64_t)flags << 48);
	brick__store(&record->elements, payload);
	__atomic_store_n(&lane->head, head + 1, __ATOMIC_RELEASE);
	(frame - 1)->child += ticks;
	return true;
}

BRICK_END_DECLS

#endif
