/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks as a profile of pprof: https://github.com/google/pprof/blob/main/proto/profile.proto. Each
 * name is a function with one location; a sample has executions and ns of its own.
 */
#include "ui/text/flame.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "lib/writer/pb_write.h"
#include "ui/text/tree_view.h"

/* Numbers of fields. */
enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRINGS = 6,
	PROFILE_TIME = 9,
	PROFILE_DURATION = 10,
	PROFILE_DEFAULT_TYPE = 14
};
enum { TYPE_TYPE = 1, TYPE_UNIT = 2, SAMPLE_LOCATION = 1, SAMPLE_VALUE = 2 };
enum { LOCATION_ID = 1, LOCATION_LINE = 4, LINE_FUNCTION = 1, FUNCTION_ID = 1, FUNCTION_NAME = 2 };

static const char *const fixed[] = {"", "executions", "count", "time", "nanoseconds"};

enum { STRING_EXECUTIONS = 1, STRING_COUNT, STRING_TIME, STRING_NS, STRINGS };

/* Names, sorted; that of index i is string STRINGS + i and function and location i + 1. */
struct names {
	char **list;
	size_t count;
};

static int names_init(struct names *names, const struct call_tree *stacks)
{
	size_t count = 0;
	names->list = calloc(stacks->count + 1, sizeof(*names->list));
	if (!names->list)
		return -ENOMEM;
	for (size_t i = 1; i < stacks->count; i++)
		names->list[count++] = tree_name(stacks, &stacks->nodes[i]);
	qsort(names->list, count, sizeof(*names->list), order_texts);
	for (size_t i = 0; i < count; i++)
		if (i && !strcmp(names->list[i], names->list[names->count - 1]))
			free(names->list[i]);
		else
			names->list[names->count++] = names->list[i];
	return 0;
}

static void names_fini(struct names *names)
{
	for (size_t i = 0; i < names->count; i++)
		free(names->list[i]);
	free(names->list);
}

static uint64_t location_of(
	const struct names *names, const struct call_tree *stacks, const struct call_node *node)
{
	SCOPED char *name = tree_name(stacks, node);
	char **found = bsearch(&name, names->list, names->count, sizeof(*names->list), order_texts);
	return (uint64_t)(found - names->list) + 1;
}

static void put_type(struct pb_buffer *b, uint64_t type, uint64_t unit)
{
	size_t message = pb_open(b, PROFILE_SAMPLE_TYPE);
	pb_varint(b, TYPE_TYPE, type);
	pb_varint(b, TYPE_UNIT, unit);
	pb_close(b, message);
}

/* The innermost first. */
static void put_sample(struct pb_buffer *b, const struct call_tree *stacks,
	const uint64_t *locations, const struct call_node *node)
{
	size_t message = pb_open(b, PROFILE_SAMPLE);
	for (const struct call_node *at = node; at->parent != RUN_NONE;
		at = &stacks->nodes[at->parent])
		pb_varint(b, SAMPLE_LOCATION, locations[at - stacks->nodes]);
	pb_varint(b, SAMPLE_VALUE, node->count);
	pb_varint(b, SAMPLE_VALUE, node->self_ns);
	pb_close(b, message);
}

static void put_samples(
	struct pb_buffer *b, const struct call_tree *stacks, const uint64_t *locations)
{
	for (size_t i = 1; i < stacks->count; i++)
		if (stacks->nodes[i].self_ns || stacks->nodes[i].count)
			put_sample(b, stacks, locations, &stacks->nodes[i]);
}

static void put_names(struct pb_buffer *b, const struct names *names)
{
	for (uint64_t i = 1; i <= names->count; i++) {
		size_t location = pb_open(b, PROFILE_LOCATION);
		pb_varint(b, LOCATION_ID, i);
		size_t line = pb_open(b, LOCATION_LINE);
		pb_varint(b, LINE_FUNCTION, i);
		pb_close(b, line);
		pb_close(b, location);
		size_t function = pb_open(b, PROFILE_FUNCTION);
		pb_varint(b, FUNCTION_ID, i);
		pb_varint(b, FUNCTION_NAME, STRINGS + i - 1);
		pb_close(b, function);
	}
	for (size_t i = 0; i < STRINGS; i++)
		pb_string(b, PROFILE_STRINGS, fixed[i], strlen(fixed[i]));
	for (size_t i = 0; i < names->count; i++)
		pb_string(b, PROFILE_STRINGS, names->list[i], strlen(names->list[i]));
}

static void put_profile(struct pb_buffer *b, const struct call_tree *stacks,
	const struct names *names, const uint64_t *locations)
{
	const struct run *run = stacks->run;
	put_type(b, STRING_EXECUTIONS, STRING_COUNT);
	put_type(b, STRING_TIME, STRING_NS);
	put_samples(b, stacks, locations);
	put_names(b, names);
	pb_varint(b, PROFILE_TIME, run->start_unix_ns);
	pb_varint(
		b, PROFILE_DURATION, run->end_ns > run->start_ns ? run->end_ns - run->start_ns : 0);
	pb_varint(b, PROFILE_DEFAULT_TYPE, STRING_TIME);
}

int flame_pprof(const struct call_tree *stacks, FILE *out)
{
	SCOPED uint64_t *locations = calloc(stacks->count, sizeof(*locations));
	SCOPED_BY(pb_buffer_fini) struct pb_buffer b = {0};
	SCOPED_BY(names_fini) struct names names = {0};
	int rc = locations ? names_init(&names, stacks) : -ENOMEM;
	if (rc == 0) {
		for (size_t i = 1; i < stacks->count; i++)
			locations[i] = location_of(&names, stacks, &stacks->nodes[i]);
		put_profile(&b, stacks, &names, locations);
		rc = b.failed ? -ENOMEM : 0;
	}
	if (rc == 0)
		fwrite(b.data, 1, b.size, out);
	return rc;
}
