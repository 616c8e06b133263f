/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that holds code, in this process: near to some object, and written without ever being
 * writable and executable at once. Functions return 0 or -errno, and keep errno. One thread at a
 * time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { TEXT_PAGE = 4096, TEXT_WORD = 8 };

/*
 * Memory of whole pages, all of it within `reach` of all bytes from low on: the first code_bytes
 * executable, the others writable. NULL: there is none, or it is not allowed.
 */
void *text_near(uintptr_t low, size_t bytes, uint64_t reach, size_t code_bytes, size_t data_bytes);

/* Write code that nobody executes now. */
int text_write(uintptr_t address, const void *bytes, size_t count);

/*
 * Write code that other threads may reach at any time: at most 8 bytes that lie in one aligned
 * word, in one store. -EBUSY: they do not; or a process that forked meanwhile shares the page.
 */
int text_write_live(uintptr_t address, const void *bytes, size_t count);
