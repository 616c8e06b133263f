/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptions of launched kernels, made from CUPTI's records, each registered once. Names are
 * demangled if the program has a C++ runtime. Consumer only (cuda_records.h).
 */
#pragma once

#include <stdint.h>
#include "attach/cuda/cuda_abi.h"

/* Indices for struct brick_command. copy: CUPTI's kind of copy. */
uint32_t kernels_of(const struct cupti_kernel *record);
uint32_t kernels_copy(uint8_t copy);
uint32_t kernels_fill(void);

/* A whole graph, by CUPTI's id of it. */
uint32_t kernels_graph(uint32_t id);
