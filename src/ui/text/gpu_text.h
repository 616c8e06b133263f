/* SPDX-License-Identifier: Apache-2.0 */
/* GPUs in words: what they are, how busy they were, and why they were idle. Main thread. */
#pragma once

#include "analysis/devices/collectives.h"
#include "analysis/devices/gpu_times.h"

/* "NVIDIA H100, 132 SMs", "cuda device 1", "gpu". The caller frees. */
char *gpu_label(const struct run *run, const struct gpu *gpu);

/* The number of bytes in a note of a GPU; ANALYSIS_UNKNOWN: there is none. */
uint64_t gpu_bytes(const struct run *run, const struct gpu *gpu, const char *what);

/*
 * "busy 87.2 % of 1.20s (12.1 % only collectives), idle 153ms; memory: 40 of 80 GB". NULL: nothing
 * ran on it in the phase. The caller frees.
 */
char *gpu_busy_text(const struct run *run, const struct gpu *gpu, const struct gpu_time *time);

/* "61 % the host between operators, 20 % launch latency, ...". NULL: it never idled. The caller
 * frees. */
char *gpu_idle_text(const struct run *run, const struct gpu_time *time);

/*
 * "AllReduce, 2 ranks of default_pg: 30 of 1.56ms, 26.6MB each, 17.0 GB/s (bus 17.0); 84.4 %
 * exposed, most before Convolution". steps: 0: not known. The caller frees.
 */
char *collective_text(const struct run *run, const struct collective *collective, uint64_t steps);

/* The cause of idle time, as the rest of "the GPU was idle: ". */
const char *gpu_idle_words(enum gpu_idle_cause cause);
