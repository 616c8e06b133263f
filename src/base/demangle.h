/* SPDX-License-Identifier: Apache-2.0 */
/* Names of C++, by the runtime that is loaded. Any thread. */
#pragma once

/* The caller frees it; NULL: it stays as it is. */
char *demangle(const char *name);
