/* SPDX-License-Identifier: Apache-2.0 */
/* Files of an execution graph: Graphviz takes them; they appear whole or not at all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "brick/error.h"
#include "tests/unit/graph_kit.h"

/* Graphviz reads what it is given, however long, deep or odd the names; where it is installed. */
static void graphviz_takes_it(void **state)
{
	struct brick_graph *g = *state;
	char name[BRICK_GRAPH_NAME_BYTES + 1], path[] = "/tmp/brick-dot-XXXXXX", command[128];

	if (system("command -v dot >/dev/null") != 0)
		skip();
	for (size_t i = 0; i < BRICK_GRAPH_NAME_BYTES; i++)
		name[i] = HOSTILE[i % (sizeof(HOSTILE) - 1)];
	name[BRICK_GRAPH_NAME_BYTES] = '\0';
	for (uint32_t i = 0; i < 60; i++) {
		struct brick_graph_node node = {.size = sizeof(struct brick_graph_node),
			.kind = i % BRICK_NODE_KINDS,
			.name = i == 30 ? name : HOSTILE,
			.label = i % 2 ? HOSTILE : NULL,
			.lane = i % 3};
		if (i < 30)
			brick_graph_enter(g, &node);
		else
			brick_graph_add(g, &node);
	}
	for (uint32_t i = 0; i < 25; i++)
		brick_graph_connect(g, (i * 7) % 60, 30 + i, (int)(i % BRICK_EDGE_KINDS), i / 3.0);
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	close(fd);
	for (int cyclic = 0; cyclic < 2; cyclic++) {
		assert_int_equal(brick_graph_save(g, BRICK_GRAPH_DOT, path), 0);
		snprintf(command, sizeof(command), "dot -Tcanon %s 2>&1 >/dev/null | grep -q .",
			path);
		assert_int_not_equal(system(command), 0); /* nothing to complain about */
		brick_graph_connect(g, 28, 3, BRICK_EDGE_CONTAINS, 1);
		brick_graph_connect(g, 3, 3, BRICK_EDGE_CALLS, 1);
	}
	unlink(path);
}

static int refuse(void *context, const char *data, size_t bytes)
{
	int *calls = context;
	return --*calls < 0 ? -ENOSPC : 0;
}

static void errors_of_writing(void **state)
{
	struct brick_graph *g = *state;

	for (int i = 0; i < 5000; i++)
		brick(g, "a longer name than necessary", 1);
	for (int format = 0; format < BRICK_GRAPH_FORMATS; format++) {
		int calls = 0;
		assert_int_equal(brick_graph_write(g, format, refuse, &calls), -ENOSPC);
		assert_int_equal(calls, -1); /* and not asked again */
	}
}

static void files_are_whole(void **state)
{
	struct brick_graph *g = *state;
	char folder[] = "/tmp/brick-graph-XXXXXX", path[64], text[64] = "";

	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/graph.json", folder);
	brick(g, "first", 1);
	errno = 77;
	assert_int_equal(brick_graph_save(g, BRICK_GRAPH_TREE, path), 0);
	assert_int_equal(errno, 77);
	brick_graph_connect(g, 0, 0, BRICK_EDGE_CONTAINS, 1);
	/* what cannot be written leaves what was there */
	assert_int_equal(brick_graph_save(g, BRICK_GRAPH_TREE, path), BRICK_ECYCLE);
	FILE *file = fopen(path, "r");
	assert_non_null(fgets(text, sizeof(text), file));
	fclose(file);
	assert_string_equal(text, "first  0.0µs\n");
	struct stat st;
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_nlink, 1);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(folder), 0); /* nothing else is left */
	assert_int_equal(brick_graph_save(g, BRICK_GRAPH_JSON, path), -ENOENT);
	assert_int_equal(brick_graph_save(g, BRICK_GRAPH_JSON, "/dev/null"), 0);
	assert_int_equal(brick_graph_save(g, BRICK_GRAPH_JSON, "/dev/full"), -ENOSPC);
	assert_int_equal(brick_graph_save(g, -1, path), -EINVAL);
	assert_int_equal(brick_graph_save(g, BRICK_GRAPH_JSON, ""), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		GRAPH_TEST(graphviz_takes_it),
		GRAPH_TEST(errors_of_writing),
		GRAPH_TEST(files_are_whole),
	};
	return cmocka_run_group_tests_name("graph_write", tests, NULL, NULL);
}
