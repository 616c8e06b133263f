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
 * Returns a new descriptor of the session's memory, which the caller closes, and fills *output.
 * -ENOENT: no session runs. -ESTALE: the program closed the session's own descriptor. -errno.
 */
BRICK_API int brick__session_view(struct brick__session_output *output);

/*
 * From now on `stopping` is called before a thread stops the session that it uses, and
 * `forgotten` when the program destroys a session: with what brick__session_answers() pointed to,
 * unless that is NULL. A process has one such pair of functions: a later call replaces them.
 */
BRICK_API void brick__session_watch(void (*stopping)(void), void (*forgotten)(void *answers));

/*
 * Returns the place in which libbrick-report keeps its answers about the session, NULL at first. It
 * stays valid after brick_session_stop(), until brick_session_destroy().
 */
BRICK_API void **brick__session_answers(void);

/*
 * Holds the process's own session (held 1), or lets it go (0). While it is held and runs, the
 * program's brick_session_start() and brick_session_stop() do nothing and return 0.
 */
BRICK_API void brick__session_hold(int held);

BRICK_END_DECLS

#endif
