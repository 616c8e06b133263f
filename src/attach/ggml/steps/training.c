/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Phases of training (training.h). ggml puts the gradients of a graph behind it, and what changes
 * the weights behind these, so a phase begins with the first node of its kind. ggml calls a
 * gradient "grad for" its tensor.
 */
#include "attach/ggml/steps/training.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include "attach/ggml/steps/other_graphs.h"
#include "attach/ggml/steps/phases.h"
#include "base/thread.h"

enum { FORWARD, BACKWARD, OPTIMIZER, KINDS };

struct training {
	const void *first[KINDS]; /* first node of each kind; NULL: none (always of FORWARD) */
	const char *frame; /* one byte below the frame of the part's hook; NULL: between parts */
	struct phase_scope scope;
	uint8_t is_on;	 /* a graph that trains is being computed */
	uint8_t is_open; /* `scope` is a phase */
	uint8_t kind;	 /* of the last node */
	uint8_t open;	 /* kind of the open phase */
	uint8_t before;	 /* kind of the last node before the part */
};

/* NULL: this thread has not trained. */
static __thread struct training *training __attribute__((tls_model("initial-exec")));
static struct thread_exit training_exit_of_thread;

static void training_thread_exits(void *own)
{
	training = NULL;
	free(own);
}

__attribute__((constructor)) static void training_watch_threads(void)
{
	thread_exit_create(&training_exit_of_thread, training_thread_exits);
}

static bool is_gradient(const struct engine *e, const void *node)
{
	const char *operation = e->op_desc(node);
	size_t length = strlen(operation);

	return !strncmp(e->get_name(node), "grad for ", 9) ||
	       (length > 5 && !strcmp(operation + length - 5, "_BACK"));
}

void training_begin(const struct engine *e, const void *graph)
{
	int count = e->graph_node_count(graph);

	if (!training &&
		!(training = thread_exit_allocate(&training_exit_of_thread, sizeof(*training))))
		return;
	struct training *t = training;
	*t = (struct training){.is_on = 1};
	for (int i = 0; i < count && !t->first[OPTIMIZER]; i++) {
		const void *node = e->graph_node(graph, i);
		if (!engine_executes(e, node))
			continue;
		if (other_graphs_optimizes(e->op_desc(node)))
			t->first[OPTIMIZER] = node;
		else if (!t->first[BACKWARD] && is_gradient(e, node))
			t->first[BACKWARD] = node;
	}
}

void training_end(void)
{
	if (training)
		training->is_on = 0;
}

void training_part_begin(const void *frame)
{
	struct training *t = training;

	if (!t || !t->is_on)
		return;
	t->frame = (const char *)frame - 1;
	t->before = t->kind;
}

void training_part_end(void)
{
	struct training *t = training;

	if (!t)
		return;
	if (t->is_open)
		phase_end(&t->scope);
	t->is_open = 0;
	t->frame = NULL;
}

void training_pass(const void *node)
{
	struct training *t = training;

	if (!t || !t->is_on)
		return;
	if (node == t->first[OPTIMIZER])
		t->kind = OPTIMIZER;
	else if (node == t->first[BACKWARD])
		t->kind = BACKWARD;
}

void training_walk_again(void)
{
	if (training)
		training->kind = training->before;
}

void training_part_pass(const struct engine *e, const void *graph)
{
	if (!training || !training->is_on || !e)
		return;
	for (int i = 0, count = e->graph_node_count(graph); i < count; i++)
		training_pass(e->graph_node(graph, i));
}

void training_node(const void *node, bool is_first)
{
	static const enum phase phases[KINDS] = {PHASE_FORWARD, PHASE_BACKWARD, PHASE_OPTIMIZER};
	struct training *t = training;

	training_pass(node);
	if (!t || !t->frame || (t->is_open ? t->kind == t->open : !is_first))
		return;
	if (t->is_open)
		phase_end(&t->scope);
	phase_begin(&t->scope, phases[t->kind], t->frame);
	t->open = t->kind;
	t->is_open = 1;
}
