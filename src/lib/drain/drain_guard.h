/* SPDX-License-Identifier: Apache-2.0 */
/* What a consumer needs of its process when others can shrink the files that it maps. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * Whoever maps files that others can shrink must survive the SIGBUS of it: `add` learns of every
 * mapping and sets *page_lost when it had to replace a page. add returns 0 when it cannot watch one
 * more mapping, which is then not used.
 */
struct drain_guard {
	int (*add)(const void *address, size_t bytes, uint32_t *page_lost);
	void (*remove)(const void *address, size_t bytes);
};
