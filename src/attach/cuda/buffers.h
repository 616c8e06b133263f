/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Buffers that CUPTI fills with records. They are taken on the program's own threads, so they are
 * there before they are asked for, and cleared when they come back and not when they are handed
 * out. There are only so many: when all are out CUPTI drops records, and counts them. Any thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Have some ready. 0 or -ENOMEM. */
int buffers_prepare(void);

/* A cleared buffer; NULL and 0 bytes when all are in use. */
uint8_t *buffers_take(size_t *bytes);

/* Back again, of which `used` bytes were written to. */
void buffers_give(uint8_t *buffer, size_t used);
