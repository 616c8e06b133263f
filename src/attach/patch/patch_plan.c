/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plan by the function alone (plan.h): one pass over its instructions, from the first to the
 * last. What it refers to is also tried as a table of jumps.
 */
#include "attach/patch/patch_plan.h"

#include <string.h>
#include "attach/patch/insn.h"
#include "attach/patch/patch_table.h"

/* Take instructions until a jump fits. */
static const char *displace(struct plan *plan, const uint8_t *code, uint64_t bytes)
{
	uint8_t moved[INSN_MOVED_BYTES];
	struct insn insn;

	plan->site = plan->entry;
	if (insn_decode(&insn, code, bytes, plan->entry) && insn.is_landing)
		plan->site += insn.length;
	uint64_t at = plan->site - plan->entry;
	plan->goes_on = 1;
	while (plan->displaced < insn_jump_bytes) {
		if (!plan->goes_on || at >= bytes)
			return "it is too short";
		if (!insn_decode(&insn, code + at, bytes - at, plan->entry + at))
			return "its first bytes are no instructions that are known";
		if (!insn_move(moved, code + at, bytes - at, plan->entry + at, plan->entry + at))
			return "one of its first instructions does not work elsewhere";
		plan->goes_on = insn.flow == INSN_NEXT || insn.flow == INSN_BRANCH;
		plan->displaced = (uint8_t)(plan->displaced + insn.length);
		plan->instructions++;
		at += insn.length;
	}
	return NULL;
}

void plan_fini(struct plan *plan)
{
	array_fini(&plan->leads);
}

static int is_inside(void *plan, uint64_t target)
{
	return plan_is_inside(plan, target);
}

static const char *judge_instruction(
	const struct plan *plan, const struct image *image, const struct insn *insn)
{
	int leaves = insn->flow == INSN_JUMP || insn->flow == INSN_BRANCH;

	if (insn->target && plan_is_inside(plan, insn->target))
		return "it jumps between its first instructions";
	if (leaves && insn->target == plan->entry)
		return "it jumps to its own beginning";
	if (!insn->reference)
		return NULL;
	if (plan_is_inside(plan, insn->reference))
		return "it uses an address between its first instructions";
	return table_walk(image, insn->reference, is_inside, (void *)(uintptr_t)plan)
		       ? "a table of jumps leads between its first instructions"
		       : NULL;
}

static const char *judge_body(
	const struct plan *plan, const struct image *image, const uint8_t *code)
{
	struct insn insn;
	const char *refused = NULL;

	for (uint64_t at = 0; at < plan->bytes && !refused; at += insn.length) {
		if (!insn_decode(&insn, code + at, plan->bytes - at, plan->entry + at))
			return "some of its bytes are no instructions that are known";
		refused = judge_instruction(plan, image, &insn);
	}
	return refused;
}

void plan_function(
	struct plan *plan, const struct image *image, const struct image_function *function)
{
	const struct image_part *part =
		image_part_at(image, function->address, function->bytes ? function->bytes : 1);

	*plan = (struct plan){.entry = function->address, .bytes = function->bytes};
	if (!function->bytes) {
		plan->refused = "its length is not known";
	} else if (!part || !part->is_code) {
		plan->refused = "it does not lie in code";
	} else {
		const uint8_t *code = part->data + (function->address - part->address);
		plan->refused = displace(plan, code, function->bytes);
		if (!plan->refused)
			plan->refused = judge_body(plan, image, code);
	}
}

static size_t write_thunk(
	const struct plan *plan, const struct plan_thunk *thunk, uint64_t to, uint8_t *out)
{
	struct insn_thunk jump = {thunk->slot, thunk->tell, plan->is_quiet};

	return thunk->keeping ? insn_thunk_keeping(out, to, thunk->slot, plan->kept)
			      : insn_thunk(out, to, &jump);
}

size_t plan_write(const struct plan *plan, const struct image *image,
	const struct plan_thunk *thunk, uint64_t to, uint8_t out[PLAN_ENTRY_BYTES], size_t *inner)
{
	const uint8_t *code = image_bytes(image, plan->site, NULL);
	uint8_t piece[INSN_MOVED_BYTES];
	struct insn insn;
	size_t at = write_thunk(plan, thunk, to, out);

	*inner = at;
	for (size_t from = 0; at && code && from < plan->displaced; from += insn.length) {
		size_t left = plan->displaced - from;
		if (!insn_decode(&insn, code + from, left, plan->site + from))
			return 0;
		size_t n = insn_move(piece, code + from, left, plan->site + from, to + at);
		if (!n || at + n + INSN_MAX_BYTES > PLAN_ENTRY_BYTES)
			return 0;
		memcpy(out + at, piece, n);
		at += n;
	}
	if (!at || !code || !plan->goes_on)
		return code ? at : 0;
	size_t n = insn_jump(piece, to + at, plan->site + plan->displaced);
	memcpy(out + at, piece, n);
	return n ? at + n : 0;
}

/* Do two instructions do the same at their places? Bytes may differ in one distance only. */
static int is_same(
	const struct insn *a, const uint8_t *code_a, const struct insn *b, const uint8_t *code_b)
{
	size_t first = 0, last = a->length;

	if (a->flow != b->flow || a->target != b->target || a->reference != b->reference ||
		a->has_reference != b->has_reference)
		return 0;
	if (a->target)
		return 1;
	if (a->length != b->length)
		return 0;
	while (first < last && code_a[first] == code_b[first])
		first++;
	while (last > first && code_a[last - 1] == code_b[last - 1])
		last--;
	return first == last || (a->has_reference && last - first <= 4);
}

int plan_verify(const struct plan *plan, const struct image *image, uint64_t to, size_t inner,
	const uint8_t *code, size_t bytes)
{
	const uint8_t *original = image_bytes(image, plan->site, NULL);
	struct insn a, b;
	size_t from = 0, at = inner;

	for (; original && from < plan->displaced; from += a.length, at += b.length)
		if (!insn_decode(&a, original + from, plan->displaced - from, plan->site + from) ||
			!insn_decode(&b, code + at, bytes - at, to + at) ||
			!is_same(&a, original + from, &b, code + at))
			return 0;
	if (!original || from != plan->displaced)
		return 0;
	if (!plan->goes_on)
		return at == bytes;
	return insn_decode(&b, code + at, bytes - at, to + at) && b.flow == INSN_JUMP &&
	       b.target == plan->site + plan->displaced && at + b.length == bytes;
}
