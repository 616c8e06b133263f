/* SPDX-License-Identifier: Apache-2.0 */
#include "attach/nvtx/nvtx_handles.h"

#include <pthread.h>
#include "attach/annotate/fixed_map.h"
#include "attach/annotate/ranges.h"
#include "base/hashmap.h"
#include "base/scope.h"
#include "brick/registry.h"

bool nvtx_is_chained;

static pthread_mutex_t nvtx_handles_lock = PTHREAD_MUTEX_INITIALIZER; /* for new entries */
LOCK_OVER_FORKS(nvtx_handles_lock)

static struct fixed_map_entry nvtx_handles_domain_entries[1 << 10],
	nvtx_handles_string_entries[1 << 14], category_entries[1 << 10];
static struct fixed_map nvtx_handles_domains = FIXED_MAP(nvtx_handles_domain_entries),
			nvtx_handles_strings = FIXED_MAP(nvtx_handles_string_entries),
			nvtx_handles_categories = FIXED_MAP(category_entries);

static void nvtx_handles_keep(struct fixed_map *map, uint64_t key, uint64_t value)
{
	HOLD(&nvtx_handles_lock);
	fixed_map_put(map, key, value);
}

static struct annotation_domain *no_domain(void)
{
	static struct annotation_domain *none;

	if (!__atomic_load_n(&none, __ATOMIC_RELAXED))
		__atomic_store_n(&none, annotation_domain(""), __ATOMIC_RELAXED);
	return __atomic_load_n(&none, __ATOMIC_RELAXED);
}

struct annotation_domain *nvtx_domain_of(const void *handle)
{
	uint64_t known = (uintptr_t)handle;

	if (nvtx_is_chained && known)
		known = fixed_map_get(&nvtx_handles_domains, known);
	struct annotation_domain *domain = (struct annotation_domain *)(uintptr_t)known;
	return annotation_is_domain(domain) ? domain : no_domain();
}

void nvtx_domain_keep(const void *handle, const struct annotation_domain *domain)
{
	if (nvtx_is_chained && handle)
		nvtx_handles_keep(&nvtx_handles_domains, (uintptr_t)handle, (uintptr_t)domain);
}

const struct annotation *nvtx_string_of(const void *handle)
{
	uint64_t known = handle ? fixed_map_get(&nvtx_handles_strings, (uintptr_t)handle) : 0;

	return (const struct annotation *)(uintptr_t)known;
}

void nvtx_string_keep(const void *handle, const struct annotation *annotation)
{
	if (handle)
		nvtx_handles_keep(&nvtx_handles_strings, (uintptr_t)handle, (uintptr_t)annotation);
}

static uint64_t category_key(const struct annotation_domain *domain, uint32_t number)
{
	return (uint64_t)(domain->number + 1) << 32 | number;
}

uint32_t nvtx_category_of(const struct annotation_domain *domain, uint32_t number)
{
	uint64_t known =
		number ? fixed_map_get(&nvtx_handles_categories, category_key(domain, number)) : 0;
	return known ? (uint32_t)known - 1 : BRICK_CATEGORY_OTHER;
}

void nvtx_category_keep(const struct annotation_domain *domain, uint32_t number, uint32_t category)
{
	nvtx_handles_keep(
		&nvtx_handles_categories, category_key(domain, number), (uint64_t)category + 1);
}

/* Our numbers of ranges, by those that another tool gave them. */
static struct hashmap others_ranges;

uint64_t nvtx_range_started(uint64_t theirs, uint64_t ours)
{
	if (!theirs)
		return ours;
	HOLD(&nvtx_handles_lock);
	hashmap_set(&others_ranges, theirs, ours);
	return theirs;
}

void nvtx_range_ended(uint64_t number)
{
	if (nvtx_is_chained) {
		pthread_mutex_lock(&nvtx_handles_lock);
		uint64_t known = hashmap_take(&others_ranges, number);
		pthread_mutex_unlock(&nvtx_handles_lock);
		number = known == HASHMAP_NONE ? number : known;
	}
	ranges_end(number);
}
