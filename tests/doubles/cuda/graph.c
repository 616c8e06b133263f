/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The driver's double: capture into graphs, instantiation, which clones every node, and replay
 * (double.h). Nodes of a replay run one after another in the stream of the launch.
 */
#include "tests/doubles/cuda/double.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_CAPTURES = 8 };

static uint64_t last_graph;

static void tell(uint32_t id, struct graph *graph, struct graph *original, struct node *node,
	struct node *from, struct graph *exec)
{
	static const uint32_t types[] = {[OP_KERNEL] = CUDA_NODE_KERNEL,
		[OP_COPY] = CUDA_NODE_MEMCPY,
		[OP_FILL] = CUDA_NODE_MEMSET,
		[OP_EVENT] = 7,
		[OP_CHILD] = CUDA_NODE_GRAPH};
	struct cupti_graph what = {
		graph, original, node, from, node ? types[node->op.kind] : 0, NULL, exec};

	if (double_tools.resource)
		double_tools.resource(id, double_current(), &what);
}

static struct graph *new_graph(int is_exec)
{
	struct graph *graph = calloc(1, sizeof *graph);
	graph->last = &graph->first;
	graph->is_exec = is_exec;
	graph->number = ++last_graph;
	return graph;
}

static struct node *append(struct graph *graph, const struct op *op)
{
	struct node *node = calloc(1, sizeof *node);

	node->id = graph->number << 32 | (uint64_t)graph->count; /* all of the 64 bits are needed */
	node->op = *op;
	*graph->last = node;
	graph->last = &node->next;
	graph->count++;
	return node;
}

/* Arguments are copied at capture, as the driver does. */
void double_capture(struct stream *stream, const struct op *op)
{
	struct node *node = append(stream->capture, op);

	for (int i = 0; op->kind == OP_KERNEL && op->function->executes && i < 3; i++) {
		int is_word = i == 2 || (i == 1 && op->function->executes == SCALE);
		memcpy(&node->op.values[i], op->arguments[i],
			is_word ? sizeof(uint32_t) : sizeof(uint64_t));
		node->op.arguments[i] = &node->op.values[i];
	}
	tell(CUPTI_GRAPH_NODE_CREATED, stream->capture, NULL, node, NULL, NULL);
}

static int destroy(struct graph *graph)
{
	for (struct node *n = graph->first, *next; n; n = next) {
		next = n->next;
		tell(CUPTI_GRAPH_NODE_DESTROYING, graph, NULL, n, NULL, NULL);
		if (n->op.child)
			destroy(n->op.child);
		free(n);
	}
	free(graph);
	return FINE;
}

/* ---- what a capture does not survive ---- */

static struct graph *begun[MAX_CAPTURES]; /* captures that are under way */

static void keep(struct graph *from, struct graph *to)
{
	for (int i = 0; i < MAX_CAPTURES; i++)
		if (begun[i] == from) {
			begun[i] = to;
			return;
		}
}

int double_capture_error(const struct stream *stream)
{
	return stream->capture && stream->capture->is_invalid ? CAPTURE_INVALIDATED : FINE;
}

/* Does a wait for this stream, or the context (NULL), concern a stream that is being captured? */
static int concerns(const struct stream *waited, const struct stream *captured)
{
	if (!waited)
		return captured->context == double_current();
	if (waited == captured->context->null_stream)
		return !captured->is_apart;
	return waited == captured;
}

static struct graph *find_concerned(const struct stream *waited)
{
	for (int i = 0; i < MAX_CAPTURES; i++)
		for (int k = 0; begun[i] && k < begun[i]->joined_count; k++)
			if (concerns(waited, begun[i]->joined[k]))
				return begun[i];
	return NULL;
}

int double_disturbs(struct stream *stream)
{
	struct graph *graph = find_concerned(stream);

	if (!graph)
		return FINE;
	graph->is_invalid = 1;
	return stream && !stream->capture ? CAPTURE_IMPLICIT : IN_CAPTURE;
}

/* ---- captures ---- */

DOUBLE_API int cuStreamBeginCapture_v2(struct stream *stream, int mode)
{
	const struct cuda_stream_call parameters = {stream};
	struct entry e = {.id = 539, .name = "cuStreamBeginCapture_v2", .parameters = &parameters};

	if (!stream || stream->capture)
		return ILLEGAL_STATE;
	double_enter(&e);
	struct graph *graph = new_graph(0);
	keep(NULL, graph);
	double_join(stream, graph);
	return double_leave(&e, FINE);
}

