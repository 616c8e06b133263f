/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For what is injected into other people's programs: starting the recorder's session early, and
 * saying what the hooks themselves cost. Any thread, each for itself.
 */
#ifndef BRICK_ATTACH_H
#define BRICK_ATTACH_H

#include <stdint.h>
#include "brick/export.h"

BRICK_BEGIN_DECLS

/*
 * Make sure that the session runs and that this thread has its lane, so that neither happens inside
 * of something that is being timed. 0, or -ENOENT when recording is off or there is no room.
 */
BRICK_API int brick_thread_ready(void);

/*
 * One hook call in `calls` was timed whole and took `ticks`. Kept on the thread's lane; does nothing
 * where there is none.
 */
BRICK_API void brick_hook_cost(uint64_t calls, uint64_t ticks);

/* A sample of this site is about to be recorded: bring it into the cache. Any index. */
BRICK_API void brick_site_prefetch(uint32_t site);

BRICK_END_DECLS

#endif
