/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plan by those who call the function (plan.h). A compiler that sees both may keep values, over
 * the call, in registers that any function is free to change, if this one does not (GCC's
 * -fipa-ra); a hook in front of it would change them. Only of a function that calls nobody outside
 * can that be known, so for such a one the code behind each call of it is followed, until every
 * register that it leaves alone has been written: those that are read before are kept.
 */
#include <stdlib.h>
#include <string.h>
#include "base/hashmap.h"
#include "attach/patch/insn.h"
#include "attach/patch/patch_plan.h"
#include "attach/patch/patch_table.h"

enum { MAX_STEPS = 1 << 19, MAX_DEPTH = 6 };

static int is_linkage(const struct image *image, uint64_t address)
{
	const struct image_part *part = image_part_at(image, address, 1);

	return part && part->is_code && !strncmp(part->name, ".plt", 4);
}

/* 1: it calls out of the object, and so all registers are lost. Else *writes: those that are. */
static int calls_out(
	const struct image *image, const struct image_function *f, uint64_t *writes, int depth)
{
	const uint8_t *code = image_bytes(image, f->address, NULL);
	struct insn insn;

	for (uint64_t at = 0; at < f->bytes; at += insn.length) {
		if (!insn_registers(&insn, code + at, f->bytes - at, f->address + at))
			return 0;
		*writes |= insn.writes;
		int leaves = insn.flow == INSN_CALL || insn.flow == INSN_JUMP;
		if (insn.flow == INSN_CALL_INDIRECT || (leaves && is_linkage(image, insn.target)))
			return 1;
		const struct image_function *callee =
			leaves ? image_function_at(image, insn.target) : NULL;
		if (callee && callee != f && depth < MAX_DEPTH &&
			calls_out(image, callee, writes, depth + 1))
			return 1;
	}
	return 0;
}

/* What is known while the code behind calls is followed. */
struct follow {
	const struct image *image;
	struct hashmap live; /* by address: registers not written since the call */
	ARRAY(uint64_t) work;
	uint64_t kept;			 /* registers that were read without having been written */
	const struct image_function *in; /* for reach_target(): whose table it may be */
	uint8_t *begins;		 /* where instructions of that one do; a byte for each */
	uint64_t now;
	int failed;
};

static void reach(struct follow *f, uint64_t address, uint64_t registers)
{
	uint64_t before = hashmap_get(&f->live, address);

	before = before == HASHMAP_NONE ? 0 : before;
	if (f->failed || !(registers & ~before))
		return;
	f->failed =
		hashmap_set(&f->live, address, before | registers) || array_push(&f->work, address);
}

/* Compilers split functions: f.cold, f.part.0 */
static int is_part_of(const struct image_function *cold, const struct image_function *whole)
{
	size_t n = strlen(whole->name);

	return !strncmp(cold->name, whole->name, n) && cold->name[n] == '.';
}

static int is_same_function(const struct image_function *a, const struct image_function *b)
{
	return a && b && (a == b || is_part_of(a, b) || is_part_of(b, a));
}

/* What leads out of the function, or between two bytes of an instruction, is no table of its jumps.
 */
static int reach_target(void *follow, uint64_t target)
{
	struct follow *f = follow;
	uint64_t at = target - f->in->address;

	if (at < f->in->bytes ? !f->begins[at]
			      : !is_same_function(f->in, image_function_at(f->image, target)))
		return 1;
	reach(f, target, f->now);
	return 0;
}

typedef void (*insn_fn)(struct follow *f, const struct insn *insn, uint64_t at);

static void for_each_insn(struct follow *f, insn_fn each)
{
	const uint8_t *code = image_bytes(f->image, f->in->address, NULL);
	struct insn insn;

	for (uint64_t at = 0; code && at < f->in->bytes; at += insn.length) {
		if (!insn_decode(&insn, code + at, f->in->bytes - at, f->in->address + at))
			break;
		each(f, &insn, at);
	}
}

static void note_begin(struct follow *f, const struct insn *insn, uint64_t at)
{
	f->begins[at] = 1;
}

static void reach_table(struct follow *f, const struct insn *insn, uint64_t at)
{
	if (insn->reference)
		table_walk(f->image, insn->reference, reach_target, f);
}

/* A jump to a computed address leads, if anywhere in here, to what the function's tables say. */
static void reach_tables(struct follow *f, uint64_t address)
{
	const struct image_function *in = image_function_at(f->image, address);

	if (!in)
		return;
	if (in != f->in) {
		free(f->begins);
		f->begins = calloc(in->bytes, 1);
		f->failed |= !f->begins;
		f->in = f->begins ? in : NULL;
		if (f->in)
			for_each_insn(f, note_begin);
	}
	if (f->in)
		for_each_insn(f, reach_table);
}