void double_join(struct stream *stream, struct graph *graph)
{
	if (stream->capture || graph->joined_count == MAX_JOINED)
		return;
	stream->capture = graph;
	graph->joined[graph->joined_count++] = stream;
}

DOUBLE_API int cuStreamEndCapture(struct stream *stream, struct graph **out)
{
	const struct cuda_stream_call parameters = {stream};
	struct entry e = {.id = 497, .name = "cuStreamEndCapture", .parameters = &parameters};
	struct graph *graph = stream->capture;

	if (!graph)
		return ILLEGAL_STATE;
	double_enter(&e);
	for (int i = 0; i < graph->joined_count; i++)
		graph->joined[i]->capture = NULL;
	graph->joined_count = 0;
	keep(graph, NULL);
	*out = graph->is_invalid ? NULL : graph;
	if (!graph->is_invalid)
		return double_leave(&e, FINE);
	destroy(graph);
	return double_leave(&e, CAPTURE_INVALIDATED);
}

DOUBLE_API int cuStreamIsCapturing(struct stream *handle, int *status)
{
	struct stream *stream = double_stream(handle);

	if (stream && !handle && find_concerned(stream))
		return CAPTURE_IMPLICIT;
	*status = !stream || !stream->capture ? 0 : stream->capture->is_invalid ? 2 : 1;
	return FINE;
}

/* The last node of the capture is what the next one would depend on. */
DOUBLE_API int cuStreamGetCaptureInfo_v2(struct stream *stream, int *status, uint64_t *id,
	struct graph **graph, const struct node *const **dependencies, size_t *count)
{
	static __thread struct node *node;

	*status = stream->capture != NULL;
	if (!stream->capture)
		return FINE;
	for (node = stream->capture->first; node && node->next; node = node->next)
		;
	if (graph)
		*graph = stream->capture;
	if (dependencies)
		*dependencies = (const struct node *const *)&node;
	if (count)
		*count = node != NULL;
	return FINE;
}

DOUBLE_API int cuThreadExchangeStreamCaptureMode(int *mode)
{
	static __thread int of_thread;
	int before = of_thread;

	of_thread = *mode;
	*mode = before;
	return FINE;
}

static void clone_nodes(struct graph *from, struct graph *to);

/* Every child graph gets a copy before its node does. */
static void clone_children(struct graph *from, struct graph *to, struct graph **children)
{
	for (struct node *n = from->first; n; n = n->next, children++) {
		*children = n->op.child ? new_graph(to->is_exec) : NULL;
		if (*children)
			clone_nodes(n->op.child, *children);
	}
}

static void clone_own(struct graph *from, struct graph *to, struct graph **children)
{
	long announce = double_options()->announce;

	for (struct node *n = from->first; n; n = n->next, children++) {
		struct node *clone = append(to, &n->op);
		clone->op.child = *children;
		for (int i = 0; n->op.kind == OP_KERNEL && i < 3; i++)
			clone->op.arguments[i] = &clone->op.values[i];
		if (announce == 1)
			tell(CUPTI_GRAPH_NODE_CREATED, to, NULL, clone, NULL, NULL);
		tell(CUPTI_GRAPH_NODE_CLONED, to, from, clone, n, NULL);
		if (announce == 2)
			tell(CUPTI_GRAPH_NODE_CREATED, to, NULL, clone, NULL, NULL);
	}
}

static void clone_nodes(struct graph *from, struct graph *to)
{
	struct graph **children = calloc(from->count + 1, sizeof(*children));

	clone_children(from, to, children);
	clone_own(from, to, children);
	free(children);
}

DOUBLE_API int cuGraphCreate(struct graph **out, unsigned flags)
{
	if (flags)
		return INVALID_VALUE;
	*out = new_graph(0);
	return FINE;
}

/* Nodes run in the order in which they were added, which is all that dependencies can ask for. */
DOUBLE_API int cuGraphAddChildGraphNode(struct node **out, struct graph *graph,
	const struct node *const *dependencies, size_t count, struct graph *child)
{
	struct op op = {.kind = OP_CHILD};

	if (!graph || !child || graph->is_exec || child->is_exec || (count && !dependencies))
		return INVALID_VALUE;
	op.child = new_graph(0);
	clone_nodes(child, op.child);
	*out = append(graph, &op);
	tell(CUPTI_GRAPH_NODE_CREATED, graph, NULL, *out, NULL, NULL);
	return FINE;
}

