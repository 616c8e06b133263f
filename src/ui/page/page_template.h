/* SPDX-License-Identifier: Apache-2.0 */
/* The bundled page, made at build time from html/; 0 bytes in a build without npm. */
#pragma once

#include <stddef.h>

extern const char page_template_text[];
extern const size_t page_template_bytes;

/* The place for the numbers. */
#define PAGE_TEMPLATE_MARK "{\"brick\":\"data\"}"
