/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of error codes; the codes are in include/brick/error.h. */
#include "brick/error.h"

#include <string.h>
#include "brick/version.h"

const char *brick_strerror(int code)
{
	switch (code) {
#define BRICK_X(name, value, text) \
	case value:                \
		return text;
		BRICK_ERRORS(BRICK_X)
#undef BRICK_X
	}
	if (code >= 0)
		return "no error";
	const char *text = strerrordesc_np(-code);
	return text ? text : "unknown error";
}

const char *brick_version(void)
{
	return BRICK_VERSION;
}
