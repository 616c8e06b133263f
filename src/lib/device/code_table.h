/* SPDX-License-Identifier: Apache-2.0 */
/* The sources of kernels, for the rest of the library. */
#pragma once

#include "lib/session/session_map.h"

/* Into a new session, under the session lock. */
void brick__codes_publish(struct brick__session *session);
