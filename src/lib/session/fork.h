/* SPDX-License-Identifier: Apache-2.0 */
/* Surviving fork. */
#pragma once

/* From now on the locks are held over forks, which leave the child without a session. Once. */
void brick__forks_watch(void);
