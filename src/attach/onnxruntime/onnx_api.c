/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hooks in ONNX Runtime. Programs call OrtGetApiBase() for a table of functions, whose entries keep
 * their places in all versions. Three entries are replaced in place (Run, RunWithBinding,
 * ReleaseSession), others are called. Each Run is a step. Kernels are hooked at the first call of
 * OrtGetApiBase(), before there are sessions.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "attach/common/entry.h"
#include "attach/common/notes_once.h"
#include "attach/common/object.h"
#include "attach/common/step_parts.h"
#include "attach/onnxruntime/vtables.h"
#include "attach/rules/named_sites.h"
#include "base/hash.h"
#include "base/hashmap.h"
#include "base/scope.h"
#include "base/thread.h"
#include "brick/abi/attacher.h"
#include "brick/attach.h"
#include "brick/brick.h"
#include "lib/sys/environment.h"

/*
 * Kernels are C++ objects whose Compute() executes one node. Compute() is replaced in all their
 * vtables, so that each execution is a brick. An OpKernel begins with the pointer to its vtable and
 * the pointer to its OpKernelInfo, from which the C interface gets the node's name. The kernel's
 * class is the operator. Compute() returns a Status by a hidden pointer in front of its arguments.
 */

/* KernelInfo_GetNodeName and ReleaseStatus of the library's table. */
struct onnx_names {
	void *(*node_name)(const void *info, char *name, size_t *bytes);
	void (*release)(void *status);
};

enum {
	COMPUTE = 2,	  /* index in an OpKernel's vtable: two destructors come first */
	TABLES = 1 << 13, /* places for vtables, a power of two */
	NAME_BYTES = 256,
};

typedef void *(*compute_fn)(void *status, const void *kernel, void *context);

/* Former Compute() functions by vtable: an entry is filled before its kernels are hooked. */

static struct table {
	const void *vtable;
	compute_fn compute;
	const struct onnx_names *names;
} onnx_tables[TABLES];
static uint32_t table_count;
static const struct onnx_names *adding; /* of the library whose vtables are being added */

/* The vtable's entry, or a free entry for it. */
static struct table *table_of(const void *vtable)
{
	uint64_t mixed = ((uintptr_t)vtable >> 3) * HASH_GOLDEN;

	for (uint32_t i = (uint32_t)(mixed >> 40);; i++) {
		struct table *t = &onnx_tables[i & (TABLES - 1)];
		const void *there = __atomic_load_n(&t->vtable, __ATOMIC_ACQUIRE);
		if (there == vtable || !there)
			return t;
	}
}

static void *onnx_compute(void *status, const void *kernel, void *context);

static const void *onnx_hook(const void *vtable, void *present, bool is_own)
{
	struct table *t = table_of(vtable);

	if (!is_own)
		return NULL;
	memcpy(&t->compute, &present, sizeof(present));
	t->names = adding;
	table_count += !t->vtable;
	__atomic_store_n(&t->vtable, vtable, __ATOMIC_RELEASE);
	return (const void *)onnx_compute;
}

static const void *onnx_unhook(const void *vtable, void *present, bool is_own)
{
	(void)is_own;
	return present == (const void *)onnx_compute ? (const void *)table_of(vtable)->compute
						     : NULL;
}

/*
 * ---- sites of kernels, by thread ----
 */

static __thread struct {
	struct hashmap known; /* struct named_site, by kernel */
	uint32_t generation, session;
} mine __attribute__((tls_model("initial-exec")));

static uint32_t onnx_generation;
static struct thread_exit onnx_exit_of_thread;

static void onnx_thread_exits(void *argument)
{
	(void)argument;
	hashmap_fini(&mine.known);
}

__attribute__((constructor)) static void onnx_watch_threads(void)
{
	thread_exit_create(&onnx_exit_of_thread, onnx_thread_exits);
}

/* A session was released: kernels are gone, and others may lie at their addresses. */
static void onnx_kernels_forget(void)
{
	__atomic_fetch_add(&onnx_generation, 1, __ATOMIC_RELEASE);
}

/*
 * The last identifier: "N11onnxruntime7contrib9AttentionIfEE" is Attention. Those of elements are
 * one class for all: "N11onnxruntime17ElementWiseKernelINS_8functors4ReluIfEEEE" is Relu.
 */
