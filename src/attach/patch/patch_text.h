/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory for code in this process. It lies near an object, and is never writable and executable at
 * once. Functions return 0 or -errno, and keep errno. One thread at a time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { TEXT_PAGE = 4096, TEXT_WORD = 8 };

/*
 * Map whole pages within `reach` bytes of all of [low, low + bytes): first code_bytes that are
 * executable, then data_bytes that are writable. NULL: no free range, or the system forbids it. The
 * caller unmaps it.
 */
void *text_near(uintptr_t low, size_t bytes, uint64_t reach, size_t code_bytes, size_t data_bytes);

/* Write code that no thread executes now. */
int text_write(uintptr_t address, const void *bytes, size_t count);

/*
 * Write code that other threads may execute at any time, in one store: at most 8 bytes within one
 * aligned word. -EBUSY: the bytes cross a word, or a forked process shares the page meanwhile.
 */
int text_write_live(uintptr_t address, const void *bytes, size_t count);
