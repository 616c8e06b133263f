/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each thread keeps the sites that it has found, since asking the table takes a lock, and the work
 * of the step before. None is given up for another one: the step in which it came again would lack
 * its work.
 */
#include "attach/torch/torch_thread.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "attach/torch/torch_in_flight.h"
#include "base/hash.h"
#include "base/order.h"
#include "base/scope.h"
#include "base/thread.h"
#include "brick/abi/thread.h"
#include "brick/attach.h"
#include "brick/brick.h"
#include "lib/sys/environment.h"

enum { KNOWN_MOST = 1 << 16 }; /* of a thread: names may be made at run time, without an end */

const struct torch_module torch_no_module = {"", "", 0}, torch_inner_module = {"", "", 0};

__thread struct torch_thread torch_thread;
uint32_t torch_thread_leaving, torch_thread_ending;
static struct thread_exit torch_thread_exit;

static void torch_thread_exits(void *argument)
{
	struct torch_thread *t = argument;

	if (t->more) {
		array_fini(&t->more->known);
		hash_index_fini(&t->more->known_index);
		torch_inputs_ask(&t->more->asking, t->more->asking.session, TORCH_NO_STEP);
		free(t->more->numbers);
		free(t->more->functions);
		free(t->more->memory.made);
	}
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

static bool torch_thread_is_leaving(const struct torch_thread *t)
{
	uint32_t leaving = __atomic_load_n(&torch_thread_leaving, __ATOMIC_RELAXED);
	const struct brick_lane *lane = brick__thread.lane;

	return leaving && leaving == __atomic_load_n(&brick__on, __ATOMIC_RELAXED) &&
	       (t->session != leaving || !lane || !brick_lane_open(lane));
}

/* A call of a module that began unrecorded is open here: the recorder waits for the next one. */
static bool torch_thread_waits(const struct torch_thread *t)
{
	const char *directory;

	if (!t->unseen && !torch_in_flight_here())
		return false;
	directory = brick__environment("BRICK_SESSION_DIR");
	return directory && *directory;
}

/* In the child of a fork such a call may never end. */
static void torch_thread_in_child(void)
{
	torch_thread.unseen = 0;
	torch_in_flight_forget();
}

__attribute__((constructor)) static void torch_thread_watch_exits(void)
{
	thread_exit_create(&torch_thread_exit, torch_thread_exits);
	pthread_atfork(NULL, NULL, torch_thread_in_child);
}

/*
 * Drops what was open in another session: in the child of a fork, in the parent's. Modules go on:
 * each knows its depth by itself.
 */
struct torch_thread *torch_thread_prepare(void)
{
	struct torch_thread *t = &torch_thread;
	KEEP_ERRNO();

	if (torch_thread_is_leaving(t))
		return NULL;
	if (brick_enabled() && t->session == __atomic_load_n(&brick__on, __ATOMIC_RELAXED))
		return t;
	if (torch_thread_waits(t))
		return NULL;
	if (!brick_enabled())
		brick_recorder_heed();
	if (!brick_enabled() || brick_thread_ready() || !torch_thread_has_places(t))
		return NULL;
	t->session = __atomic_load_n(&brick__on, __ATOMIC_RELAXED);
	t->depth = t->leaf = t->container_count = t->scope_count = 0;
	t->node = 0;
	t->backward = 0;
	t->more->compiling = 0;
	t->more->is_whole = false;
	t->more->serve_step = 0;
	t->more->python.begin = 0;
	t->step = 0;
	t->is_late = false;
	if (!t->module)
		t->module = &torch_no_module;
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
	/* "Torch-Compiled Region: 0/0", "## Call CompiledFxGraph ... ##" */
	if (strchr(name, ' '))
		return TORCH_CONTAINER;
	if (strstr(name, "::") || !length || strchr("0123456789", name[length - 1]) ||
		!strncmp(name, "detach", 6))
		return TORCH_LEAF;
	return TORCH_CONTAINER;
}

struct torch_known *torch_know(
	struct torch_thread *t, const struct torch_module *module, const char *name)
{
	uint64_t hash = hash_add(hash_pointer(module), (uintptr_t)name);
	struct hash_probe probe = hash_probe(hash);
	struct torch_known *kept = NULL;

	for (uint32_t i;
		!kept && (i = hash_index_next(&t->more->known_index, &probe)) != HASH_INDEX_NONE;)
		if (t->more->known.items[i].module == module &&
			t->more->known.items[i].name == name)
			kept = &t->more->known.items[i];
	if (kept && !strcmp(kept->site->operation, name))
		return kept;
	t->more->other = (struct torch_known){.module = module,
		.name = name,
		.kind = torch_thread_kind_of(name),
		.work = torch_work_kind(name)};
	if (t->more->other.kind == TORCH_TRANSPARENT)
		return &t->more->other;
	t->more->other.site = named_site_find_typed(name, module->path, module->class,
		module == &torch_inner_module ? NAMED_SITE_INNER : "");
	if (!t->more->other.site)
		return &t->more->other;
	if (!kept) {
		if (t->more->known.count == KNOWN_MOST) {
			t->more->known.count = 0;
			hash_index_fini(&t->more->known_index);
		}
		kept = array_reserve(&t->more->known, 1) ||
				       hash_index_add(&t->more->known_index, hash,
					       (uint32_t)t->more->known.count)
			       ? &t->more->other
			       : &t->more->known.items[t->more->known.count++];
	}
	*kept = t->more->other;
	return kept;
}

void torch_know_type(struct torch_known *known, const char *type)
{
	const struct named_site *site =
		named_site_find_typed(known->name, known->module->path, known->module->class, type);

	known->type = type;
	if (site)
		known->site = site;
}

uint32_t torch_open_bricks(void)
{
	const struct brick_lane *lane = brick__thread.lane;

	return lane ? brick_lane_open(lane) : 0;
}

void torch_scope_begin_late(struct torch_thread *t)
{
	struct torch_scope *scope = &t->scopes[t->scope_count - 1];

	if (torch_open_bricks() != scope->open) /* a brick would end that lies around it */
		return;
	scope->span = brick_begin_layer(scope->site->brick, scope->site->layer);
	scope->is_late = t->is_late = false;
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