static void read_operator(const char *mangled, char *text, size_t bytes)
{
	static const char functors[] = "8functors";
	const char *at = strstr(mangled, functors);

	at = at ? at + sizeof(functors) - 1 : mangled + (*mangled == 'N');
	snprintf(text, bytes, "%s", mangled);
	while (*at >= '1' && *at <= '9') {
		char *name;
		size_t length = strtoul(at, &name, 10);
		if (length > strlen(name))
			return;
		snprintf(text, bytes, "%.*s", (int)length, name);
		at = name + length;
	}
}

/*
 * A kernel that the thread meets first: its name is asked for, which allocates nothing if it fits.
 */
static const struct named_site *onnx_meet(const struct table *t, const void *kernel)
{
	const void *info = ((const void *const *)kernel)[1];
	char operation[64], name[NAME_BYTES] = "";
	size_t bytes = sizeof(name);
	const char *class = vtable_class(t->vtable);
	KEEP_ERRNO();

	read_operator(class, operation, sizeof(operation));
	void *status = t->names->node_name(info, name, &bytes);
	if (status) {
		t->names->release(status);
		name[0] = '\0';
	}
	const struct named_site *site = named_site_find(operation, name, class);
	if (site)
		hashmap_set_pointer(&mine.known, (uintptr_t)kernel, (void *)site);
	return site;
}

static const struct named_site *onnx_site_of(const struct table *t, const void *kernel)
{
	uint32_t now = __atomic_load_n(&onnx_generation, __ATOMIC_ACQUIRE);

	if (mine.generation != now)
		hashmap_clear(&mine.known);
	mine.generation = now;
	const struct named_site *site =
		hashmap_pointer(hashmap_get(&mine.known, (uintptr_t)kernel));
	return BRICK_LIKELY(site) ? site : onnx_meet(t, kernel);
}

/* This thread may record. */
static bool onnx_is_ready(void)
{
	uint32_t on = __atomic_load_n(&brick__on, __ATOMIC_RELAXED);

	if (BRICK_LIKELY(on && mine.session == on))
		return true;
	KEEP_ERRNO();
	if (!on || brick_thread_ready())
		return false;
	mine.session = __atomic_load_n(&brick__on, __ATOMIC_RELAXED);
	thread_exit_set(&onnx_exit_of_thread, &mine);
	return true;
}

/*
 * Runs that are open and hooked, and one more if Brick was there at the program's start: a run that
 * was open when Brick came has no step, and its kernels are not recorded.
 */
static uint32_t onnx_open = 1;

static void *onnx_compute(void *status, const void *kernel, void *context)
{
	const struct table *t = table_of(*(const void *const *)kernel);
	bool is_seen = __atomic_load_n(&onnx_open, __ATOMIC_RELAXED);
	const struct named_site *site = is_seen && onnx_is_ready() ? onnx_site_of(t, kernel) : NULL;

	if (!site)
		return t->compute(status, kernel, context);
	brick_span span = brick_begin_from(site->brick, site->layer, BRICK_SOURCE_TSC);
	status = t->compute(status, kernel, context);
	named_site_end(site, span);
	return status;
}

/* Entries of OrtApi. */
enum {
	API_RUN = 9,
	API_GET_ELEMENT_TYPE = 60,
	API_GET_DIMENSION_COUNT = 61,
	API_GET_DIMENSIONS = 62,
	API_GET_TENSOR_SHAPE = 65,
	API_RELEASE_STATUS = 93,
	API_RELEASE_SESSION = 95,
	API_RELEASE_TENSOR_SHAPE = 99,
	API_RUN_WITH_BINDING = 133,
	API_NODE_NAME = 244, /* from 1.15 on */
	API_BUILD_INFO = 254,
};

enum { FIRST_MINOR = 15, LAST_MINOR = 30, LIBRARIES = 4, MAX_DIMENSIONS = 8 };

/* OrtApiBase. */
struct api_base {
	void **(*get)(uint32_t version);
	const char *(*version)(void);
};

typedef void *(*run_fn)(void *session, const void *options, const char *const *names,
	const void *const *inputs, size_t input_count, const char *const *output_names,
	size_t output_count, void **outputs);
