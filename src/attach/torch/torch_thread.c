/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sites are kept by thread, at one of two places each: asking the table takes a lock, and a model
 * of many layers would go around in one.
 */
#include "attach/torch/torch_thread.h"

#include <stdlib.h>
#include <string.h>
#include "base/hash.h"
#include "base/order.h"
#include "base/scope.h"
#include "base/thread.h"
#include "brick/attach.h"
#include "brick/brick.h"

enum { KNOWN = 1 << 13 };

const struct torch_module torch_no_module = {"", ""};

__thread struct torch_thread torch_thread;
static struct thread_exit torch_thread_exit;

static void torch_thread_exits(void *argument)
{
	struct torch_thread *t = argument;

	free(t->known);
	if (t->more)
		free(t->more->numbers);
	free(t->more);
	free(t->containers);
	free(t->scopes);
	free(t->calling);
	*t = (struct torch_thread){0};
}

/* False without memory. */
static bool torch_thread_has_places(struct torch_thread *t)
{
	if (t->calling)
		return true;
	free(t->containers);
	free(t->scopes);
	free(t->more);
	t->containers = calloc(TORCH_CONTAINERS, sizeof(*t->containers));
	t->scopes = calloc(TORCH_SCOPES, sizeof(*t->scopes));
	t->more = calloc(1, sizeof(*t->more));
	if (t->containers && t->scopes && t->more)
		t->calling = calloc(TORCH_NESTING, sizeof(*t->calling));
	thread_exit_set(&torch_thread_exit, t);
	return t->calling != NULL;
}

__attribute__((constructor)) static void torch_thread_watch_exits(void)
{
	thread_exit_create(&torch_thread_exit, torch_thread_exits);
}

/*
 * Drops what was open in another session: in the child of a fork, in the parent's. Modules go on:
 * each knows its depth by itself.
 */
struct torch_thread *torch_thread_prepare(void)
{
	struct torch_thread *t = &torch_thread;
	KEEP_ERRNO();

	if (!brick_enabled() || brick_thread_ready() || !torch_thread_has_places(t))
		return NULL;
	t->session = __atomic_load_n(&brick__on, __ATOMIC_RELAXED);
	t->depth = t->leaf = t->container_count = t->scope_count = 0;
	t->backward = NULL;
	t->more->compiling = 0;
	t->more->serve_step = 0;
	t->step = 0;
	if (!t->module)
		t->module = &torch_no_module;
	if (!t->known)
		t->known = calloc(KNOWN, sizeof(*t->known));
	return t;
}

/*
 * Autograd's engine opens a scope around each of its nodes. A name with neither a namespace nor a
 * number at its end is a function of the program's own: "MyFunction", "MyFunctionBackward".
 */
static enum torch_kind torch_thread_kind_of(const char *name)
{
	static const char engine[] = "autograd::engine::evaluate_function";
	size_t length = strlen(name);

	if (!strncmp(name, engine, sizeof(engine) - 1))
		return TORCH_TRANSPARENT;
	if (strstr(name, "::") || !length || strchr("0123456789", name[length - 1]) ||
		!strncmp(name, "detach", 6))
		return TORCH_LEAF;
	return TORCH_CONTAINER;
}

struct torch_known *torch_know(struct torch_thread *t, const char *name)
{
	uintptr_t mixed = (uintptr_t)t->module / 16 * 31 + (uintptr_t)name / 8;
	mixed *= HASH_GOLDEN;
	struct torch_known *kept = t->known ? &t->known[(mixed >> 40) & (KNOWN - 2)] : NULL;

	for (int i = 0; kept && i < 2; i++)
		if (kept[i].module == t->module && kept[i].name == name &&
			!strcmp(kept[i].site->operation, name))
			return &kept[i];
	t->more->other = (struct torch_known){.module = t->module,
		.name = name,
		.kind = torch_thread_kind_of(name),
		.work = torch_work_kind(name)};
	if (t->more->other.kind == TORCH_TRANSPARENT)
		return &t->more->other;
	t->more->other.site = named_site_find(name, t->module->path, t->module->class);
	if (!kept || !t->more->other.site)
		return &t->more->other;
	kept[1] = kept[0];
	kept[0] = t->more->other;
	return kept;
}

void torch_forward_number(struct torch_thread *t, int64_t number)
{
	if (!t->more->numbers)
		t->more->numbers = calloc(TORCH_NUMBERS, sizeof(*t->more->numbers));
	if (!t->more->numbers)
		return;
	const struct torch_numbers *last =
		t->more->number_count
			? &t->more->numbers[(t->more->number_count - 1) % TORCH_NUMBERS]
			: NULL;
	if (last && last->module == t->module && last->number <= number)
		return;
	if (last && last->number > number)
		t->more->number_count = 0;
	t->more->numbers[t->more->number_count++ % TORCH_NUMBERS] =
		(struct torch_numbers){number, t->module};
}

const struct torch_module *torch_module_of_number(const struct torch_thread *t, int64_t number)
{
	uint64_t first =
		t->more->number_count > TORCH_NUMBERS ? t->more->number_count - TORCH_NUMBERS : 0;
	uint64_t behind = BISECT(i, first, t->more->number_count,
		t->more->numbers[i % TORCH_NUMBERS].number <= number);

	return behind > first ? t->more->numbers[(behind - 1) % TORCH_NUMBERS].module : NULL;
}
