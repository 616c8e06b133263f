/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The meaning of NVTX's handles and numbers. Without another tool a handle is our own address; with
 * one it is that tool's. Programs that are not traced may pass anything, so no handle is trusted:
 * strings are looked up, and domains lie in one array. Any thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "attach/annotate/annotations.h"

/* Another tool is in the process; set before the first call of the program comes. */
extern bool nvtx_is_chained;

/* The domain of a handle. NULL, and any handle that nobody registered: the domain "". */
struct annotation_domain *nvtx_domain_of(const void *handle);
void nvtx_domain_keep(const void *handle, const struct annotation_domain *domain);

/* NULL: nobody registered it. */
const struct annotation *nvtx_string_of(const void *handle);
void nvtx_string_keep(const void *handle, const struct annotation *annotation);

/* Our category for a domain's own number of one. */
uint32_t nvtx_category_of(const struct annotation_domain *domain, uint32_t number);
void nvtx_category_keep(const struct annotation_domain *domain, uint32_t number, uint32_t category);

/*
 * The number that the program gets for a range (attach/annotate/ranges.h), and its end; theirs: the
 * other tool's number, 0: it has none.
 */
uint64_t nvtx_range_started(uint64_t theirs, uint64_t ours);
void nvtx_range_ended(uint64_t number);
