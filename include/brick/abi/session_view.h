/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libbrick-report's view of the session that the calling thread uses. libbrick and libbrick-report
 * must be of one version; programs do not call this.
 */
#ifndef BRICK_ABI_SESSION_VIEW_H
#define BRICK_ABI_SESSION_VIEW_H

#include <stddef.h>
#include "brick/export.h"

BRICK_BEGIN_DECLS

/* The path of the session's recording; "" if it writes none. */
struct brick__session_output {
	char path[4096];
};

/*
 * Returns a descriptor of the session's memory, which the caller closes. -ENOENT: no session runs.
 * -ESTALE: the program closed the session's own. -errno.
 */
BRICK_API int brick__session_view(struct brick__session_output *output);

/*
 * Calls `stopping` before a thread stops the session that it uses, and `forgotten` with the
 * contents of the session's place for answers when the program destroys the session. One for each
 * process.
 */
BRICK_API void brick__session_watch(void (*stopping)(void), void (*forgotten)(void *answers));

/* The session's place for answers, NULL at first. It outlives the session's end. */
BRICK_API void **brick__session_answers(void);

/*
 * Holds the process's own session: meanwhile the program's brick_session_start() and
 * brick_session_stop() do nothing and return 0.
 */
BRICK_API void brick__session_hold(int held);

BRICK_END_DECLS

#endif
