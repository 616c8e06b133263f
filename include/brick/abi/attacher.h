/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The function that a library attached to programs may export for `brick doctor`
 * (docs/ATTACHERS.md). Frozen.
 */
#ifndef BRICK_ABI_ATTACHER_H
#define BRICK_ABI_ATTACHER_H

#include <stddef.h>

#define BRICK_ATTACHER_CHECK "brick_attacher_check"

/*
 * Would it work on this machine? 0: yes, and `text` (`bytes` long) says through what; negative
 * -errno: no, and `text` says why. Called once, in a process of its own that records nothing.
 */
typedef int (*brick_attacher_check_fn)(char *text, size_t bytes);

#ifdef __cplusplus
extern "C" {
#endif
/* The function of that name that a library exports. */
int brick_attacher_check(char *text, size_t bytes);
#ifdef __cplusplus
}
#endif

#endif
