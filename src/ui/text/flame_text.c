/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks as text: folded, a line for each with its ns at the end, as flamegraph.pl and inferno read
 * them; and for speedscope (https://www.speedscope.app/file-format-schema.json).
 */
#include "ui/text/flame.h"

#include <stdlib.h>

#include "ui/text/json_out.h"
#include "ui/text/text.h"
#include "ui/text/tree_view.h"

/* The parts of a line stand apart by ';'. */
static char *folded_name(const struct call_tree *stacks, const struct call_node *node)
{
	SCOPED char *name = tree_name(stacks, node);
	char *safe = text_safe(name);
	for (char *c = safe; *c; c++)
		if (*c == ';')
			*c = ',';
	return safe;
}

static void fold(
	const struct call_tree *stacks, const struct call_node *node, const char *above, FILE *out)
{
	if (node->self_ns)
		fprintf(out, "%s %llu\n", above, (unsigned long long)node->self_ns);
	for (uint32_t i = node->first; i != RUN_NONE; i = stacks->nodes[i].next) {
		SCOPED char *name = folded_name(stacks, &stacks->nodes[i]);
		SCOPED char *stack = text_format("%s%s%s", above, *above ? ";" : "", name);
		fold(stacks, &stacks->nodes[i], stack, out);
	}
}

int flame_folded(const struct call_tree *stacks, FILE *out)
{
	fold(stacks, &stacks->nodes[0], "", out);
	return 0;
}

/* Number of a frame by name: frames of one name are one. */
static json_t *frame_number(json_t *frames, json_t *numbers, const char *name)
{
	json_t *number = json_object_get(numbers, name);
	if (!number) {
		json_t *frame = json_object();
		json_put(frame, "name", json_text(name));
		number = json_number(json_array_size(frames));
		json_add(frames, frame);
		json_put(numbers, name, number);
	}
	return json_incref(number);
}

struct speedscope {
	const struct call_tree *stacks;
	json_t *frames, *numbers, *samples, *weights;
};

static void add_samples(struct speedscope *s, const struct call_node *node, json_t *stack)
{
	if (node->self_ns) {
		json_add(s->samples, json_copy(stack));
		json_add(s->weights, json_number(node->self_ns));
	}
	for (uint32_t i = node->first; i != RUN_NONE; i = s->stacks->nodes[i].next) {
		SCOPED char *name = tree_name(s->stacks, &s->stacks->nodes[i]),
			    *safe = text_safe(name);
		json_add(stack, frame_number(s->frames, s->numbers, safe));
		add_samples(s, &s->stacks->nodes[i], stack);
		json_array_remove(stack, json_array_size(stack) - 1);
	}
}

int flame_speedscope(const struct call_tree *stacks, FILE *out)
{
	struct speedscope s = {stacks, json_array(), json_object(), json_array(), json_array()};
	json_t *root = json_object(), *profile = json_object(), *shared = json_object();
	json_t *stack = json_array(), *profiles = json_array();
	add_samples(&s, &stacks->nodes[0], stack);
	json_put(profile, "type", json_text("sampled"));
	json_put(profile, "name", json_text(stacks->run->path));
	json_put(profile, "unit", json_text("nanoseconds"));
	json_put(profile, "startValue", json_number(0));
	json_put(profile, "endValue", json_number(stacks->nodes[0].time_ns));
	json_put(profile, "samples", s.samples);
	json_put(profile, "weights", s.weights);
	json_add(profiles, profile);
	json_put(shared, "frames", s.frames);
	json_put(root, "$schema", json_text("https://www.speedscope.app/file-format-schema.json"));
	json_put(root, "exporter", json_text("brick"));
	json_put(root, "shared", shared);
	json_put(root, "profiles", profiles);
	json_decref(stack);
	json_decref(s.numbers);
	json_print(root, out);
	return 0;
}
