/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plan by the rest of the object (plan.h): all of its code is searched, byte by byte, for what
 * would be a jump between instructions that are displaced, all of its data for an address of such a
 * place. Too much may be found, never too little. Jumps of 8 bits are looked for in neighbours,
 * instruction by instruction: hand-written assembly has them (memcpy's variants in the C library);
 * what a compiler splits off a function lies too far away for one.
 */
#include <stdlib.h>
#include <string.h>
#include "base/order.h"
#include "attach/patch/insn.h"
#include "attach/patch/patch_plan.h"

struct search {
	struct plan **plans; /* by entry, those that are not refused */
	size_t count;
	uint64_t low, high; /* of all of them */
};

COMPARATOR(compare, struct plan *const, ORDER((*x)->entry, (*y)->entry))

/* The last plan that begins at an address or before it, if the address is in its displaced part. */
static struct plan *find(const struct search *search, uint64_t address)
{
	if (address < search->low || address >= search->high)
		return NULL;
	size_t low = BISECT(i, 0, search->count, search->plans[i]->entry <= address);
	struct plan *plan = low ? search->plans[low - 1] : NULL;
	return plan && address < plan->site + plan->displaced ? plan : NULL;
}

/* The function's own code has been decoded already. */
static int note_branch(struct plan *plan, uint64_t address, uint64_t target, int is_call)
{
	int is_own = address - plan->entry < plan->bytes;

	if (target == plan->entry)
		return is_own && !is_call
			       ? 0
			       : array_push(&plan->leads, (struct plan_lead){address, is_call});
	if (!is_own)
		plan->refused = "code elsewhere leads between its first instructions";
	return 0;
}

static int search_code(const struct search *search, const struct image_part *part)
{
	uint64_t target;
	int is_call, error = 0;

	for (uint64_t i = 0; i + 8 <= part->bytes && !error; i++) {
		uint64_t address = part->address + i;
		if (!insn_looks_like_branch(part->data + i, address, &target, &is_call))
			continue;
		struct plan *plan = find(search, target);
		if (plan)
			error = note_branch(plan, address, target, is_call);
	}
	return error;
}

static void refuse_address(const struct search *search, uint64_t address)
{
	struct plan *plan = find(search, address);

	if (plan && address > plan->entry)
		plan->refused = "an address between its first instructions is kept in data";
}

static void search_data(const struct search *search, const struct image_part *part)
{
	uint64_t word;

	for (uint64_t i = -part->address & 7; i + sizeof word <= part->bytes; i += sizeof word) {
		memcpy(&word, part->data + i, sizeof word);
		refuse_address(search, word);
	}
}

/* Jumps of 8 bits, with the bytes of their own, from functions around this one. */
static int search_neighbours(struct plan *plan, const struct image *image)
{
	enum { REACH = 130, MAX_LENGTH = 4 };
	uint64_t at = plan->entry - REACH, end = plan->site + plan->displaced + REACH, available;
	const struct image_function *f = image_function_at(image, at);
	struct insn insn;
	int error = 0;

	for (at = f ? f->address : at; at < end && !error;) {
		const uint8_t *bytes = image_bytes(image, at, &available);
		size_t length = bytes ? insn_decode(&insn, bytes, available, at) : 0;
		if (length && length <= MAX_LENGTH &&
			(insn.flow == INSN_BRANCH || insn.flow == INSN_JUMP) &&
			(insn.target == plan->entry || plan_is_inside(plan, insn.target)))
			error = note_branch(plan, at, insn.target, 0);
		at += length ? length : 1;
		f = image_function_at(
			image, at - 1); /* begins behind data, or what looked like code */
		if (f && f->address > at - (length ? length : 1) && f->address < at)
			at = f->address;
	}
	return error;
}

static int search_image(const struct search *search, const struct image *image)
{
	int error = 0;

	for (size_t i = 0; i < image->parts.count && !error; i++) {
		const struct image_part *part = &image->parts.items[i];
		if (part->is_code)
			error = search_code(search, part);
		else
			search_data(search, part);
	}
	for (size_t i = 0; i < image->pointers.count; i++)
		refuse_address(search, image->pointers.items[i]);
	return error;
}

int plan_surroundings(struct plan *const *plans, size_t count, const struct image *image)
{
	struct search search = {.plans = calloc(count + 1, sizeof(struct plan *))};
	int error = 0;

	if (!search.plans)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		if (!plans[i]->refused)
			search.plans[search.count++] = plans[i];
	if (search.count) {
		qsort(search.plans, search.count, sizeof *search.plans, compare);
		const struct plan *last = search.plans[search.count - 1];
		search.low = search.plans[0]->entry;
		search.high = last->site + last->displaced;
		error = search_image(&search, image);
		for (size_t i = 0; i < search.count && !error; i++)
			error = search_neighbours(search.plans[i], image);
	}
	free(search.plans);
	return error;
}
