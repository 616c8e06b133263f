/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Patching a loaded object (patch.h). Each function is compared with its file before anything is
 * written. Written code is read back, decoded and compared with the plan; if it differs, the jump
 * is removed.
 */
#include "attach/patch/patch.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "base/order.h"
#include "attach/patch/insn.h"
#include "attach/patch/survey.h"
#include "attach/patch/patch_text.h"

struct patch {
	struct plan plan;
	uintptr_t site, thunk, inner;
	uint64_t *slot; /* holds the address that the thunk leads to */
	uint8_t original[TEXT_WORD], jump[INSN_MAX_BYTES];
	int is_made, is_on, group;
};

struct known_function {
	char *name;
	uintptr_t address;
	uint64_t bytes;
};

struct patch_object {
	uintptr_t low, bytes, bias;
	uintptr_t memory; /* trampolines, and behind them their slots */
	size_t code_bytes, data_bytes;
	size_t count;
	struct patch *patches; /* in the order of the wishes */
	struct patch_result *results;
	ARRAY(struct known_function) functions; /* sorted by name */
};

static size_t pages(size_t bytes)
{
	return (bytes + TEXT_PAGE - 1) & ~(size_t)(TEXT_PAGE - 1);
}

COMPARATOR(compare_names, struct known_function, strcmp(x->name, y->name))

/* Names that more hooks may be asked for later: an engine's functions are named alike. */
static bool patch_is_kept(const char *name)
{
	static const char *const beginnings[] = {"ggml_", "llama_", "whisper_"};

	for (size_t i = 0; i < sizeof(beginnings) / sizeof(*beginnings); i++)
		if (!strncmp(name, beginnings[i], strlen(beginnings[i])))
			return true;
	return false;
}

static int keep_functions(struct patch_object *o, const struct image *image)
{
	for (size_t i = 0; i < image->functions.count; i++) {
		const struct image_function *f = &image->functions.items[i];
		/* a table can lie, and what is kept here will be called */
		if (!patch_is_kept(f->name) || !f->bytes ||
			!image_is_executed(image, f->address, f->bytes))
			continue;
		struct known_function *kept = array_add(&o->functions);
		if (!kept)
			return -ENOMEM;
		*kept = (struct known_function){strndup(f->name, image_name_length(f->name)),
			f->address + o->bias, f->bytes};
		if (!kept->name) {
			o->functions.count--;
			return -ENOMEM;
		}
	}
	array_sort(&o->functions, compare_names);
	return 0;
}

static int write_jump(struct patch *p, const uint8_t *bytes, bool is_live)
{
	return is_live ? text_write_live(p->site, bytes, insn_jump_bytes)
		       : text_write(p->site, bytes, insn_jump_bytes);
}

static int turn_off(struct patch *p, bool is_live)
{
	int error = p->is_on ? write_jump(p, p->original, is_live) : 0;

	if (!error)
		p->is_on = 0;
	return error;
}

/* A thread that has been stopped between the instructions would go on in the middle of the jump. */
static int turn_on(struct patch *p, bool is_live)
{
	struct insn insn;

	if (p->is_on || !p->is_made)
		return 0;
	if (is_live && p->plan.instructions > 1)
		return -EBUSY;
	int error = write_jump(p, p->jump, is_live);
	if (error)
		return error;
	p->is_on = 1;
	if (insn_decode(&insn, (const uint8_t *)p->site, insn_jump_bytes, p->site) ==
			insn_jump_bytes &&
		insn.flow == INSN_JUMP && insn.target == p->thunk)
		return 0;
	turn_off(p, is_live);
	return -EIO;
}

/* The trampoline: written, read back, held against the function. */
static const char *patch_make(
	struct patch_object *o, const struct survey *s, size_t i, const struct patch_wish *wish)
{
	struct patch *p = &o->patches[i];
	const struct plan *plan = &s->entries[i].plan;
	const uint8_t *file = image_bytes(&s->image, plan->entry, NULL);
	struct plan_thunk thunk = {
		.tell = wish->tell, .keeping = plan->is_quiet && wish->hook_from};
	uint8_t code[PLAN_ENTRY_BYTES];
	size_t inner;

	p->plan = *plan;
	p->group = wish->of.group;
	memset(&p->plan.leads, 0, sizeof(p->plan.leads));
	p->site = plan->site + o->bias;
	p->thunk = o->memory + i * PLAN_ENTRY_BYTES;
	p->slot = (uint64_t *)(o->memory + o->code_bytes) + i;
	if (!image_is_executed(&s->image, plan->entry, plan->bytes))
		return "it does not lie in code";
	if (memcmp((const void *)(plan->entry + o->bias), file, plan->bytes))
		return "its bytes in memory are not those of its file";
	thunk.slot = (uintptr_t)p->slot - o->bias;
	memcpy(p->original, (const void *)p->site, insn_jump_bytes);
	size_t n = plan_write(plan, &s->image, &thunk, p->thunk - o->bias, code, &inner);
	if (!n || !insn_jump(p->jump, p->site, p->thunk))
		return "there is no memory near enough";
	if (text_write(p->thunk, code, n))
		return "the system does not let code be written";
	if (!plan_verify(plan, &s->image, p->thunk - o->bias, inner, (const uint8_t *)p->thunk, n))
		return "its first instructions do not do the same elsewhere";
	*p->slot = (uintptr_t)(thunk.keeping ? wish->hook_from : wish->hook);
	p->inner = p->thunk + inner;
	p->is_made = 1;
	return NULL;
}