typedef void *(*run_bound_fn)(void *session, const void *options, const void *binding);
typedef void (*release_fn)(void *object);

/* Libraries that have been looked at; a program may have several. */
static struct library {
	const struct api_base *base;
	void **api; /* NULL: refused */
	run_fn run;
	run_bound_fn run_bound;
	release_fn release_session;
	struct onnx_names names;
	struct vtables *kernels;
} libraries[LIBRARIES];
static uint32_t library_count;
static pthread_mutex_t onnx_lock = PTHREAD_MUTEX_INITIALIZER;

LOCK_OVER_FORKS(onnx_lock)

/*
 * ---- steps ----
 */

#define API(library, index, type) ((type)(library)->api[index])

/* Tokens of a tensor of one or two dimensions: sequences before their tokens. 0: not known. */
static uint64_t onnx_count_tokens(const struct library *l, const void *value, bool *is_decode)
{
	int64_t size[MAX_DIMENSIONS];
	size_t count = 0;
	void *shape = NULL;
	void *status =
		API(l, API_GET_TENSOR_SHAPE, void *(*)(const void *, void **))(value, &shape);

	if (!status)
		status = API(l, API_GET_DIMENSION_COUNT, void *(*)(const void *, size_t *))(
			shape, &count);
	if (!status && (count == 1 || count == 2))
		status = API(l, API_GET_DIMENSIONS, void *(*)(const void *, int64_t *, size_t))(
			shape, size, count);
	if (shape)
		API(l, API_RELEASE_TENSOR_SHAPE, release_fn)(shape);
	if (status) {
		l->names.release(status);
		return 0;
	}
	if ((count != 1 && count != 2) || size[0] <= 0 || size[count - 1] <= 0)
		return 0;
	*is_decode = count == 2 && size[1] == 1;
	return (uint64_t)size[0] * (uint64_t)(count == 2 ? size[1] : 1);
}

struct step {
	brick_span step, compute; /* time in no kernel is GraphCompute's own */
};

static struct step onnx_begin_step(const struct library *l, const void *session,
	const char *const *names, const void *const *inputs, size_t count)
{
	static __thread struct step_parts parts __attribute__((tls_model("initial-exec")));

	KEEP_ERRNO();
	struct step step = {0, 0};
	uint64_t tokens = 0;
	bool is_decode = false;

	__atomic_fetch_add(&onnx_open, 1, __ATOMIC_RELAXED);
	entry_heed();
	if (brick_thread_ready())
		return step;
	for (size_t i = 0; names && inputs && i < count; i++)
		if (names[i] && inputs[i] && !strcmp(names[i], "input_ids"))
			tokens = onnx_count_tokens(l, inputs[i], &is_decode);
	step_parts_see(&parts, session, tokens);
	step.step = brick_step_begin(!tokens	 ? BRICK_PHASE_OTHER
				     : is_decode ? BRICK_PHASE_DECODE
						 : BRICK_PHASE_PREFILL,
		tokens);
	step.compute = brick_begin(BRICK_GRAPH_COMPUTE);
	return step;
}

static void end_step(struct step step)
{
	KEEP_ERRNO();

	brick_end(step.compute);
	brick_end(step.step);
	__atomic_fetch_sub(&onnx_open, 1, __ATOMIC_RELAXED);
}

/* One hook for each library, as nothing that is passed says which one it is. */
#define HOOKS(n)                                                                                  \
	static void *run_##n(void *session, const void *options, const char *const *names,        \
		const void *const *inputs, size_t input_count, const char *const *output_names,   \
		size_t output_count, void **outputs)                                              \
	{                                                                                         \
		const struct library *l = &libraries[n];                                          \
		struct step step = onnx_begin_step(l, session, names, inputs, input_count);       \
		void *status = l->run(session, options, names, inputs, input_count, output_names, \
			output_count, outputs);                                                   \
		end_step(step);                                                                   \
		return status;                                                                    \
	}                                                                                         \
	static void *run_bound_##n(void *session, const void *options, const void *binding)       \
	{                                                                                         \
		struct step step = onnx_begin_step(&libraries[n], session, NULL, NULL, 0);        \
		void *status = libraries[n].run_bound(session, options, binding);                 \
		end_step(step);                                                                   \
		return status;                                                                    \
	}                                                                                         \
	static void release_session_##n(void *session)                                            \
	{                                                                                         \
		libraries[n].release_session(session);                                            \
		onnx_kernels_forget();                                                            \
	}
