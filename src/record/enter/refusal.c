/* SPDX-License-Identifier: Apache-2.0 */
#include "record/enter/refusal.h"

#include <stdarg.h>
#include <stdio.h>

int refusal(char why[REFUSAL_BYTES], int error, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(why, REFUSAL_BYTES, format, arguments);
	va_end(arguments);
	return error;
}
