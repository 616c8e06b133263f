/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides who may read. Knows texts of a request only, so that tests need no server. Any thread.
 */
#pragma once

#include <stdbool.h>

/*
 * True if `given`, a request's token, is `token`. given NULL: the request has none, false. The time
 * depends on the length of `given` alone, so that it does not tell how much of it is right.
 */
bool access_token(const char *given, const char *token);

/* The token in a header's value "Bearer TOKEN", as a part of it; NULL: it has none. */
const char *access_bearer(const char *authorization);

/*
 * True if a Host header names this machine itself ("localhost", 127.x.y.z or [::1], with any port
 * or none). A foreign page whose name was made to lead here (DNS rebinding) has its own name as
 * Host.
 */
bool access_is_local(const char *host);

/* True if a (numeric) address to bind to can be reached from this machine only. */
bool access_is_loopback(const char *address);
