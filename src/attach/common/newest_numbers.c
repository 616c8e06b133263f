/* SPDX-License-Identifier: Apache-2.0 */
/* The table of newest_numbers.h. A key has PLACES_OF_ONE possible places, and is never moved. */
#include "attach/common/newest_numbers.h"

#include "base/hash.h"
#include "base/scope.h"

enum { PLACES_OF_ONE = 8 };

/*
 * The key's own place, else its possible place with the lowest number; a free place has number 0.
 */
static struct newest_number *newest_place_of(struct newest_numbers *n, uint64_t of, uint64_t part)
{
	uint64_t hash = hash_add(hash_u64(of), part);
	struct newest_number *oldest = NULL;

	for (uint32_t i = 0; i < PLACES_OF_ONE; i++) {
		struct newest_number *p = &n->places[(hash + i) & (n->count - 1)];
		if (p->of == of && p->part == part)
			return p;
		if (!oldest || p->number < oldest->number)
			oldest = p;
	}
	return oldest;
}

void newest_numbers_set(struct newest_numbers *n, uint64_t of, uint64_t part, uint64_t number)
{
	HOLD(&n->lock);
	*newest_place_of(n, of, part) = (struct newest_number){of, part, number};
}

uint64_t newest_numbers_get(struct newest_numbers *n, uint64_t of, uint64_t part)
{
	HOLD(&n->lock);
	struct newest_number p = *newest_place_of(n, of, part);
	return p.of == of && p.part == part ? p.number : 0;
}

void newest_numbers_forget(struct newest_numbers *n, uint64_t of, uint64_t part)
{
	HOLD(&n->lock);
	struct newest_number *p = newest_place_of(n, of, part);
	if (p->of == of && p->part == part)
		p->number = 0;
}

void newest_numbers_forget_all(struct newest_numbers *n, uint64_t of)
{
	HOLD(&n->lock);
	for (uint32_t i = 0; i < n->count; i++)
		if (n->places[i].of == of)
			n->places[i].number = 0;
}

void newest_numbers_waits(struct newest_numbers *n, uint64_t of, struct brick__waits *waits)
{
	HOLD(&n->lock);
	for (uint32_t i = 0; i < n->count; i++)
		if (n->places[i].of == of)
			brick__waits_add(waits, n->places[i].number);
}
