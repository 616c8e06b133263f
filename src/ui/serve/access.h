/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides who may read: by the text of a request alone, so that it can be tested without one. Any
 * thread.
 */
#pragma once

#include <stdbool.h>

/*
 * True if a request's token is the right one. The time depends on the given token only, not on how
 * much of it is right. given: NULL is no token.
 */
bool access_token(const char *given, const char *token);

/* The token in "Authorization: Bearer TOKEN"; NULL if it holds none. */
const char *access_bearer(const char *authorization);

/*
 * True if a Host header names this machine itself ("localhost", 127.x.y.z or [::1], with any port
 * or none). Somebody else's page whose name was made to lead here (DNS rebinding) has another host.
 */
bool access_is_local(const char *host);

/* True if a (numeric) address to bind to can be reached from this machine only. */
bool access_is_loopback(const char *address);
