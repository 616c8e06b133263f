/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names for tensors that their engine has left without one of its own ("leaf_12", "node_7"), kept
 * beside the engine's memory and never written to it. Rules see them as if the engine had given
 * them. A tensor that has got another name from its engine meanwhile is another tensor. Any thread.
 */
#pragma once

#include <pthread.h>

enum { GIVEN_NAME_BYTES = 64 };

/* own: what the engine calls it now. Without memory the tensor stays as it is. */
void given_name_set(const void *tensor, const char *own, const char *given);

/* Have any been given? */
int given_names_any(void);

/* Under the lock: the name that was given to it, until the lock is let go; NULL: none was. */
const char *given_name_of(const void *tensor, const char *own);

extern pthread_mutex_t given_names_mutex; /* held over forks */
