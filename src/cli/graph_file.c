/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads graph files with jansson. The file is untrusted: nodes must be numbered from 0 in order,
 * edges must lead from and to existing nodes, and numbers must be in their ranges. The first fault
 * ends the program with its place.
 */
#include "cli/graph_file.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/scope.h"
#include "brick/error.h"
#include "brick/graph_path.h"
#include "cli/command.h"
#include "cli/die.h"
#include "ui/text/text.h"

static const char SCHEMA[] = "brick/graph/1";
static const char *const node_kinds[BRICK_NODE_KINDS] = {
	"layer", "brick", "kernel", "transfer", "function", "task"};
static const char *const edge_kinds[BRICK_EDGE_KINDS] = {
	"calls", "contains", "launches", "sequence", "depends-on", "transfer"};
static const char *const directions[] = {"unknown", "H2D", "D2H", "D2D"};

bool graph_file_is(const char *path)
{
	char begin[64] = "";
	FILE *in = fopen(path, "re");

	if (!in)
		return false;
	size_t n = fread(begin, 1, sizeof(begin) - 1, in);
	fclose(in);
	return n > 2 && begin[strspn(begin, " \t\r\n")] == '{' && strstr(begin, SCHEMA);
}

/* The place in the file that is being read, for messages. */
struct place {
	const char *path, *what;
	size_t index;
};

static _Noreturn BRICK_PRINTF(2, 3) void graph_file_refuse(
	const struct place *at, const char *format, ...)
{
	char reason[256];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(reason, sizeof(reason), format, arguments);
	va_end(arguments);
	die(CLI_INPUT, "%s: %s %zu: %s", at->path, at->what, at->index, reason);
}

/* A number from 0 to `most`; `none` if the key is missing. */
static uint64_t graph_file_number(
	const struct place *at, const json_t *from, const char *key, uint64_t most, uint64_t none)
{
	const json_t *value = json_object_get(from, key);

	if (!value || json_is_null(value))
		return none;
	json_int_t n = json_integer_value(value);
	if (!json_is_integer(value) || n < 0 || (uint64_t)n > most)
		graph_file_refuse(at, "%s: must be a number from 0 to %" PRIu64, key, most);
	return (uint64_t)n;
}

static const char *graph_file_text(const struct place *at, const json_t *from, const char *key)
{
	const json_t *value = json_object_get(from, key);

	if (value && !json_is_null(value) && !json_is_string(value))
		graph_file_refuse(at, "%s: must be a text", key);
	return json_string_value(value);
}

/* The index of a text in a list of words. */
static uint32_t graph_file_word(const struct place *at, const json_t *from, const char *key,
	const char *const *words, uint32_t count)
{
	const char *value = graph_file_text(at, from, key);

	for (uint32_t i = 0; value && i < count; i++)
		if (!strcmp(words[i], value))
			return i;
	graph_file_refuse(at, "%s: %s is not known", key, value ? value : "what is missing");
	return 0;
}

static void triple(const struct place *at, const json_t *from, const char *key, uint32_t out[3])
{
	const json_t *list = json_object_get(from, key);

	for (size_t i = 0; list && i < 3; i++) {
		json_int_t n = json_integer_value(json_array_get(list, i));
		if (json_array_size(list) != 3 || n < 0 || n > UINT32_MAX)
			graph_file_refuse(at, "%s: must be three numbers", key);
		out[i] = (uint32_t)n;
	}
}

static double graph_file_real(const json_t *from, const char *key, uint32_t flag, uint32_t *flags)
{
	const json_t *value = json_object_get(from, key);

	*flags |= json_is_number(value) ? flag : 0;
	return json_number_value(value);
}

static void graph_file_read_kernel(
	const struct place *at, const json_t *from, struct brick_graph_node *node)
{
	struct brick_graph_kernel *k = &node->kernel;
	const char *code = graph_file_text(at, from, "code");

	k->code = code ? strtoull(code, NULL, 16) : 0;
	triple(at, from, "grid", k->grid);
	triple(at, from, "block", k->block);
	k->shared_bytes = graph_file_number(at, from, "shared_bytes", INT64_MAX, 0);
	k->intensity = graph_file_real(from, "intensity", BRICK_NODE_HAS_INTENSITY, &node->flags);
	k->tflops = graph_file_real(from, "tflops", BRICK_NODE_HAS_TFLOPS, &node->flags);
}