static void apply_all(struct patch_object *o, const struct survey *s,
	const struct patch_wish *wishes, const struct patch_place *place)
{
	for (size_t i = 0; i < s->count; i++) {
		struct patch_result *result = &o->results[i];
		struct patch *p = &o->patches[i];
		result->name = wishes[i].of.name;
		if (!wishes[i].hook)
			continue;
		if (s->entries[i].way == SURVEY_REFUSED)
			result->refused = s->entries[i].plan.refused;
		if (s->entries[i].way != SURVEY_PATCHED)
			continue;
		result->refused = patch_make(o, s, i, &wishes[i]);
		if (result->refused)
			continue;
		int error = place->is_prepared ? 0 : turn_on(p, place->is_live);
		if (error) {
			p->is_made = 0;
			result->refused = error == -EBUSY
						  ? "other threads may be executing it"
						  : "the system does not let code be written";
			continue;
		}
		result->entry = (void *)(p->plan.entry + o->bias);
		result->inner = (void *)p->inner;
	}
}

static void patch_destroy(struct patch_object *o)
{
	if (!o)
		return;
	if (o->memory)
		munmap((void *)o->memory, o->code_bytes + o->data_bytes);
	for (size_t i = 0; i < o->functions.count; i++)
		free(o->functions.items[i].name);
	array_fini(&o->functions);
	free(o->patches);
	free(o->results);
	free(o);
}

static struct patch_object *patch_create(const struct survey *s, const struct patch_place *place)
{
	struct patch_object *o = calloc(1, sizeof(*o));

	if (!o)
		return NULL;
	o->low = place->low;
	o->bytes = place->bytes;
	o->bias = place->bias;
	o->count = s->count;
	o->patches = calloc(s->count, sizeof(*o->patches));
	o->results = calloc(s->count, sizeof(*o->results));
	o->code_bytes = pages(s->count * PLAN_ENTRY_BYTES);
	o->data_bytes = pages(s->count * sizeof(uint64_t));
	o->memory =
		(uintptr_t)text_near(o->low, o->bytes, insn_reach, o->code_bytes, o->data_bytes);
	if (o->patches && o->results && !keep_functions(o, &s->image))
		return o;
	patch_destroy(o);
	return NULL;
}

int brick_patch_open(struct patch_object **out, const struct patch_place *place,
	const struct patch_wish *wishes, size_t count)
{
	struct patch_name *names = calloc(count + 1, sizeof(*names));
	struct survey survey;

	for (size_t i = 0; names && i < count; i++)
		names[i] = wishes[i].of;
	int error =
		names ? survey_open(&survey, place->path, names, count, place->is_forced) : -ENOMEM;

	*out = NULL;
	free(names);
	if (error)
		return error;
	if (survey.patched + survey.refused && survey.has_sign) {
		*out = patch_create(&survey, place);
		error = *out ? 0 : -ENOMEM;
		if (*out && (*out)->memory)
			apply_all(*out, &survey, wishes, place);
	}
	survey_close(&survey);
	return error;
}

const struct patch_result *brick_patch_results(const struct patch_object *object, size_t *count)
{
	*count = object->count;
	return object->results;
}

/* Whole instructions from its first byte to its last: a place in the midst of code hardly has them.
 */
static bool is_code(const struct known_function *f)
{
	const uint8_t *code = (const uint8_t *)f->address;
	struct insn insn;

	for (uint64_t at = 0; at < f->bytes; at += insn.length)
		if (!insn_decode(&insn, code + at, f->bytes - at, f->address + at))
			return false;
	return true;
}

void *brick_patch_function(const struct patch_object *object, const char *name)
{
	struct known_function key = {.name = (char *)(uintptr_t)name},
			      *list = object->functions.items;
	struct known_function *found =
		list ? bsearch(&key, list, object->functions.count, sizeof(key), compare_names)
		     : NULL;

	if (!found || (found > list && !compare_names(found - 1, found)) ||
		(found + 1 < list + object->functions.count && !compare_names(found, found + 1)))
		return NULL;
	return is_code(found) ? (void *)found->address : NULL;
}

static int turn_all(
	struct patch_object *object, int group, bool is_live, int (*turn)(struct patch *, bool))
{
	int error = 0;

	for (size_t i = 0; i < object->count; i++) {
		if (group != PATCH_ALL_GROUPS && object->patches[i].group != group)
			continue;
		int e = turn(&object->patches[i], is_live);
		error = error ? error : e;
	}
	return error;
}

int brick_patch_off(struct patch_object *object, int group, bool is_live)
{
	return turn_all(object, group, is_live, turn_off);
}

int brick_patch_on(struct patch_object *object, int group, bool is_live)
{
	return turn_all(object, group, is_live, turn_on);
}

uintptr_t brick_patch_jumps(
	const struct patch_object *o, patch_jump_fn each, void *context, size_t *bytes)
{
	for (size_t i = 0; i < o->count; i++) {
		const struct patch *p = &o->patches[i];
		const struct patch_jump jump = {.site = p->site,
			.before = p->original,
			.after = p->jump,
			.bytes = insn_jump_bytes,
			.displaced = p->plan.displaced};
		if (p->is_made)
			each(context, &jump);
	}
	*bytes = o->memory ? o->code_bytes : 0;
	return o->memory;
}

void brick_patch_forget(struct patch_object *object)
{
	patch_destroy(object);
}
