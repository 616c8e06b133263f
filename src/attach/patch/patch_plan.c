/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans (patch_plan.h), in three passes.
 *
 * The function alone: its instructions, from the first to the last. Data that it refers to is also
 * tried as a table of jumps.
 *
 * The rest of the object: all code is searched, byte by byte, for jumps between displaced
 * instructions, and all data for addresses between them. The search may find too much, never too
 * little. Jumps with 8-bit distance are searched for in neighbouring functions only, instruction by
 * instruction: hand-written assembly has them (memcpy's variants in the C library), while a part
 * that a compiler splits off a function lies too far away for such a jump.
 *
 * The callers: a compiler that sees caller and function may keep values over the call in registers
 * that functions may change, if this function does not change them (GCC's -fipa-ra). A hook would
 * change them. A compiler can know that only of a function that calls no function outside. The code
 * behind each call of such a function is followed until every register that the function does not
 * change has been written; a register that is read before that is kept.
 */
#include "attach/patch/patch_plan.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "attach/patch/insn.h"
#include "base/hashmap.h"
#include "base/order.h"

enum { MAX_TABLE = 1 << 16 };

/* Returns other than 0 to end the walk. */
typedef int (*target_fn)(void *argument, uint64_t target);

/*
 * A table of jumps is a list of 32-bit distances from its own beginning, as compilers make them for
 * a switch; it ends at the first word that does not lead into code. Calls `each` for the addresses
 * that what lies at `table` would lead to; returns what the last call did.
 */
static int walk_table(const struct image *image, uint64_t table, target_fn each, void *argument)
{
	const struct image_part *at = image_part_at(image, table, 1);
	int answer = 0;

	if (!at || at->is_code)
		return 0;
	const uint8_t *bytes = at->data + (table - at->address);
	uint64_t available = at->bytes - (table - at->address);
	for (size_t i = 0; i < MAX_TABLE && (i + 1) * 4 <= available && !answer; i++) {
		int32_t distance;
		memcpy(&distance, bytes + i * 4, sizeof(distance));
		uint64_t target = table + (uint64_t)(int64_t)distance;
		const struct image_part *part = image_part_at(image, target, 1);
		if (!part || !part->is_code)
			return 0;
		answer = each(argument, target);
	}
	return answer;
}

/* Takes instructions until a jump fits. */
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
		/* a uprobe also lies in what we map of the file */
		if (insn.flow == INSN_TRAP)
			return "a trap is among its first instructions, such as a uprobe's";
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

static int patch_plan_is_inside(void *plan, uint64_t target)
{
	return plan_is_inside(plan, target);
}

static const char *judge_body(
	const struct plan *plan, const struct image *image, const uint8_t *code)
{
	struct insn insn;

	for (uint64_t at = 0; at < plan->bytes; at += insn.length) {
		if (!insn_decode(&insn, code + at, plan->bytes - at, plan->entry + at))
			return "some of its bytes are no instructions that are known";
		bool leaves = insn.flow == INSN_JUMP || insn.flow == INSN_BRANCH;
		if (insn.target && plan_is_inside(plan, insn.target))
			return "it jumps between its first instructions";
		if (leaves && insn.target == plan->entry)
			return "it jumps to its own beginning";
		if (!insn.reference)
			continue;
		if (plan_is_inside(plan, insn.reference))
			return "it uses an address between its first instructions";
		if (walk_table(
			    image, insn.reference, patch_plan_is_inside, (void *)(uintptr_t)plan))
			return "a table of jumps leads between its first instructions";
	}
	return NULL;
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

size_t plan_write(const struct plan *plan, const struct image *image,
	const struct plan_thunk *thunk, uint64_t to, uint8_t out[PLAN_ENTRY_BYTES], size_t *inner)
{
	const uint8_t *code = image_bytes(image, plan->site, NULL);
	uint8_t piece[INSN_MOVED_BYTES];
	struct insn_thunk jump = {thunk->slot, thunk->tell, plan->is_quiet};
	struct insn insn;
	size_t at = thunk->keeping ? insn_thunk_keeping(out, to, thunk->slot, plan->kept)
				   : insn_thunk(out, to, &jump);

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

/*
 * True if two instructions do the same at their places. Their bytes may differ in one distance
 * only.
 */
static bool patch_plan_is_same(
	const struct insn *a, const uint8_t *code_a, const struct insn *b, const uint8_t *code_b)
{
	size_t first = 0, last = a->length;

	if (a->flow != b->flow || a->target != b->target || a->reference != b->reference ||
		a->has_reference != b->has_reference)
		return false;
	if (a->target)
		return true;
	if (a->length != b->length)
		return false;
	while (first < last && code_a[first] == code_b[first])
		first++;
	while (last > first && code_a[last - 1] == code_b[last - 1])
		last--;
	return first == last || (a->has_reference && last - first <= 4);
}

bool plan_verify(const struct plan *plan, const struct image *image, uint64_t to, size_t inner,
	const uint8_t *code, size_t bytes)
{
	const uint8_t *original = image_bytes(image, plan->site, NULL);
	struct insn a, b;
	size_t from = 0, at = inner;

	for (; original && from < plan->displaced; from += a.length, at += b.length)
		if (!insn_decode(&a, original + from, plan->displaced - from, plan->site + from) ||
			!insn_decode(&b, code + at, bytes - at, to + at) ||
			!patch_plan_is_same(&a, original + from, &b, code + at))
			return false;
	if (!original || from != plan->displaced)
		return false;
	if (!plan->goes_on)
		return at == bytes;
	return insn_decode(&b, code + at, bytes - at, to + at) && b.flow == INSN_JUMP &&
	       b.target == plan->site + plan->displaced && at + b.length == bytes;
}

/* Search of the rest of the object. */

struct search {
	struct plan **plans; /* those that are not refused, sorted by entry */
	size_t count;
	uint64_t low, high; /* from the first entry to the end of the last displaced part */
};

COMPARATOR(patch_plan_compare, struct plan *const, ORDER((*x)->entry, (*y)->entry))

/* The last plan that begins at an address or before it, if the address is in its displaced part. */
static struct plan *plan_at(const struct search *search, uint64_t address)
{
	if (address < search->low || address >= search->high)
		return NULL;
	size_t low = BISECT(i, 0, search->count, search->plans[i]->entry <= address);
	struct plan *plan = low ? search->plans[low - 1] : NULL;
	return plan && address < plan->site + plan->displaced ? plan : NULL;
}

/* The function's own code has been decoded already. */
static int note_branch(struct plan *plan, uint64_t address, uint64_t target, bool is_call)
{
	bool is_own = address - plan->entry < plan->bytes;

	if (target == plan->entry)
		return is_own && !is_call
			       ? 0
			       : array_push(&plan->leads, (struct plan_lead){address, is_call});
	if (!is_own)
		plan->refused = "code elsewhere leads between its first instructions";
	return 0;
}

static void refuse_address(const struct search *search, uint64_t address)
{
	struct plan *plan = plan_at(search, address);

	if (plan && address > plan->entry)
		plan->refused = "an address between its first instructions is kept in data";
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
		f = image_function_at(image,
			at - 1); /* begins behind data, or behind bytes that looked like code */
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
		uint64_t target, word;
		int is_call;
		for (uint64_t k = 0; part->is_code && k + 8 <= part->bytes && !error; k++) {
			uint64_t address = part->address + k;
			if (!insn_looks_like_branch(part->data + k, address, &target, &is_call))
				continue;
			struct plan *plan = plan_at(search, target);
			if (plan)
				error = note_branch(plan, address, target, is_call);
		}
		for (uint64_t k = -part->address & 7; !part->is_code && k + 8 <= part->bytes;
			k += 8) {
			memcpy(&word, part->data + k, sizeof(word));
			refuse_address(search, word);
		}
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
		qsort(search.plans, search.count, sizeof(*search.plans), patch_plan_compare);
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

/* Search of the functions that call this one. */

enum { MAX_STEPS = 1 << 19, MAX_DEPTH = 6 };

static bool is_linkage(const struct image *image, uint64_t address)
{
	const struct image_part *part = image_part_at(image, address, 1);

	return part && part->is_code && !strncmp(part->name, ".plt", 4);
}

/* 1: it calls out of the object, and so all registers are lost. Else *writes: those that are. */
static bool calls_out(
	const struct image *image, const struct image_function *f, uint64_t *writes, int depth)
{
	const uint8_t *code = image_bytes(image, f->address, NULL);
	struct insn insn;

	for (uint64_t at = 0; at < f->bytes; at += insn.length) {
		if (!insn_registers(&insn, code + at, f->bytes - at, f->address + at))
			return false;
		*writes |= insn.writes;
		int leaves = insn.flow == INSN_CALL || insn.flow == INSN_JUMP;
		if (insn.flow == INSN_CALL_INDIRECT || (leaves && is_linkage(image, insn.target)))
			return true;
		const struct image_function *callee =
			leaves ? image_function_at(image, insn.target) : NULL;
		if (callee && callee != f && depth < MAX_DEPTH &&
			calls_out(image, callee, writes, depth + 1))
			return true;
	}
	return false;
}

/* The state while the code behind calls is followed. */
struct follow {
	const struct image *image;
	struct hashmap live; /* address -> registers not written since the call */
	ARRAY(uint64_t) work;
	uint64_t kept;			 /* registers that were read without having been written */
	const struct image_function *in; /* for reach_target(): the table's function */
	uint8_t *begins;		 /* 1 where its instructions begin, by byte */
	uint64_t now;
	int failed;
};

static void patch_plan_reach(struct follow *f, uint64_t address, uint64_t registers)
{
	uint64_t before = hashmap_get(&f->live, address);

	before = before == HASHMAP_NONE ? 0 : before;
	if (f->failed || !(registers & ~before))
		return;
	f->failed =
		hashmap_set(&f->live, address, before | registers) || array_push(&f->work, address);
}

/* Compilers split functions: f.cold, f.part.0 */
static bool is_part_of(const struct image_function *cold, const struct image_function *whole)
{
	size_t n = strlen(whole->name);

	return !strncmp(cold->name, whole->name, n) && cold->name[n] == '.';
}

static bool is_same_function(const struct image_function *a, const struct image_function *b)
{
	return a && b && (a == b || is_part_of(a, b) || is_part_of(b, a));
}

/*
 * A target outside of the function, or between two bytes of an instruction, is in no table of its
 * jumps.
 */
static int reach_target(void *follow, uint64_t target)
{
	struct follow *f = follow;
	uint64_t at = target - f->in->address;

	if (at < f->in->bytes ? !f->begins[at]
			      : !is_same_function(f->in, image_function_at(f->image, target)))
		return 1;
	patch_plan_reach(f, target, f->now);
	return 0;
}

/* The next instruction of the function that is looked at; false: there is none, or no known one. */
static bool next_insn(const struct follow *f, struct insn *insn, uint64_t *at)
{
	const uint8_t *code = image_bytes(f->image, f->in->address, NULL);

	*at += insn->length;
	return code && *at < f->in->bytes &&
	       insn_decode(insn, code + *at, f->in->bytes - *at, f->in->address + *at);
}

/* A jump to a computed address leads, if anywhere in here, to an entry of the function's tables. */
static void reach_tables(struct follow *f, uint64_t address)
{
	const struct image_function *in = image_function_at(f->image, address);
	struct insn insn = {.length = 0};
	uint64_t at = 0;

	if (!in)
		return;
	if (in != f->in) {
		free(f->begins);
		f->begins = calloc(in->bytes, 1);
		f->failed |= !f->begins;
		f->in = f->begins ? in : NULL;
		while (f->in && next_insn(f, &insn, &at))
			f->begins[at] = 1;
	}
	insn.length = 0;
	at = 0;
	while (f->in && next_insn(f, &insn, &at))
		if (insn.reference)
			walk_table(f->image, insn.reference, reach_target, f);
}

/* A jump to another function's beginning is a call of it. */
static bool is_tail_call(const struct image *image, uint64_t address, uint64_t target)
{
	const struct image_function *from = image_function_at(image, address);
	const struct image_function *to = image_function_at(image, target);

	return is_linkage(image, target) || (from && to && !is_same_function(from, to));
}

/* True if no path of a function returns, as in ggml_abort(). */
static bool never_returns(const struct image *image, uint64_t address)
{
	const struct image_function *f = image_function_at(image, address);
	const uint8_t *code = f ? image_bytes(image, f->address, NULL) : NULL;
	struct insn insn;

	for (uint64_t at = 0; code && at < f->bytes; at += insn.length)
		if (!insn_decode(&insn, code + at, f->bytes - at, f->address + at) ||
			insn.flow == INSN_RETURN || insn.flow == INSN_JUMP_INDIRECT ||
			(insn.flow == INSN_JUMP && insn.target - f->address >= f->bytes))
			return false;
	return code != NULL;
}

/* False after a call that does not return: another function lies there, or nothing. */
static bool patch_plan_goes_on(const struct follow *f, const struct insn *insn, uint64_t address)
{
	if (insn->flow != INSN_CALL && insn->flow != INSN_CALL_INDIRECT)
		return insn->flow == INSN_NEXT || insn->flow == INSN_BRANCH;
	return image_function_at(f->image, address) ==
		       image_function_at(f->image, address + insn->length) &&
	       !(insn->flow == INSN_CALL && never_returns(f->image, insn->target));
}

/* One instruction; 0: it is none. */
static bool patch_plan_step(struct follow *f, uint64_t address)
{
	uint64_t available, live = hashmap_get(&f->live, address);
	const uint8_t *code = image_bytes(f->image, address, &available);
	struct insn insn;

	if (!code || !insn_registers(&insn, code, available, address))
		return false;
	f->kept |= insn.reads & live;
	live &= ~insn.writes;
	if (patch_plan_goes_on(f, &insn, address))
		patch_plan_reach(f, address + insn.length, live);
	if ((insn.flow == INSN_BRANCH || insn.flow == INSN_JUMP) &&
		!is_tail_call(f->image, address, insn.target))
		patch_plan_reach(f, insn.target, live);
	f->now = live;
	if (insn.flow == INSN_JUMP_INDIRECT && live)
		reach_tables(f, address);
	return true;
}

static bool patch_plan_begin_behind(
	struct follow *f, const struct plan_lead *lead, uint64_t registers, int depth);

/* Begins after all calls of a function that has no plan. */
static bool begin_callers(struct follow *f, uint64_t function, uint64_t registers, int depth)
{
	struct plan_lead lead;
	uint64_t target;

	for (size_t p = 0; p < f->image->parts.count; p++) {
		const struct image_part *part = &f->image->parts.items[p];
		for (uint64_t i = 0; part->is_code && i + 8 <= part->bytes; i++) {
			lead.address = part->address + i;
			if (insn_looks_like_branch(
				    part->data + i, lead.address, &target, &lead.is_call) &&
				target == function &&
				!patch_plan_begin_behind(f, &lead, registers, depth))
				return false;
		}
	}
	return true;
}

/*
 * A function that ends with a jump to this one has callers of its own. If it calls out they must
 * have lost all registers anyhow; else they are followed, too. False: nobody knows who they are.
 */
static bool patch_plan_begin_behind(
	struct follow *f, const struct plan_lead *lead, uint64_t registers, int depth)
{
	const struct image_function *jumper = image_function_at(f->image, lead->address);
	uint64_t writes = 0;

	if (lead->is_call) {
		patch_plan_reach(f, lead->address + insn_jump_bytes, registers);
		return true;
	}
	if (!jumper || depth == MAX_DEPTH)
		return false;
	return calls_out(f->image, jumper, &writes, 0) ||
	       begin_callers(f, jumper->address, registers, depth + 1);
}

/* Finds the registers that callers of the function may rely on. */
static const char *follow_calls(struct plan *plan, const struct image *image, uint64_t untouched)
{
	struct follow f = {.image = image};
	const char *refused = NULL;

	for (size_t i = 0; i < plan->leads.count && !refused; i++)
		if (!patch_plan_begin_behind(&f, &plan->leads.items[i], untouched, 0))
			refused = "others jump to it, who may keep values in registers over it";
	for (size_t steps = 0; !refused && !f.failed && f.work.count; steps++)
		if (steps > MAX_STEPS || !patch_plan_step(&f, f.work.items[--f.work.count]))
			refused = "what happens behind its calls is not understood";
	if (f.failed)
		refused = "there is no memory";
	plan->kept = f.kept;
	free(f.begins);
	hashmap_fini(&f.live);
	array_fini(&f.work);
	return refused;
}

void plan_callers(struct plan *plan, const struct image *image)
{
	const struct image_function *f = image_function_at(image, plan->entry);
	uint64_t writes = 0;

	if (plan->refused || !f || calls_out(image, f, &writes, 0))
		return;
	plan->is_quiet = 1;
	plan->refused = insn_changeable ? follow_calls(plan, image, insn_changeable & ~writes)
					: "its callers cannot be checked on this kind of CPU";
	if (!plan->refused && !insn_can_keep(plan->kept))
		plan->refused =
			"its callers keep more in vector registers over it than can be kept";
}
