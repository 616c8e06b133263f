/* SPDX-License-Identifier: Apache-2.0 */
/* Collisions are not resolved: who is overwritten has no number. */
#include "attach/common/newest_numbers.h"

#include "base/hash.h"
#include "base/scope.h"

static struct newest_number *place_of(struct newest_numbers *n, uint64_t of, uint64_t part)
{
	return &n->places[hash_add(hash_u64(of), part) & (n->count - 1)];
}

void newest_numbers_set(struct newest_numbers *n, uint64_t of, uint64_t part, uint64_t number)
{
	HOLD(&n->lock);
	*place_of(n, of, part) = (struct newest_number){of, part, number};
}

uint64_t newest_numbers_get(struct newest_numbers *n, uint64_t of, uint64_t part)
{
	HOLD(&n->lock);
	struct newest_number p = *place_of(n, of, part);
	return p.of == of && p.part == part ? p.number : 0;
}

void newest_numbers_forget(struct newest_numbers *n, uint64_t of, uint64_t part)
{
	HOLD(&n->lock);
	struct newest_number *p = place_of(n, of, part);
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
