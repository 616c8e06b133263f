/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Data that flows between the nodes of an engine's graph, where the recording has it (`brick record
 * --graph`; brick/abi/dataflow.h says what the text is): an edge from the last execution of the
 * node that produced it, on the same thread, to each execution that works on it. Parts on other
 * threads are kept apart by the barriers that are in the graph anyway. Called by graph_from_run.c.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/path/graph_state.h"
#include "base/order.h"
#include "brick/abi/dataflow.h"
#include "base/array.h"

/* Operation and label of a site, in the recording's own text. */
struct key {
	const char *operation, *label;
	size_t operation_bytes, label_bytes;
};

struct flow {
	struct key from, to;
};

struct flows {
	struct flow *list; /* by consumer */
	size_t count, capacity;
};

static int compare_text(const char *a, size_t a_bytes, const char *b, size_t b_bytes)
{
	return memcmp(a, b, a_bytes < b_bytes ? a_bytes : b_bytes) ?: ORDER(a_bytes, b_bytes);
}

static int compare_keys(const struct key *a, const struct key *b)
{
	return compare_text(a->label, a->label_bytes, b->label, b->label_bytes)
		       ?: compare_text(a->operation, a->operation_bytes, b->operation,
				  b->operation_bytes);
}

COMPARATOR(
	by_consumer, struct flow, compare_keys(&x->to, &y->to) ?: compare_keys(&x->from, &y->from))

/* A field of a line, up to a tab or the line's end; 0: there is none. */
static int take_field(const char **at, const char *end, const char **field, size_t *bytes)
{
	const char *tab = memchr(*at, '\t', (size_t)(end - *at));

	if (*at > end)
		return 0;
	*field = *at;
	*bytes = (size_t)((tab ? tab : end) - *at);
	*at = (tab ? tab : end) + 1;
	return 1;
}

/* Lines that are not of four fields are passed over: the text is from outside. */
static int parse_line(struct flow *flow, const char *at, const char *end)
{
	return take_field(&at, end, &flow->from.operation, &flow->from.operation_bytes) &&
	       take_field(&at, end, &flow->from.label, &flow->from.label_bytes) &&
	       take_field(&at, end, &flow->to.operation, &flow->to.operation_bytes) &&
	       take_field(&at, end, &flow->to.label, &flow->to.label_bytes) && at > end;
}

static int parse(struct flows *flows, const char *text)
{
	for (const char *at = text; *at;) {
		const char *end = strchr(at, '\n');
		struct flow flow;
		if (!end)
			end = at + strlen(at);
		if (parse_line(&flow, at, end)) {
			struct flow *grown = array_grow(
				flows->list, &flows->capacity, flows->count + 1, sizeof flow);
			if (!grown)
				return -1;
			flows->list = grown;
			flows->list[flows->count++] = flow;
		}
		at = end + (*end == '\n');
	}
	return 0;
}

static struct key key_of(const struct run_site *site)
{
	const char *operation = site->operation ? site->operation : "",
		   *label = site->label ? site->label : "";

	return (struct key){operation, label, strlen(operation), strlen(label)};
}

/* First flow whose consumer is not below the key. */
static size_t lower_bound(const struct flows *flows, const struct key *key)
{
	return BISECT(i, 0, flows->count, compare_keys(&flows->list[i].to, key) < 0);
}

/* The last execution on this thread of any site with a key. */
struct last {
	struct key key;
	uint32_t node;
};

COMPARATOR(by_key, struct last, compare_keys(&x->key, &y->key))

/* All producers, each once; the caller frees. */
static struct last *collect_producers(const struct flows *flows, size_t *count)
{
	struct last *list = malloc((flows->count + 1) * sizeof *list);
	size_t n = 0;

	if (!list)
		return NULL;
	for (size_t i = 0; i < flows->count; i++)
		list[i] = (struct last){flows->list[i].from, RUN_NONE};
	qsort(list, flows->count, sizeof *list, by_key);
	for (size_t i = 0; i < flows->count; i++)
		if (!i || compare_keys(&list[i].key, &list[i - 1].key))
			list[n++] = list[i];
	*count = n;
	return list;
}

static struct last *find_last(struct last *list, size_t count, const struct key *key)
{
	const struct last wanted = {*key, RUN_NONE};

	return bsearch(&wanted, list, count, sizeof *list, by_key);
}

static void link_sample(struct graph_builder *b, const struct flows *flows, struct last *list,
	size_t count, const struct run_site *site, uint32_t node)
{
	const struct key key = key_of(site);

	for (size_t i = lower_bound(flows, &key);
		i < flows->count && !compare_keys(&flows->list[i].to, &key) && !b->error; i++) {
		const struct last *from = find_last(list, count, &flows->list[i].from);
		bool again = i && !by_consumer(&flows->list[i], &flows->list[i - 1]);
		if (!again && from && from->node != RUN_NONE)
			graph_check(b, brick_graph_connect(b->graph, from->node, node,
					       BRICK_EDGE_DEPENDS_ON, 1));
	}
	struct last *own = find_last(list, count, &key);
	if (own)
		own->node = node;
}

static void link_lane(struct graph_builder *b, const struct flows *flows, struct last *list,
	size_t count, uint32_t span)
{
	const struct graph_lane *lane = &b->lanes[span];
	const struct run_lane *samples = &b->run->lanes[b->schedule->spans.items[span].lane];

	for (size_t i = 0; i < count; i++)
		list[i].node = RUN_NONE;
	for (uint32_t i = 0; i < lane->count && !b->error; i++) {
		const struct run_site *site =
			&b->run->sites[samples->samples[lane->first + i].site];
		if (site->label && lane->samples[i].node != RUN_NONE)
			link_sample(b, flows, list, count, site, lane->samples[i].node);
	}
}

void graph_link_data(struct graph_builder *b)
{
	struct flows flows = {0};
	size_t count = 0;
	int error = 0;

	for (size_t i = 0; i < b->run->code_count && !error; i++) {
		const struct run_code *code = &b->run->codes[i];
		if (code->path && code->source && !strcmp(code->path, BRICK_DATAFLOW_PATH))
			error = parse(&flows, code->source);
	}
	if (flows.count)
		qsort(flows.list, flows.count, sizeof *flows.list, by_consumer);
	SCOPED struct last *list = flows.count && !error ? collect_producers(&flows, &count) : NULL;
	if (error || (flows.count && !list))
		b->error = -ENOMEM;
	for (uint32_t i = 0; list && i < b->schedule->spans.count; i++)
		link_lane(b, &flows, list, count, i);
	free(flows.list);
}
