/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How libbrick-report looks at the session that the calling thread uses (libbrick and
 * libbrick-report of one version; not for programs).
 */
#ifndef BRICK_ABI_SESSION_VIEW_H
#define BRICK_ABI_SESSION_VIEW_H

#include <stddef.h>
#include "brick/export.h"

BRICK_BEGIN_DECLS

/* What a session is written to: "" where nothing is. */
struct brick__session_output {
	char path[4096];
};

/*
 * A descriptor of the session's memory, the caller's to close. -ENOENT: no session runs. -ESTALE:
 * the program closed the session's own. -errno.
 */
BRICK_API int brick__session_view(struct brick__session_output *output);

/*
 * `stopping` is called by who stops the session that it uses, before that; `forgotten` with what
 * there is in the session's place for answers, when the program destroys it. One for each process.
 */
BRICK_API void brick__session_watch(void (*stopping)(void), void (*forgotten)(void *answers));

/* That place, NULL at first. It outlives the session's end. */
BRICK_API void **brick__session_answers(void);

/* Of the process's own session: while held, the program's brick_session_start() and
 * brick_session_stop() do nothing and return 0.
 */
BRICK_API void brick__session_hold(int held);

BRICK_END_DECLS

#endif
