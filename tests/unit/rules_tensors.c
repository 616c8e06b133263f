/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Brick's own rules know what reads each weight of each architecture of llama.cpp and of its
 * encoders of images and sounds, in its layer:
 * the list (tests/data/llama_tensors.txt, made by tests/integration/llama_tensors.py) is walked.
 * Nodes have no names of their own here, as many have none in the engine; biases and LoRA's
 * matrices are their weights'.
 */
#include "attach/rules/rules.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static struct rules *rules;
static int faults, asked;

static const char *expected_layer(const char *name, int layer)
{
	int in_layer = strncmp(name, "mm.", 3) &&
		       (strstr(name, "blk.7.") || strstr(name, "net.7.") ||
			       strstr(name, "next.7.") || strstr(name, "stage.7."));

	return layer == (in_layer ? 7 : -1) ? NULL : in_layer ? "no layer" : "a layer";
}

/* A node without a name that reads the weight, and what another operation made. */
static void ask(const char *operation, const char *weight, const char *suffix, const char *made_by)
{
	char name[128];
	struct rules_verdict v;

	snprintf(name, sizeof name, "%s%s", weight, suffix);
	const struct rules_source sources[] = {{name, "NONE"}, {"node_8", made_by}};
	const struct rules_node node = {operation, "node_9", sources, 2};

	rules_apply(rules, &node, &v);
	const char *wrong = v.brick ? expected_layer(weight, v.layer) : "no brick";
	asked++;
	if (!wrong)
		return;
	faults++;
	print_message("%s of %s: %s\n", operation, name, wrong);
}

static void ask_of_weight(const char *weight, const char *operation)
{
	int is_norm = !strcmp(operation, "MUL") &&
		      (strstr(weight, "norm") || strstr(weight, "ln") || strstr(weight, ".bn"));

	ask(operation, weight, ".weight", is_norm ? "RMS_NORM" : "VIEW");
	if (is_norm)
		ask("RMS_NORM+MUL", weight, ".weight", "ADD");
	if (is_norm)
		ask("ADD", weight, ".bias", "MUL");
	if (!strncmp(operation, "MUL_MAT", 7)) {
		ask("ADD", weight, ".bias", operation);
		ask(operation, weight, ".weight.lora_a", "RMS_NORM+MUL");
		ask(operation, weight, ".weight.lora_b", operation);
	}
}

/* "%d" becomes 7, a second one 3. */
static void fill_in(char *text, size_t bytes, const char *format)
{
	size_t used = 0;
	int number = 7;

	for (; *format && used + 4 < bytes; format++) {
		if (format[0] != '%') {
			text[used++] = *format;
			continue;
		}
		used += (size_t)snprintf(text + used, bytes - used, "%d", number);
		number = 3;
		format++;
	}
	text[used] = '\0';
}

static void every_weight_has_a_brick(void **state)
{
	FILE *list = fopen(BRICK_SOURCE_DIR "/tests/data/llama_tensors.txt", "r");
	char format[80], operation[32], weight[96];

	(void)state;
	assert_non_null(list);
	while (fscanf(list, "%79s %31s", format, operation) == 2) {
		fill_in(weight, sizeof weight, format);
		ask_of_weight(weight, operation);
	}
	fclose(list);
	assert_true(asked > 1200);
	assert_int_equal(faults, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(every_weight_has_a_brick)};
	struct rules_error error;

	if (rules_load(&rules, BRICK_SOURCE_DIR "/src/attach/rules/ggml-llama.rules", &error)) {
		fprintf(stderr, "line %u: %s\n", error.line, error.text);
		return 1;
	}
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	rules_destroy(rules);
	return failed;
}
