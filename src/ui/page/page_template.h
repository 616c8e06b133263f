/* SPDX-License-Identifier: Apache-2.0 */
/* The page, which bundle.mjs makes from js/ at build time; 0 bytes in a build without npm. */
#pragma once

#include <stddef.h>

extern const char page_template_text[];
extern const size_t page_template_bytes;

/* Stands once in the page; the numbers replace it. js/page.html has the same text. */
#define PAGE_TEMPLATE_MARK "{\"brick\":\"data\"}"
