/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks of arguments (node_arguments.h). The kernel tells whether memory is readable:
 * rt_sigprocmask() copies its set of 8 bytes before it refuses the wrong first argument. Programs
 * that filter system calls allow this one, as every thread makes it.
 */
#include "attach/ggml/hooks/node_arguments.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "attach/ggml/graphs/known_graphs.h"
#include "base/scope.h"

enum {
	PAGE = 4096,
	MAX_THREADS = 4096, /* of a team; more are no params */
	MAX_TYPE = 1 << 12, /* types from here on are no tensor's */
	DEPTH_OF_FIELDS = 512,
};

static bool is_word_readable(uintptr_t at)
{
	return !syscall(SYS_rt_sigprocmask, ~0, at & ~(uintptr_t)7, NULL, 8) || errno != EFAULT;
}

static bool node_arguments_is_readable(const void *from, size_t bytes)
{
	uintptr_t at = (uintptr_t)from, last = at + bytes - 1;
	KEEP_ERRNO();

	if (at < PAGE || last < at)
		return false;
	for (; at < last; at = (at | (PAGE - 1)) + 1)
		if (!is_word_readable(at))
			return false;
	return is_word_readable(last);
}

/* See struct compute_params: ith < nth, or, in older versions, a task before them. */
static bool are_params(const void *params, bool is_near)
{
	const int *words = params;

	if (!is_near && ((uintptr_t)params % sizeof(int) ||
				!node_arguments_is_readable(params, 3 * sizeof(int))))
		return false;
	return (words[0] >= 0 && words[0] < words[1] && words[1] <= MAX_THREADS) ||
	       (words[0] >= 0 && words[1] >= 0 && words[1] < words[2] && words[2] <= MAX_THREADS);
}

static bool is_tensor(const struct node_thread *t, const void *node)
{
	if ((uintptr_t)node % sizeof(void *) ||
		!node_arguments_is_readable(node, DEPTH_OF_FIELDS / 2))
		return false;
	if (!t->engine->layout_known)
		return true;
	const struct tensor_layout *l = &t->engine->layout;
	const int64_t *ne = tensor_ne(l, node);
	if (!node_arguments_is_readable(node, (size_t)l->name + TENSOR_NAME_BYTES))
		return false;
	for (int i = 0; i < TENSOR_DIMS; i++)
		if (ne[i] < 0 || ne[i] >> 48)
			return false;
	for (uint32_t i = 0; i < 2; i++) {
		const void *source = tensor_source(l, node, i);
		if (source &&
			!node_arguments_is_readable(source, (size_t)l->name + TENSOR_NAME_BYTES))
			return false;
	}
	return (uint32_t)tensor_int32(node, l->op) < OPERATION_CLASSES &&
	       (uint32_t)tensor_int32(node, l->type) < MAX_TYPE;
}

/* If a graph is being computed and known, only its nodes count; else what looks like a tensor. */
static bool is_node(const struct node_thread *t, const void *node)
{
	int has = known_graphs_have(node);

	return has < 0 ? is_tensor(t, node) : has;
}

bool node_arguments_hold(
	struct node_thread *t, const void *params, const void *node, const void *mul)
{
	uint32_t *holds = &t->engine->profile->arguments_hold;

	if (__atomic_load_n(holds, __ATOMIC_RELAXED))
		return true;
	if (are_params(params, false) && is_node(t, node) && (!mul || is_node(t, mul))) {
		__atomic_store_n(holds, 1, __ATOMIC_RELAXED);
		return true;
	}
	t->bytes = 0;
	t->resolve_generation = 0;
	return false;
}

static bool is_in_graph(const struct node_thread *t, const void *node)
{
	for (uint32_t i = 0; i < t->graph->count; i++)
		if (t->graph->nodes[i].node == node)
			return true;
	return false;
}

bool node_arguments_look(struct node_thread *t, const void *params, const void *node, bool is_near)
{
	bool is_at_it = t->graph && t->graph_serial == shared_get(&attach_shared.graph_serial);

	return node && are_params(params, is_near) &&
	       (is_at_it ? is_in_graph(t, node) : is_node(t, node));
}
