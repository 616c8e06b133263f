/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels (onnx_kernels.h). An OpKernel begins with the pointer to its vtable and one to its
 * OpKernelInfo, which the C interface takes for the node's name. The operator is the kernel's
 * class. Compute() returns a Status by a hidden pointer in front of its arguments.
 */
#include "attach/onnxruntime/onnx_kernels.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "attach/onnxruntime/vtables.h"
#include "attach/rules/named_sites.h"
#include "base/scope.h"
#include "base/thread.h"
#include "brick/attach.h"
#include "brick/brick.h"

/* Of classes derived from OpKernel: two destructors come first. */
enum { COMPUTE = 2, TABLES = 1 << 13, KNOWN = 1 << 10, NAME_BYTES = 256 };

typedef void *(*compute_fn)(void *status, const void *kernel, void *context);

/*
 * ---- what was in the vtables: filled before anybody calls, then constant ----
 */

static struct table {
	const void *vtable;
	compute_fn compute;
	const struct onnx_names *names;
} tables[TABLES];
static uint32_t table_count;
static const struct onnx_names *adding;

static struct table *table_of(const void *vtable)
{
	uint64_t mixed = ((uintptr_t)vtable >> 3) * 0x9e3779b97f4a7c15ull;

	for (uint32_t i = (uint32_t)(mixed >> 40);; i++) {
		struct table *t = &tables[i & (TABLES - 1)];
		const void *there = __atomic_load_n(&t->vtable, __ATOMIC_ACQUIRE);
		if (there == vtable || !there)
			return t;
	}
}

static void keep(const void *vtable, void *former, const char *name)
{
	struct table *t = table_of(vtable);

	(void)name;
	memcpy(&t->compute, &former, sizeof(former));
	t->names = adding;
	__atomic_store_n(&t->vtable, vtable, __ATOMIC_RELEASE);
	table_count++;
}

/*
 * ---- sites of kernels, by thread ----
 */

struct known {
	const void *kernel;
	const struct named_site *site;
};

static __thread struct {
	struct known *known;
	uint32_t generation, session;
} mine __attribute__((tls_model("initial-exec")));

static uint32_t generation;
static struct thread_exit exit_of_thread;

static void thread_exits(void *argument)
{
	(void)argument;
	free(mine.known);
	mine.known = NULL;
}

__attribute__((constructor)) static void watch_threads(void)
{
	thread_exit_create(&exit_of_thread, thread_exits);
}

void onnx_kernels_forget(void)
{
	__atomic_fetch_add(&generation, 1, __ATOMIC_RELEASE);
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

/* A kernel that is met first: its name is asked for, which allocates nothing if it fits. */
static const struct named_site *look_up(const struct table *t, const void *kernel)
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
	return named_site_find(operation, name, class);
}

static const struct named_site *site_of(const struct table *t, const void *kernel)
{
	uint32_t now = __atomic_load_n(&generation, __ATOMIC_ACQUIRE);
	uint64_t mixed = ((uintptr_t)kernel >> 4) * 0x9e3779b97f4a7c15ull;

	if (mine.known && mine.generation != now)
		memset(mine.known, 0, KNOWN * sizeof(*mine.known));
	mine.generation = now;
	struct known *k = mine.known ? &mine.known[(mixed >> 40) & (KNOWN - 1)] : NULL;
	if (k && k->kernel == kernel)
		return k->site;
	const struct named_site *site = look_up(t, kernel);
	if (k && site)
		*k = (struct known){kernel, site};
	return site;
}

/* This thread may record. */
static bool is_ready(void)
{
	uint32_t on = __atomic_load_n(&brick__on, __ATOMIC_RELAXED);

	if (BRICK_LIKELY(on && mine.session == on))
		return true;
	KEEP_ERRNO();
	if (!on || brick_thread_ready())
		return false;
	mine.session = __atomic_load_n(&brick__on, __ATOMIC_RELAXED);
	if (!mine.known && (mine.known = calloc(KNOWN, sizeof(*mine.known))))
		thread_exit_set(&exit_of_thread, &mine);
	return true;
}

static void *compute(void *status, const void *kernel, void *context)
{
	const struct table *t = table_of(*(const void *const *)kernel);
	const struct named_site *site = is_ready() ? site_of(t, kernel) : NULL;

	if (!site)
		return t->compute(status, kernel, context);
	brick_span span = brick_begin_from(site->brick, site->layer, BRICK_SOURCE_TSC);
	status = t->compute(status, kernel, context);
	if (site->site)
		brick_end_site(span, site->site);
	else
		brick_end(span);
	return status;
}

int onnx_kernels_hook(const void *library, const struct onnx_names *names)
{
	struct vtables *v;
	int status = vtables_find(&v, library, "N11onnxruntime8OpKernelE");

	if (status)
		return status;
	adding = names;
	if (table_count + vtables_count(v) > TABLES / 2)
		status = -ENOSPC;
	else
		status = vtables_replace(v, COMPUTE, (const void *)compute, keep);
	vtables_destroy(v);
	return status;
}