static void read_details(const struct place *at, const json_t *from, struct brick_graph_node *node)
{
	switch (node->kind) {
	case BRICK_NODE_KERNEL:
		graph_file_read_kernel(at, from, node);
		break;
	case BRICK_NODE_TRANSFER:
		node->transfer.source = graph_file_text(at, from, "source");
		node->transfer.target = graph_file_text(at, from, "target");
		node->transfer.direction = graph_file_word(at, from, "direction", directions, 4);
		break;
	case BRICK_NODE_FUNCTION:
		node->function.file = graph_file_text(at, from, "file");
		node->function.line = (uint32_t)graph_file_number(at, from, "line", UINT32_MAX, 0);
		break;
	case BRICK_NODE_TASK:
		node->task.polls = graph_file_number(at, from, "polls", INT64_MAX, 0);
		node->task.yields = graph_file_number(at, from, "yields", INT64_MAX, 0);
		node->task.poll_ns = graph_file_number(at, from, "poll_ns", INT64_MAX, 0);
		break;
	}
}

static uint64_t graph_file_known(const struct place *at, const json_t *from, const char *key,
	uint32_t flag, struct brick_graph_node *node)
{
	node->flags |= json_is_integer(json_object_get(from, key)) ? flag : 0;
	return graph_file_number(at, from, key, INT64_MAX, 0);
}

static void graph_file_read_node(
	const struct place *at, const json_t *from, struct brick_graph *graph)
{
	struct brick_graph_node node = BRICK_GRAPH_NODE_INIT;

	if (graph_file_number(at, from, "id", INT32_MAX, UINT64_MAX) != at->index)
		graph_file_refuse(at, "id: must be %zu", at->index);
	node.kind = graph_file_word(at, from, "kind", node_kinds, BRICK_NODE_KINDS);
	node.name = graph_file_text(at, from, "name");
	node.label = graph_file_text(at, from, "label");
	node.lane = (uint32_t)graph_file_number(at, from, "lane", UINT32_MAX, 0);
	const json_t *layer = json_object_get(from, "layer");
	if (json_is_integer(layer)) {
		node.flags |= BRICK_NODE_HAS_LAYER;
		node.layer = (int32_t)json_integer_value(layer);
	}
	node.begin_ns = graph_file_known(at, from, "begin_ns", BRICK_NODE_HAS_BEGIN, &node);
	node.time_ns = graph_file_known(at, from, "time_ns", BRICK_NODE_HAS_TIME, &node);
	node.wait_ns = graph_file_number(at, from, "wait_ns", INT64_MAX, 0);
	node.elements = graph_file_known(at, from, "elements", BRICK_NODE_HAS_ELEMENTS, &node);
	node.bytes = graph_file_known(at, from, "bytes", BRICK_NODE_HAS_BYTES, &node);
	node.flags |= json_is_true(json_object_get(from, "marked")) ? BRICK_NODE_MARKED : 0;
	read_details(at, from, &node);
	int rc = brick_graph_add(graph, &node);
	if (rc < 0)
		graph_file_refuse(at, "%s", brick_strerror(rc));
}

static void read_edge(const struct place *at, const json_t *from, struct brick_graph *graph)
{
	uint64_t last = brick_graph_node_count(graph) - 1;
	uint32_t ends[2];

	for (int i = 0; i < 2; i++) {
		uint64_t node =
			graph_file_number(at, from, i ? "to" : "from", UINT32_MAX, UINT64_MAX);
		if (node > last)
			graph_file_refuse(at, "%s: no such node", i ? "to" : "from");
		ends[i] = (uint32_t)node;
	}
	int rc = brick_graph_connect(graph, ends[0], ends[1],
		(int)graph_file_word(at, from, "kind", edge_kinds, BRICK_EDGE_KINDS),
		json_number_value(json_object_get(from, "weight")));
	if (rc < 0)
		graph_file_refuse(at, "%s", brick_strerror(rc));
}

static void graph_file_read_lane(
	const struct place *at, const json_t *from, struct brick_graph *graph)
{
	uint32_t lane = (uint32_t)graph_file_number(at, from, "lane", UINT32_MAX, 0);
	int rc = brick_graph_lane_name_set(graph, lane, graph_file_text(at, from, "name"));

	if (rc < 0)
		graph_file_refuse(at, "%s", brick_strerror(rc));
}

static void read_code(const struct place *at, const json_t *from, struct brick_graph *graph)
{
	struct brick_graph_code code = BRICK_GRAPH_CODE_INIT;

	code.name = graph_file_text(at, from, "name");
	code.path = graph_file_text(at, from, "path");
	code.source = graph_file_text(at, from, "source");
	int rc = brick_graph_code_add(graph, &code);
	if (rc < 0)
		graph_file_refuse(at, "%s", brick_strerror(rc));
}

typedef void (*read_fn)(const struct place *at, const json_t *from, struct brick_graph *graph);

static void graph_file_read_list(const char *path, const json_t *root, const char *key,
	const char *what, read_fn read, struct brick_graph *graph)
{
	const json_t *list = json_object_get(root, key);

	if (list && !json_is_array(list))
		die(CLI_INPUT, "%s: %s: must be a list", path, key);
	for (size_t i = 0; i < json_array_size(list); i++) {
		const struct place at = {path, what, i};
		const json_t *item = json_array_get(list, i);
		if (!json_is_object(item))
			graph_file_refuse(&at, "must be an object");
		read(&at, item, graph);
	}
}

