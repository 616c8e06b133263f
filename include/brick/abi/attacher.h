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
 * Checks whether the library would work on this machine. 0: yes, and `text` names the driver or
 * mechanism that it would use. -errno: no, and `text` says why. The function writes a
 * NUL-terminated text of at most `bytes` bytes. `brick doctor` calls it once, in a process of its
 * own that records nothing.
 */
typedef int (*brick_attacher_check_fn)(char *text, size_t bytes);

#ifdef __cplusplus
extern "C" {
#endif
/* The function that the library exports under the name BRICK_ATTACHER_CHECK. */
int brick_attacher_check(char *text, size_t bytes);
#ifdef __cplusplus
}
#endif

#endif
