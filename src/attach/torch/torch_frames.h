/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Python between operators, by function (`record --sample`): the time from the end of an operator
 * to the begin of the next one on the same thread is a brick of the function that runs the next
 * one, the innermost that is not PyTorch's own. Frames are read where the interpreter has them, by
 * the thread that they belong to. Owner thread; without the GIL unless a comment says otherwise.
 */
#pragma once

#include <stdbool.h>
#include "attach/torch/torch_python.h"
#include "attach/torch/torch_thread.h"

/* Set by torch_frames_prove(). unproved: it was called where no frame runs, and is to be again. */
extern bool torch_frames_known __attribute__((visibility("hidden")));
extern bool torch_frames_unproved __attribute__((visibility("hidden")));

/*
 * If functions are wanted: hold what is read of the frame that runs now against what Python says of
 * it, and begin to read frames if both agree. If they are not wanted, end that. With the GIL.
 */
void torch_frames_prove(void);

void torch_frames_leave(struct torch_thread *t);
void torch_frames_tell(struct torch_thread *t, int layer);

/* From here on the thread runs Python, inside of the brick that is open. */
static inline void torch_frames_begin(struct torch_thread *t)
{
	if (__builtin_expect(torch_frames_known, 0))
		torch_frames_leave(t);
}

/* An operator of that layer is about to begin, or the open brick to end. */
static inline void torch_frames_end(struct torch_thread *t, int layer)
{
	if (__builtin_expect(torch_frames_known, 0))
		torch_frames_tell(t, layer);
}
