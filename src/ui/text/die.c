/* SPDX-License-Identifier: Apache-2.0 */
/* Goes when nothing below cli/ ends the program. */
#include "ui/text/die.h"

#include <stdlib.h>

void die(int code, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	warn_arguments(format, arguments);
	va_end(arguments);
	exit(code);
}
