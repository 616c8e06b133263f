// SPDX-License-Identifier: Apache-2.0
//
// Turns rows of floats into the element types a GGUF file can hold. Pure functions; any thread.
#pragma once

#include <stdint.h>

#include "gguf_writer.h"

// Elements that share one scale; a row must be a multiple of this long.
uint64_t gguf_block_elements(enum gguf_type type);

// Bytes that a row of `n` elements takes in the file.
uint64_t gguf_row_bytes(enum gguf_type type, uint64_t n);

// Writes gguf_row_bytes(type, n) bytes to `out`.
void gguf_encode_row(enum gguf_type type, const float *row, uint64_t n, void *out);