HOOKS(0)
HOOKS(1)
HOOKS(2)
HOOKS(3)

static const struct {
	run_fn run;
	run_bound_fn run_bound;
	release_fn release_session;
} hooks[LIBRARIES] = {
	{run_0, run_bound_0, release_session_0},
	{run_1, run_bound_1, release_session_1},
	{run_2, run_bound_2, release_session_2},
	{run_3, run_bound_3, release_session_3},
};

/*
 * ---- a library that is seen first ----
 */

/* NULL, or why it is left alone. Nothing is changed yet. */
static const char *onnx_examine(struct library *l, const char *version)
{
	unsigned minor;

	if (sscanf(version, "1.%u", &minor) != 1 || minor < FIRST_MINOR || minor > LAST_MINOR)
		return "only 1.15 to 1.30 are known";
	void **api = l->base->get(FIRST_MINOR);
	if (!api)
		return "it has no functions of version 15";
	const char *(*info)(void) = (const char *(*)(void))api[API_BUILD_INFO];
	if (strncmp(info(), "ORT Build Info", 14) != 0)
		return "its table of functions is another one";
	l->names.node_name = (void *(*)(const void *, char *, size_t *))api[API_NODE_NAME];
	l->names.release = (release_fn)api[API_RELEASE_STATUS];
	int error = vtables_find(&l->kernels, (const void *)l->base, "N11onnxruntime8OpKernelE");
	if (error == -ENOENT)
		return "its kernels cannot be found: it has no type information";
	if (error || (!l->api && table_count + vtables_count(l->kernels) > TABLES / 2)) {
		vtables_destroy(l->kernels);
		l->kernels = NULL;
		return "its kernels could not be hooked";
	}
	l->api = api;
	return NULL;
}

/* Put functions into the entries of the table that are hooked. 0 or an error. */
static int onnx_set_entries(struct library *l, const void *const functions[3])
{
	void **const slots[] = {
		&l->api[API_RUN], &l->api[API_RUN_WITH_BINDING], &l->api[API_RELEASE_SESSION]};

	return constants_replace(slots, functions, 3);
}

/* NULL, or why it is left alone. */
static const char *onnx_place(struct library *l)
{
	const uint32_t index = (uint32_t)(l - libraries);
	const void *const functions[] = {(const void *)hooks[index].run,
		(const void *)hooks[index].run_bound, (const void *)hooks[index].release_session};

	adding = &l->names;
	int kernels = vtables_replace(l->kernels, COMPUTE, onnx_hook);
	if (kernels <= 0)
		return "its kernels could not be hooked";
	l->run = (run_fn)l->api[API_RUN];
	l->run_bound = (run_bound_fn)l->api[API_RUN_WITH_BINDING];
	l->release_session = (release_fn)l->api[API_RELEASE_SESSION];
	if (onnx_set_entries(l, functions))
		note_once("onnxruntime.steps", "runs are no steps: the table cannot be changed");
	note_once("onnxruntime.kernels", "%d classes of kernels are hooked", kernels);
	return NULL;
}

static void onnx_tell(const char *version, const char *why)
{
	note_once("onnxruntime.version", "%s", version);
	note_once("onnxruntime.rules", "%s", named_sites_rules());
	if (why)
		note_once(
			"onnxruntime.refused", "ONNX Runtime %s is not recorded: %s", version, why);
	else
		note_once("attach", "kernels of ONNX Runtime, some 0.1 us each");
}

/* The library's entry, or a new one; NULL: there are too many. */
static struct library *onnx_library(const struct api_base *base)
{
	for (uint32_t i = 0; i < library_count; i++)
		if (libraries[i].base == base)
			return &libraries[i];
	if (library_count == LIBRARIES)
		return NULL;
	libraries[library_count] = (struct library){.base = base};
	return &libraries[library_count++];
}

