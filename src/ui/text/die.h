/* SPDX-License-Identifier: Apache-2.0 */
/* Goes when nothing below cli/ ends the program. */
#pragma once

#include "ui/text/exit_code.h"
#include "ui/text/text.h"

void die(int code, const char *format, ...) BRICK_PRINTF(2, 3) __attribute__((noreturn));
