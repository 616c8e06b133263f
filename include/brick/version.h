/* SPDX-License-Identifier: Apache-2.0 */
/* The version of these headers and of the library. */
#ifndef BRICK_VERSION_H
#define BRICK_VERSION_H

#include "brick/export.h"

#define BRICK_VERSION_MAJOR 0
#define BRICK_VERSION_MINOR 2
#define BRICK_VERSION_PATCH 0
#define BRICK_VERSION "0.2.0"

BRICK_BEGIN_DECLS
/* Version of the library that was loaded, as "0.2.0". */
BRICK_API const char *brick_version(void);
BRICK_END_DECLS

#endif