/* A jump to another function's beginning is a call of it. */
static int is_tail_call(const struct image *image, uint64_t address, uint64_t target)
{
	const struct image_function *from = image_function_at(image, address);
	const struct image_function *to = image_function_at(image, target);

	return is_linkage(image, target) || (from && to && !is_same_function(from, to));
}

/* Does nothing of a function return, as ggml_abort()? */
static int never_returns(const struct image *image, uint64_t address)
{
	const struct image_function *f = image_function_at(image, address);
	const uint8_t *code = f ? image_bytes(image, f->address, NULL) : NULL;
	struct insn insn;

	for (uint64_t at = 0; code && at < f->bytes; at += insn.length)
		if (!insn_decode(&insn, code + at, f->bytes - at, f->address + at) ||
			insn.flow == INSN_RETURN || insn.flow == INSN_JUMP_INDIRECT ||
			(insn.flow == INSN_JUMP && insn.target - f->address >= f->bytes))
			return 0;
	return code != NULL;
}

/* Behind a call that does not return lies another function, or nothing. */
static int goes_on(const struct follow *f, const struct insn *insn, uint64_t address)
{
	if (insn->flow != INSN_CALL && insn->flow != INSN_CALL_INDIRECT)
		return insn->flow == INSN_NEXT || insn->flow == INSN_BRANCH;
	return image_function_at(f->image, address) ==
		       image_function_at(f->image, address + insn->length) &&
	       !(insn->flow == INSN_CALL && never_returns(f->image, insn->target));
}

/* One instruction; 0: it is none. */
static int step(struct follow *f, uint64_t address)
{
	uint64_t available, live = hashmap_get(&f->live, address);
	const uint8_t *code = image_bytes(f->image, address, &available);
	struct insn insn;

	if (!code || !insn_registers(&insn, code, available, address))
		return 0;
	f->kept |= insn.reads & live;
	live &= ~insn.writes;
	if (goes_on(f, &insn, address))
		reach(f, address + insn.length, live);
	if ((insn.flow == INSN_BRANCH || insn.flow == INSN_JUMP) &&
		!is_tail_call(f->image, address, insn.target))
		reach(f, insn.target, live);
	f->now = live;
	if (insn.flow == INSN_JUMP_INDIRECT && live)
		reach_tables(f, address);
	return 1;
}

static int begin_behind(
	struct follow *f, const struct plan_lead *lead, uint64_t registers, int depth);

/* Behind all calls of a function that is no plan's. */
static int begin_callers(struct follow *f, uint64_t function, uint64_t registers, int depth)
{
	struct plan_lead lead;
	uint64_t target;

	for (size_t p = 0; p < f->image->parts.count; p++) {
		const struct image_part *part = &f->image->parts.items[p];
		for (uint64_t i = 0; part->is_code && i + 8 <= part->bytes; i++) {
			lead.address = part->address + i;
			if (insn_looks_like_branch(
				    part->data + i, lead.address, &target, &lead.is_call) &&
				target == function && !begin_behind(f, &lead, registers, depth))
				return 0;
		}
	}
	return 1;
}

/*
 * Who ends with a jump to the function has callers of his own. If he calls out they must have lost
 * all registers anyhow; else they are followed, too. 0: nobody knows who they are.
 */
static int begin_behind(
	struct follow *f, const struct plan_lead *lead, uint64_t registers, int depth)
{
	const struct image_function *jumper = image_function_at(f->image, lead->address);
	uint64_t writes = 0;

	if (lead->is_call) {
		reach(f, lead->address + insn_jump_bytes, registers);
		return 1;
	}
	if (!jumper || depth == MAX_DEPTH)
		return 0;
	return calls_out(f->image, jumper, &writes, 0) ||
	       begin_callers(f, jumper->address, registers, depth + 1);
}

static int begin(struct follow *f, const struct plan *plan, uint64_t registers)
{
	for (size_t i = 0; i < plan->leads.count; i++)
		if (!begin_behind(f, &plan->leads.items[i], registers, 0))
			return 0;
	return 1;
}

/* Which of these registers callers of the function may rely on. */
static const char *follow_calls(struct plan *plan, const struct image *image, uint64_t untouched)
{
	struct follow f = {.image = image};
	const char *refused = NULL;

	if (!begin(&f, plan, untouched))
		refused = "others jump to it, who may keep values in registers over it";
	for (size_t steps = 0; !refused && !f.failed && f.work.count; steps++)
		if (steps > MAX_STEPS || !step(&f, f.work.items[--f.work.count]))
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
		plan->refused = "its callers keep numbers in vector registers over it";
}
