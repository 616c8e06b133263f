/* SPDX-License-Identifier: Apache-2.0 */
/*
 * We are to the tool what NVTX in a shared object is: a table of function pointers that it fills.
 * Whoever comes first loads it, outside of all locks; until it is there others emit nothing.
 */
#include "lib/probe/emit.h"

#include <dlfcn.h>
#include <string.h>
#include "base/scope.h"
#include "brick/abi/lane.h"
#include "brick/registry.h"
#include "brick/session.h"
#include "lib/probe/nvtx_abi.h"
#include "lib/sys/environment.h"

enum { NVTX_VERSION = 3 };

static nvtx_function emit_core[NVTX_MAX_CALLS], emit_core2[NVTX_MAX_CALLS];
static void *domain;
static void *emit_strings[BRICK_MAX_BRICKS]; /* by brick; NULL: not registered yet */
static uint32_t emit_is_ready;		     /* somebody listens */

/* Which of the thread's open bricks are ranges. */
static __thread uint64_t emitted[BRICK_MAX_DEPTH / 64];

/* The tool. */

static int module_table(int module, nvtx_function ***table, unsigned *count)
{
	static nvtx_function *core_table[NVTX_MAX_CALLS], *core2_table[NVTX_MAX_CALLS];
	bool is_core = module == NVTX_CORE;

	if (!is_core && module != NVTX_CORE2)
		return 0;
	for (int i = 1; i < NVTX_MAX_CALLS; i++) { /* the first place stays empty */
		core_table[i] = &emit_core[i];
		core2_table[i] = &emit_core2[i];
	}
	*table = is_core ? core_table : core2_table;
	*count = NVTX_MAX_CALLS;
	return 1;
}

static const void *export_table(uint32_t table)
{
	static const struct nvtx_callbacks callbacks = {sizeof(callbacks), module_table};
	return table == NVTX_CALLBACKS ? &callbacks : NULL;
}

/* Ours hands on what it would have kept the tool from: `brick record` says what that was. */
static const char *tool_path(void)
{
	const char *next = brick__environment("BRICK_NVTX_NEXT");
	const char *path = brick__environment("NVTX_INJECTION64_PATH");

	if (next && *next)
		return next;
	return path && *path && !strstr(path, "/libbrick-nvtx.so") ? path : NULL;
}

/* NULL: it listens; else why not. */
static const char *emit_load(const char *path)
{
	void *library = dlopen(path, RTLD_LAZY);
	void *found = library ? dlsym(library, "InitializeInjectionNvtx2") : NULL;
	int (*initialize)(nvtx_export_fn);

	if (!library)
		return "it could not be loaded";
	if (!found)
		return "it has nothing that NVTX calls";
	memcpy(&initialize, &found, sizeof(found));
	if (!initialize(export_table))
		return "it does not want any";
	if (emit_core2[NVTX_DOMAIN_PUSH] && emit_core2[NVTX_DOMAIN_POP]) {
		if (emit_core2[NVTX_CREATE_A])
			domain = ((void *(*)(const char *))emit_core2[NVTX_CREATE_A])("Brick");
		return NULL;
	}
	return emit_core[NVTX_PUSH_A] && emit_core[NVTX_POP] ? NULL : "it takes no ranges";
}

static __attribute__((noinline, cold)) void emit_start(void)
{
	static bool has_started;
	const char *path = tool_path();
	KEEP_ERRNO();

	if (__atomic_exchange_n(&has_started, true, __ATOMIC_ACQ_REL))
		return;
	const char *why = path ? emit_load(path) : "NVTX_INJECTION64_PATH names no tool";
	brick_note(
		"emit.nvtx", "%s%s%s", path ? path : "", path && why ? ": " : "", why ? why : "");
	if (!why)
		__atomic_store_n(&emit_is_ready, 1, __ATOMIC_RELEASE);
}

static bool listens(void)
{
	if (!__atomic_load_n(&emit_is_ready, __ATOMIC_ACQUIRE))
		emit_start();
	return __atomic_load_n(&emit_is_ready, __ATOMIC_ACQUIRE) != 0;
}

/* Ranges. */

static bool emit_push(struct nvtx_event *event, const char *text)
{
	if (!emit_core2[NVTX_DOMAIN_PUSH]) {
		((int (*)(const char *))emit_core[NVTX_PUSH_A])(text);
		return true;
	}
	event->version = NVTX_VERSION;
	event->size = sizeof(*event);
	((int (*)(void *, const struct nvtx_event *))emit_core2[NVTX_DOMAIN_PUSH])(domain, event);
	return true;
}

/* Its handle for the name; NULL: the tool makes none. */
static void *string_of(uint32_t brick, const char *name)
{
	void *string = __atomic_load_n(&emit_strings[brick], __ATOMIC_RELAXED);

	if (string || !emit_core2[NVTX_REGISTER_A])
		return string;
	string = ((void *(*)(void *, const char *))emit_core2[NVTX_REGISTER_A])(domain, name);
	__atomic_store_n(&emit_strings[brick], string, __ATOMIC_RELAXED);
	return string;
}

static bool push_brick(uint32_t brick, int32_t layer)
{
	const char *name = brick_name(brick);
	struct nvtx_event event = {0};

	if (!name || !listens())
		return false;
	event.message.handle = string_of(brick, name);
	event.message_type = NVTX_HANDLE;
	if (!event.message.handle) {
		event.message_type = NVTX_TEXT;
		event.message.text = name;
	}
	if (layer >= 0) {
		event.payload_type = NVTX_INT64;
		event.payload.i64 = layer;
	}
	return emit_push(&event, name);
}

void brick__emit_begin(uint32_t depth, uint32_t brick, int32_t layer)
{
	uint64_t bit = UINT64_C(1) << depth % 64;
	KEEP_ERRNO();

	if (push_brick(brick, layer))
		emitted[depth / 64] |= bit;
	else
		emitted[depth / 64] &= ~bit;
}

void brick__emit_end(uint32_t depth)
{
	KEEP_ERRNO();

	for (uint32_t i = BRICK_MAX_DEPTH; i-- > depth;) {
		uint64_t bit = UINT64_C(1) << i % 64;
		if (emitted[i / 64] & bit)
			brick__emit_pop();
		emitted[i / 64] &= ~bit;
	}
}

bool brick__emit_push(const char *text)
{
	struct nvtx_event event = {.message_type = NVTX_TEXT, .message.text = text};
	KEEP_ERRNO();

	return listens() && emit_push(&event, text);
}

void brick__emit_pop(void)
{
	if (emit_core2[NVTX_DOMAIN_POP])
		((int (*)(void *))emit_core2[NVTX_DOMAIN_POP])(domain);
	else
		((int (*)(void))emit_core[NVTX_POP])();
}
