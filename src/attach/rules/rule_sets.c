/* SPDX-License-Identifier: Apache-2.0 */
/* The user's rules go first; a layer and a brick may come from different sets. */
#include "attach/rules/rule_sets.h"

#include <stdio.h>
#include "brick/registry.h"
#include "lib/sys/environment.h"

void rule_sets_load(struct rule_sets *sets, const char *text, size_t bytes)
{
	const char *path = brick__environment("BRICK_RULES");
	struct rules_error error;

	snprintf(sets->description, sizeof(sets->description), "default");
	if (path && *path) {
		if (rules_load(&sets->of[0], path, &error))
			snprintf(sets->description, sizeof(sets->description),
				"default (%s:%u: %s)", path, error.line, error.text);
		else
			snprintf(sets->description, sizeof(sets->description), "%s%s", path,
				rules_defaults_off(sets->of[0]) ? "" : ", then default");
	}
	if (!sets->of[0] || !rules_defaults_off(sets->of[0]))
		rules_parse(&sets->of[1], text, bytes, &error);
}

void rule_sets_judge(
	const struct rule_sets *sets, const struct rules_node *node, struct rules_verdict *verdict)
{
	struct rules_verdict one;

	*verdict = (struct rules_verdict){NULL, NULL, -1};
	for (int i = 0; i < 2; i++) {
		if (!sets->of[i])
			continue;
		rules_apply(sets->of[i], node, &one);
		if (verdict->layer < 0)
			verdict->layer = one.layer;
		if (!verdict->brick) {
			verdict->brick = one.brick;
			verdict->category = one.category;
		}
	}
}

int rule_sets_brick(const struct rules_verdict *verdict)
{
	if (!verdict->brick)
		return -1;
	if (!verdict->category)
		return brick_lookup(verdict->brick);
	int category = brick_category_register(verdict->category);
	return brick_register(verdict->brick, category < 0 ? BRICK_CATEGORY_OTHER : category);
}

void rule_sets_apply(
	const struct rule_sets *sets, const struct rules_node *node, struct rule_outcome *outcome)
{
	struct rules_verdict verdict;

	rule_sets_judge(sets, node, &verdict);
	int brick = rule_sets_brick(&verdict);
	outcome->flags = brick < 0 ? BRICK_SITE_UNKNOWN_OPERATION : 0;
	outcome->layer = (int16_t)verdict.layer;
	if (brick < 0) {
		/* one of the operation's own name; GraphCompute if the table of bricks is full */
		char name[48];
		snprintf(name, sizeof(name), "%s",
			node->operation[0] ? node->operation : "UnknownOperation");
		brick = brick_register(name, BRICK_CATEGORY_OTHER);
	}
	outcome->brick = (uint16_t)(brick < 0 ? BRICK_GRAPH_COMPUTE : brick);
}
