/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Begin and end in the program's own code (BRICK_INLINE, brick/probe.h, which includes this). The
 * fast half is the library's own (brick/abi/thread.h); whatever it cannot do is a call.
 */
#if defined(BRICK_INLINE) && !defined(BRICK_INLINE_H)
#define BRICK_INLINE_H

#include "brick/abi/thread.h"

/*
 * Begins a brick on this thread, in the thread's present layer. The result keeps the brick's begin
 * and word, so that the end need not load them.
 */
BRICK__ALWAYS struct brick_local brick_local_begin(uint32_t brick)
{
	uint32_t on = __atomic_load_n(&brick__on, __ATOMIC_RELAXED);
	struct brick_local local = {0, 0, UINT64_MAX}; /* no frame has this word: the end is slow */

	if (BRICK_LIKELY(!on))
		return local;
	struct brick__thread *self = &brick__thread;
	struct brick_frame *frame = brick__place(self, on, brick);
	if (BRICK_UNLIKELY(!frame)) {
		local.span = brick__begin(brick);
		return local;
	}
	local.word = self->word | brick << 16;
	brick__store(&frame->kind, local.word);
	local.span = self->span;
	local.begin = __builtin_ia32_rdtsc();
	brick__store(&frame->begin, local.begin);
	return local;
}

/* Ends what brick_local_begin() began. */
BRICK__ALWAYS void brick_local_end(struct brick_local local)
{
	if (BRICK_LIKELY(!local.span))
		return;
	uint64_t now = __builtin_ia32_rdtsc();
	struct brick__thread *self = &brick__thread;
	if (BRICK_UNLIKELY(self->span != local.span ||
			   brick__load(&self->frame->kind) != local.word ||
			   !brick__sample(self, self->frame, local.begin, local.word, now, 0, 0)))
		brick__end_read(local.span, now);
	else
		brick__store(&self->frame->kind, 0);
}

/* Begin a brick on this thread, in the thread's present layer (brick_layer_set). */
BRICK__ALWAYS brick_span brick_begin(uint32_t brick)
{
	return brick_local_begin(brick).span;
}

/* End what brick_begin() began. Inner bricks still open are closed with it and counted unmatched.
 */
BRICK__ALWAYS void brick_end(brick_span span)
{
	if (BRICK_LIKELY(!span))
		return;
	uint64_t now = __builtin_ia32_rdtsc();
	struct brick__thread *self = &brick__thread;
	struct brick_frame *frame = brick__leaf(self, span);
	if (BRICK_UNLIKELY(!frame || !brick__sample(self, frame, frame->begin, 0, now, 0, 0)))
		brick__end_read(span, now);
	else
		brick__store(&frame->kind, 0);
}

#endif
