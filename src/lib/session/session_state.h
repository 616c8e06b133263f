/* SPDX-License-Identifier: Apache-2.0 */
/* The life of the process's session, for those who need one before they can record. */
#pragma once

#include <stdint.h>

/* Start the session that BRICK_SESSION_DIR asks for, if it does and none runs. 0 or -errno. */
int brick__session_ensure(void);

/* What probes read: the serial number of a session, or 0. Under the session lock. */
void brick__session_switch(uint32_t serial);

/* In the child of a fork: unmap what is the parent's. */
void brick__session_abandon(void);

/* The process ends: the session is closed, and written where its consumer is in here. */
void brick__session_finish(void);

/* The library is loaded: does a recorder wait for the session that the first brick starts? */
void brick__session_arm(void);