static void onnx_look(const struct api_base *base)
{
	KEEP_ERRNO();
	HOLD(&onnx_lock);
	const uint32_t known = library_count;
	struct library *l = onnx_library(base);

	if (!l || library_count == known)
		return;
	const char *version = base->version(), *why = onnx_examine(l, version);
	if (!why)
		why = onnx_place(l);
	vtables_destroy(l->kernels);
	l->kernels = NULL;
	onnx_tell(version, why);
}

BRICK_API const struct api_base *OrtGetApiBase(void);

/* The function that the caller would have reached without us. */
static const struct api_base *(*onnx_real(uintptr_t caller))(void)
{
	const struct api_base *(*function)(void) = NULL;
	struct loaded_object object;
	void *handle = NULL, *found = NULL;

	if (object_at(caller, &object) && object.path[0])
		handle = dlopen(object.path, RTLD_LAZY | RTLD_NOLOAD);
	if (handle) {
		found = dlsym(handle, "OrtGetApiBase");
		dlclose(handle);
	}
	if (!found || found == (void *)OrtGetApiBase)
		found = dlsym(RTLD_NEXT, "OrtGetApiBase");
	dlerror();
	if (!found)
		found = object_symbol("OrtGetApiBase", (const void *)OrtGetApiBase);
	memcpy(&function, &found, sizeof(found));
	return function;
}

const struct api_base *OrtGetApiBase(void)
{
	int saved = errno;
	const struct api_base *(*next)(void) = onnx_real((uintptr_t)__builtin_return_address(0));
	const struct api_base *base = next ? next() : NULL;
	const char *directory = brick__environment("BRICK_SESSION_DIR");

	if (base && directory && *directory && !brick_thread_ready())
		onnx_look(base);
	errno = saved;
	return base;
}

/*
 * ---- a process that runs already ----
 * All that is hooked are words, which other threads read one at a time.
 */

static struct library *onnx_entered; /* the library; NULL: none */

/* By its own name the program's is found, where this library was loaded behind it. */
static const struct api_base *onnx_ours(void) __attribute__((alias("OrtGetApiBase")));

static const char *onnx_enter_prepare(struct brick_enter_control *control)
{
	const struct api_base *(*get)(void);
	void *found = object_symbol("OrtGetApiBase", (const void *)onnx_ours);

	(void)control;
	memcpy(&get, &found, sizeof(get));
	const struct api_base *base = get ? get() : NULL;
	struct library *l = base ? onnx_library(base) : NULL;
	if (!l)
		return "its ONNX Runtime is not there any more";
	const char *why = onnx_examine(l, base->version());
	if (!why)
		onnx_entered = l;
	return why;
}

static void onnx_enter_begin(void)
{
	static bool is_late;

	if (!is_late)
		__atomic_fetch_sub(&onnx_open, 1, __ATOMIC_RELAXED);
	is_late = true;
	if (!brick_thread_ready())
		onnx_tell(onnx_entered->base->version(), onnx_place(onnx_entered));
}

/* Steps in flight end with all of their kernels. */
static void onnx_enter_leave(void)
{
	struct library *l = onnx_entered;

	if (!l)
		return;
	__atomic_store_n(&entry_leaving, 1, __ATOMIC_RELAXED);
	entry_wait_for_ends();
	brick_pause();
	__atomic_store_n(&entry_leaving, 0, __ATOMIC_RELAXED);
	if (l->run) {
		const void *const functions[] = {(const void *)l->run, (const void *)l->run_bound,
			(const void *)l->release_session};
		onnx_set_entries(l, functions);
		vtables_replace(l->kernels, COMPUTE, onnx_unhook);
	}
	vtables_destroy(l->kernels);
	l->kernels = NULL;
	onnx_entered = NULL;
}

BRICK_API void brick_enter(const char *directory);

BRICK_API void brick_enter(const char *directory)
{
	static const struct entry_engine engine = {
		onnx_enter_prepare, onnx_enter_begin, onnx_enter_leave, NULL};

	entry_serve(directory, &engine);
}

BRICK_API int brick_attacher_check(char *text, size_t bytes)
{
	snprintf(text, bytes,
		"kernels of ONNX Runtime 1.15 to 1.30 are recorded, each Run as a step");
	return 0;
}