struct brick_graph *graph_file_load(const char *path)
{
	struct brick_graph *graph;
	json_error_t error;
	json_t *root = json_load_file(path, JSON_REJECT_DUPLICATES, &error);

	if (!root)
		die(CLI_INPUT, "%s: offset %d: %s", path, error.position, error.text);
	const char *schema = json_string_value(json_object_get(root, "schema"));
	if (!schema || strcmp(schema, SCHEMA))
		die(CLI_INPUT, "%s: schema: must be %s", path, SCHEMA);
	if (brick_graph_create(&graph) < 0)
		die(CLI_SYSTEM, "%s: not enough memory for the graph", path);
	graph_file_read_list(path, root, "nodes", "node", graph_file_read_node, graph);
	graph_file_read_list(path, root, "edges", "edge", read_edge, graph);
	graph_file_read_list(path, root, "lanes", "lane", graph_file_read_lane, graph);
	graph_file_read_list(path, root, "code", "code", read_code, graph);
	json_decref(root);
	return graph;
}

/* Always 0: output_finish() reports write errors at the end. */
static int graph_file_put(void *context, const char *data, size_t bytes)
{
	fwrite(data, 1, bytes, context);
	return 0;
}

static void graph_file_check(int rc, const char *path)
{
	if (rc == BRICK_ECYCLE)
		die(CLI_INPUT, "%s: its edges lead in a circle", path);
	if (rc < 0)
		die(CLI_SYSTEM, "%s: %s", path, brick_strerror(rc));
}

void graph_file_tree(struct brick_graph *graph, const char *path, FILE *out)
{
	graph_file_check(brick_graph_write(graph, BRICK_GRAPH_TREE, graph_file_put, out), path);
}

enum { OPPORTUNITIES = 10, LONGEST_PATH = 100 };

static void print_nodes(struct brick_graph *graph, const struct brick_graph_path *path, FILE *out)
{
	fputs("\nOn the path, in order\n", out);
	for (size_t i = 0; i < path->count && i < LONGEST_PATH; i++) {
		struct brick_graph_node node = BRICK_GRAPH_NODE_INIT;
		struct brick_graph_times times = BRICK_GRAPH_TIMES_INIT;
		brick_graph_node_get(graph, path->nodes[i], &node);
		brick_graph_times_get(graph, path->nodes[i], &times);
		SCOPED char *name = text_safe(node.name);
		char own[UNITS_BYTES];
		fprintf(out, "%10s  %s\n", units_time(own, times.own_ns), name);
	}
	if (path->count > LONGEST_PATH)
		fprintf(out, "%10s  %zu more\n", "...", path->count - LONGEST_PATH);
}

static void print_opportunities(struct brick_graph *graph, const char *path, FILE *out)
{
	struct brick_graph_opportunity found[OPPORTUNITIES] = {BRICK_GRAPH_OPPORTUNITY_INIT};
	int n = brick_graph_opportunities(graph, found, OPPORTUNITIES);

	graph_file_check(n, path);
	if (n)
		fprintf(out, "\n%-24s  %10s  %12s  %12s\n", "IF IT WERE FASTER", "ON PATH",
			"10 % LESS", "NOTHING");
	for (int i = 0; i < n; i++) {
		SCOPED char *name = text_safe(found[i].name);
		char on[UNITS_BYTES], less[UNITS_BYTES], nothing[UNITS_BYTES];
		fprintf(out, "%-24s  %10s  %12s  %12s\n", name, units_time(on, found[i].on_path_ns),
			units_time(less, found[i].less_ns),
			units_time(nothing, found[i].nothing_ns));
	}
}

void graph_file_path(struct brick_graph *graph, const char *path, FILE *out)
{
	struct brick_graph_summary s = BRICK_GRAPH_SUMMARY_INIT;
	struct brick_graph_path longest = BRICK_GRAPH_PATH_INIT;

	graph_file_check(brick_graph_summarize(graph, &s), path);
	graph_file_check(brick_graph_critical_path(graph, &longest), path);
	char length[UNITS_BYTES], work[UNITS_BYTES];
	fprintf(out, "Critical path  %s of %s of work in %zu nodes and %zu edges\n",
		units_time(length, s.length_ns), units_time(work, s.work_ns), s.nodes, s.edges);
	if (s.ping_pongs)
		fprintf(out,
			"Ping-pong      %zu pairs of transfers bring back what they took: %" PRIu64
			" bytes\n",
			s.ping_pongs, s.ping_pong_bytes);
	print_nodes(graph, &longest, out);
	print_opportunities(graph, path, out);
}
