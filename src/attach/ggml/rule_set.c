/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules in force (rule_set.h). A user's file that is missing or faulty inside of the profiled
 * program is not an error there: Brick's own rules are used, and the recording says so. The command
 * line has refused such a file before the program was started.
 */
#include "attach/ggml/rule_set.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include "attach/rules/rules.h"
#include "brick/brick.h"

static struct rules *sets[2]; /* the user's, Brick's own; NULL where there is none */
static char description[256];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load_users(const char *path)
{
	struct rules_error error;
	int status = rules_load(&sets[0], path, &error);

	if (status)
		snprintf(description, sizeof description, "default (%s:%u: %s)", path, error.line,
			error.text);
	else
		snprintf(description, sizeof description, "%s%s", path,
			rules_defaults_off(sets[0]) ? "" : ", then default");
}

static void load(void)
{
	const char *path = getenv("BRICK_RULES");
	struct rules_error error;

	snprintf(description, sizeof description, "default");
	if (path && *path)
		load_users(path);
	if (!sets[0] || !rules_defaults_off(sets[0]))
		rules_parse(&sets[1], rule_set_default_text, rule_set_default_bytes, &error);
}

static void judge(const struct node_text *text, struct rules_verdict *verdict)
{
	struct rules_source sources[TENSOR_SOURCES];
	const struct rules_node node = {
		text->self.operation, text->self.name, sources, text->source_count};
	struct rules_verdict one;

	for (uint32_t i = 0; i < text->source_count; i++)
		sources[i] = (struct rules_source){text->source[i].name, text->source[i].operation};
	*verdict = (struct rules_verdict){NULL, NULL, -1};
	for (int i = 0; i < 2; i++) {
		if (!sets[i])
			continue;
		rules_apply(sets[i], &node, &one);
		if (verdict->layer < 0)
			verdict->layer = one.layer;
		if (!verdict->brick) {
			verdict->brick = one.brick;
			verdict->category = one.category;
		}
	}
}

static int brick_of(const struct rules_verdict *verdict)
{
	if (!verdict->category)
		return brick_lookup(verdict->brick);
	int category = brick_category_register(verdict->category);
	return brick_register(verdict->brick, category < 0 ? BRICK_CATEGORY_OTHER : category);
}

/* The operation's own name; a table that is full leaves what is no rule's to one brick. */
static int brick_of_operation(const char *operation)
{
	int brick =
		brick_register(operation[0] ? operation : "UnknownOperation", BRICK_CATEGORY_OTHER);

	return brick >= 0 ? brick : BRICK_GRAPH_COMPUTE;
}

void rule_set_apply(const struct node_text *text, struct rule_outcome *outcome)
{
	struct rules_verdict verdict;

	pthread_once(&once, load);
	judge(text, &verdict);
	int brick = verdict.brick ? brick_of(&verdict) : -1;
	outcome->flags = brick < 0 ? BRICK_SITE_UNKNOWN_OPERATION : 0;
	outcome->layer = (int16_t)verdict.layer;
	outcome->brick = (uint16_t)(brick < 0 ? brick_of_operation(text->self.operation) : brick);
}

void rule_set_ready(void)
{
	pthread_once(&once, load);
}

void rule_set_describe(char *text, size_t bytes)
{
	pthread_once(&once, load);
	snprintf(text, bytes, "%s", description);
}