DOUBLE_API int cuGraphInstantiateWithFlags(
	struct graph **out, struct graph *graph, unsigned long long flags)
{
	static int failed;
	struct entry e = {.id = 643, .name = "cuGraphInstantiateWithFlags"};

	double_enter(&e);
	struct graph *exec = new_graph(1);
	struct graph **children = calloc(graph->count + 1, sizeof(*children));
	clone_children(graph, exec, children); /* as a driver does, before it says that it starts */
	tell(CUPTI_GRAPH_EXEC_STARTING, graph, NULL, NULL, NULL, NULL);
	if (double_options()->noexec && !failed++)
		return double_leave(&e, OUT_OF_RESOURCES);
	clone_own(graph, exec, children);
	free(children);
	tell(CUPTI_GRAPH_EXEC_CREATED, graph, NULL, NULL, NULL, exec);
	*out = exec;
	return double_leave(&e, FINE);
}

/* The executable nodes stay, and do what the graph's now do; of another shape it is refused. */
DOUBLE_API int cuGraphExecUpdate_v2(struct graph *exec, struct graph *graph, void *result)
{
	struct {
		int result;
		struct node *from, *to;
	} *out = result;
	struct node *to = exec->first;
	const struct cuda_graph_update parameters = {exec, graph, result};
	struct entry e = {.id = 644, .name = "cuGraphExecUpdate_v2", .parameters = &parameters};

	double_enter(&e);
	memset(out, 0, sizeof *out);
	enum { TOPOLOGY_CHANGED = 2, NODE_TYPE_CHANGED = 3 };
	out->result = exec->count != graph->count ? TOPOLOGY_CHANGED : 0;
	for (struct node *n = graph->first, *t = to; n && t && !out->result;
		n = n->next, t = t->next)
		out->result = n->op.kind != t->op.kind || n->op.child ? NODE_TYPE_CHANGED : 0;
	if (out->result)
		return double_leave(&e, GRAPH_UPDATE_FAILED);
	for (struct node *n = graph->first; n; n = n->next, to = to->next) {
		to->op = n->op;
		for (int i = 0; n->op.kind == OP_KERNEL && i < 3; i++)
			to->op.arguments[i] = &to->op.values[i];
	}
	return double_leave(&e, FINE);
}

DOUBLE_API int cuGraphExecEventRecordNodeSetEvent(
	struct graph *exec, struct node *original, struct event *event)
{
	/* clones are in the order of their originals; the double finds them by the event's place */
	for (struct node *n = exec->first; n; n = n->next)
		if (n->op.kind == OP_EVENT && n->op.bytes == original->op.bytes &&
			n->op.event == original->op.event) {
			n->op.event = original->op.event = event;
			return FINE;
		}
	return NOT_FOUND;
}

DOUBLE_API int cuGraphDestroy(struct graph *graph)
{
	return destroy(graph);
}

DOUBLE_API int cuGraphExecDestroy(struct graph *exec)
{
	tell(CUPTI_GRAPH_EXEC_DESTROYING, NULL, NULL, NULL, NULL, exec);
	return destroy(exec);
}

/* Records of what lies in a child graph have places behind all nodes of the outermost one. */
static void run_nodes(const struct graph *outer, const struct graph *exec, struct stream *stream,
	uint32_t correlation, uint64_t *place)
{
	for (struct node *n = exec->first; n; n = n->next)
		if (n->op.child)
			run_nodes(outer, n->op.child, stream, correlation, place);
		else
			double_run(stream, &n->op, correlation,
				exec == outer ? n->id : outer->number << 32 | (*place)++);
}

DOUBLE_API int cuGraphLaunch(struct graph *exec, struct stream *handle)
{
	const struct cuda_graph_launch parameters = {exec, handle};
	struct entry e = {.id = 514, .name = "cuGraphLaunch", .parameters = &parameters};
	struct stream *stream = double_stream(handle);

	if (!stream || !exec->is_exec)
		return INVALID_VALUE;
	double_enter(&e);
	if (double_fails())
		return double_leave(&e, OUT_OF_RESOURCES);
	uint64_t place = (uint64_t)exec->count;
	double_replay(1);
	run_nodes(exec, exec, stream, e.correlation, &place);
	double_replay(0);
	return double_leave(&e, FINE);
}
