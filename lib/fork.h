/* SPDX-License-Identifier: Apache-2.0 */
/* Surviving fork. */
#ifndef BRICK_LIB_FORK_H
#define BRICK_LIB_FORK_H

/* From now on the locks are held over forks, which leave the child without a session. Once. */
void brick__forks_watch(void);

#endif
