/* SPDX-License-Identifier: Apache-2.0 */
/* Names of C++, demangled by the C++ runtime if the process has one loaded. Any thread. */
#pragma once

/*
 * The readable form of a mangled name; the caller frees. NULL: there is none (no mangled name, no
 * runtime, or no memory), and the name is to be shown as it is.
 */
char *demangle(const char *name);
