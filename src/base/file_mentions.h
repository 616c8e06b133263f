/* SPDX-License-Identifier: Apache-2.0 */
/* A program or library that uses an engine mentions it. Any thread. */
#pragma once

#include <stdbool.h>

/* Does the file contain the text, as a symbol or a name? False also if it cannot be read. */
bool file_mentions(const char *path, const char *text);
