/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of NVTX's handles and numbers. Without another tool a handle is the address of our object;
 * with another tool it is that tool's. A program may pass anything as a handle, so no handle is
 * dereferenced before it is found in a table. Any thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "attach/annotate/annotations.h"

/* Does another tool take the calls, too? Set before the program's first call. */
extern bool nvtx_is_chained;

/* The domain of a handle; for NULL and unknown handles the domain "". */
struct annotation_domain *nvtx_domain_of(const void *handle);
void nvtx_domain_keep(const void *handle, const struct annotation_domain *domain);

/* The annotation of a registered string; NULL: an unknown handle. */
const struct annotation *nvtx_string_of(const void *handle);
void nvtx_string_keep(const void *handle, const struct annotation *annotation);

/* Our category for a domain's own category number. */
uint32_t nvtx_category_of(const struct annotation_domain *domain, uint32_t number);
void nvtx_category_keep(const struct annotation_domain *domain, uint32_t number, uint32_t category);

/*
 * started: the number that the program gets for a range. ours: of ranges_start(); theirs: the other
 * tool's number, 0: none. ended: end the range with the program's number.
 */
uint64_t nvtx_range_started(uint64_t theirs, uint64_t ours);
void nvtx_range_ended(uint64_t number);
