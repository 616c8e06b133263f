/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A graph as a tree to walk and to look at: walking in order, opening and closing, selecting,
 * searching, scrolling, and what is written of it; graphs that change, are empty, or inside of
 * themselves; names that would move a terminal.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "brick/error.h"
#include "brick/graph_view.h"

enum { LAYERS = 3, BRICKS = 2 };

struct scene {
	struct brick_graph *graph;
	struct brick_graph_view *view;
	char text[65536];
	size_t used;
};

static struct scene scene;

/* Layers of two bricks, each with a kernel: nodes 0, 1 (2), 3 (4), 5 (layer), ... */
static int create(void **state)
{
	(void)state;
	memset(&scene, 0, sizeof scene);
	assert_int_equal(brick_graph_create(&scene.graph), 0);
	for (int l = 0; l < LAYERS; l++) {
		struct brick_graph_node layer = {.size = sizeof(struct brick_graph_node),
			.kind = BRICK_NODE_LAYER,
			.layer = l};
		brick_graph_enter(scene.graph, &layer);
		for (int b = 0; b < BRICKS; b++) {
			char name[32];
			snprintf(name, sizeof name, "Brick%d", b);
			struct brick_graph_node brick = {.size = sizeof(struct brick_graph_node),
				.kind = BRICK_NODE_BRICK,
				.name = name,
				.flags = BRICK_NODE_HAS_TIME,
				.time_ns = 1000};
			struct brick_graph_node kernel = {.size = sizeof(struct brick_graph_node),
				.kind = BRICK_NODE_KERNEL,
				.name = b ? "softmax" : "gemm"};
			brick_graph_enter(scene.graph, &brick);
			brick_graph_add(scene.graph, &kernel);
			brick_graph_pop(scene.graph);
		}
		brick_graph_pop(scene.graph);
	}
	assert_int_equal(brick_graph_view_create(&scene.view, scene.graph), 0);
	return 0;
}

static int destroy(void **state)
{
	(void)state;
	brick_graph_view_destroy(scene.view);
	brick_graph_destroy(scene.graph);
	return 0;
}

static int take(void *context, const char *data, size_t bytes)
{
	struct scene *s = context;

	assert_true(s->used + bytes < sizeof s->text);
	memcpy(s->text + s->used, data, bytes);
	s->used += bytes;
	s->text[s->used] = '\0';
	return 0;
}

static const char *written(size_t columns, size_t rows, int lines)
{
	scene.used = 0;
	scene.text[0] = '\0';
	assert_int_equal(brick_graph_view_write(scene.view, columns, rows, take, &scene), lines);
	return scene.text;
}

struct visited {
	uint32_t nodes[64], depths[64];
	int count, stop_at;
};

static int visit(void *context, uint32_t node, uint32_t depth)
{
	struct visited *v = context;

	v->nodes[v->count] = node;
	v->depths[v->count++] = depth;
	return v->count == v->stop_at ? 42 : 0;
}

static void test_walk(void **state)
{
	struct visited v = {.stop_at = -1};

	(void)state;
	assert_int_equal(brick_graph_walk(scene.graph, visit, &v), 0);
	assert_int_equal(v.count, LAYERS * (1 + 2 * BRICKS));
	for (int i = 0; i < v.count; i++) {
		assert_int_equal(v.nodes[i], i);
		assert_int_equal(v.depths[i], i % 5 == 0 ? 0 : i % 5 % 2 ? 1 : 2);
	}
	v = (struct visited){.stop_at = 4};
	assert_int_equal(brick_graph_walk(scene.graph, visit, &v), 42);
	assert_int_equal(v.count, 4);
}

static void test_open(void **state)
{
	(void)state;
	assert_int_equal(brick_graph_view_rows(scene.view), 3);
	assert_string_equal(written(0, 9, 3), ">+ Layer 0\n + Layer 1\n + Layer 2\n");
	assert_int_equal(brick_graph_view_open(scene.view, 5, 1), 0);
	assert_int_equal(brick_graph_view_is_open(scene.view, 5), 1);
	assert_int_equal(brick_graph_view_is_open(scene.view, 0), 0);
	assert_string_equal(written(0, 9, 5),
		">+ Layer 0\n"
		" - Layer 1\n"
		" \xe2\x94\x9c\xe2\x94\x80\xe2\x94\x80 + Brick0  1.0\xc2\xb5s\n"
		" \xe2\x94\x94\xe2\x94\x80\xe2\x94\x80 + Brick1  1.0\xc2\xb5s\n"
		" + Layer 2\n");
	assert_int_equal(brick_graph_view_open_all(scene.view, 1), 0);
	assert_int_equal(brick_graph_view_rows(scene.view), 15);
	assert_non_null(strstr(written(0, 99, 15), " \xe2\x94\x82   \xe2\x94\x94\xe2\x94\x80"
						   "\xe2\x94\x80 gemm\n"));
	/* what is inside of a closed node cannot be selected */
	assert_int_equal(brick_graph_view_select(scene.view, 7), 0);
	assert_int_equal(brick_graph_view_open(scene.view, 5, 0), 0);
	assert_int_equal(brick_graph_view_selected(scene.view), 5);
	assert_int_equal(brick_graph_view_open_all(scene.view, 0), 0);
	assert_int_equal(brick_graph_view_rows(scene.view), 3);
	assert_int_equal(brick_graph_view_open(scene.view, 99, 1), -ENOENT);
	assert_int_equal(brick_graph_view_is_open(scene.view, 99), -ENOENT);
}

static void test_select(void **state)
{
	(void)state;
	assert_int_equal(brick_graph_view_selected(scene.view), 0);
	assert_int_equal(brick_graph_view_move(scene.view, 1), 5);
	assert_int_equal(brick_graph_view_move(scene.view, 100), 10);
	assert_int_equal(brick_graph_view_move(scene.view, -100), 0);
	assert_int_equal(brick_graph_view_select(scene.view, 14), 0);
	assert_int_equal(brick_graph_view_is_open(scene.view, 10), 1);
	assert_int_equal(brick_graph_view_is_open(scene.view, 13), 1);
	assert_int_equal(brick_graph_view_move(scene.view, -1), 13);
	assert_int_equal(brick_graph_view_select(scene.view, 99), -ENOENT);
	assert_int_equal(brick_graph_view_search(scene.view, "gemm"), 2);
	assert_int_equal(brick_graph_view_search(scene.view, "gemm"), 7);
	assert_int_equal(brick_graph_view_search(scene.view, "Layer 1"), 5);
	assert_int_equal(brick_graph_view_search(scene.view, "nowhere"), -ENOENT);
	assert_int_equal(brick_graph_view_selected(scene.view), 5);
}

static void test_scroll(void **state)
{
	(void)state;
	brick_graph_view_open_all(scene.view, 1);
	for (int node = 0; node < 15; node++) {
		brick_graph_view_select(scene.view, (uint32_t)node);
		const char *text = written(20, 4, 4);
		const char *mark = strchr(text, '>');
		assert_non_null(mark);
		assert_null(strchr(mark + 1, '>'));
		assert_true(mark == text || mark[-1] == '\n');
	}
	/* no further than needed: the last four rows stay where they are */
	char before[256];
	snprintf(before, sizeof before, "%s", written(20, 4, 4));
	brick_graph_view_move(scene.view, -3);
	written(20, 4, 4);
	assert_int_equal(strlen(before), strlen(scene.text));
	assert_int_equal(brick_graph_view_write(scene.view, 1, 0, take, &scene), -EINVAL);
	assert_string_equal(
		written(5, 1, 1), ">\xe2\x94\x9c\xe2\x94\x80\xe2\x94\x80\xe2\x80\xa6\n");
	for (size_t columns = 1; columns < 30; columns++)
		for (const char *at = written(columns, 15, 15); *at; at++) {
			size_t width = 0;
			for (; *at != '\n'; at++)
				width += ((unsigned char)*at & 0xc0) != 0x80;
			assert_in_range(width, 1, columns);
		}
}

static int refuse(void *context, const char *data, size_t bytes)
{
	(void)context;
	(void)data;
	(void)bytes;
	return -EPIPE;
}

static void test_errors(void **state)
{
	struct brick_graph_node node = {
		.size = sizeof(struct brick_graph_node), .kind = BRICK_NODE_BRICK, .name = "late"};

	(void)state;
	assert_int_equal(brick_graph_view_write(scene.view, 9, 9, refuse, NULL), -EPIPE);
	brick_graph_add(scene.graph, &node);
	assert_int_equal(brick_graph_view_rows(scene.view), BRICK_ESTATE);
	assert_int_equal(brick_graph_view_move(scene.view, 1), BRICK_ESTATE);
	assert_int_equal(brick_graph_view_open_all(scene.view, 1), BRICK_ESTATE);
	assert_int_equal(brick_graph_view_search(scene.view, "x"), BRICK_ESTATE);
	assert_int_equal(brick_graph_view_write(scene.view, 9, 9, take, &scene), BRICK_ESTATE);
	brick_graph_view_destroy(NULL);
}

static void test_odd_graphs(void **state)
{
	struct brick_graph_view *view = NULL;
	struct brick_graph *graph;
	static char name[BRICK_GRAPH_NAME_BYTES];

	(void)state;
	assert_int_equal(brick_graph_create(&graph), 0);
	assert_int_equal(brick_graph_view_create(&view, graph), 0);
	assert_int_equal(brick_graph_view_rows(view), 0);
	assert_int_equal(brick_graph_view_selected(view), -ENOENT);
	assert_int_equal(brick_graph_view_move(view, 1), -ENOENT);
	assert_int_equal(brick_graph_view_search(view, ""), -ENOENT);
	assert_int_equal(brick_graph_view_write(view, 9, 9, take, &scene), 0);
	brick_graph_view_destroy(view);
	/* names that are long, or would move the cursor */
	for (size_t i = 0; i + 3 < sizeof name; i += 3)
		memcpy(name + i, "\xe2\x82\xac", 3);
	brick_graph_add(graph, &(struct brick_graph_node){.size = sizeof(struct brick_graph_node),
				       .kind = BRICK_NODE_BRICK,
				       .name = name});
	brick_graph_add(graph, &(struct brick_graph_node){.size = sizeof(struct brick_graph_node),
				       .kind = BRICK_NODE_BRICK,
				       .name = "a\x1b[2J\nb"});
	assert_int_equal(brick_graph_view_create(&view, graph), 0);
	scene.used = 0;
	assert_int_equal(brick_graph_view_write(view, 0, 9, take, &scene), 2);
	assert_null(strchr(scene.text, '\x1b'));
	assert_int_equal(scene.text[strcspn(scene.text, "\n") + 1], ' ');
	brick_graph_view_destroy(view);
	/* inside of itself */
	brick_graph_connect(graph, 0, 1, BRICK_EDGE_CONTAINS, 1);
	brick_graph_connect(graph, 1, 0, BRICK_EDGE_CONTAINS, 1);
	view = NULL;
	assert_int_equal(brick_graph_view_create(&view, graph), BRICK_ECYCLE);
	assert_null(view);
	assert_int_equal(brick_graph_walk(graph, visit, NULL), BRICK_ECYCLE);
	brick_graph_destroy(graph);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_walk, create, destroy),
		cmocka_unit_test_setup_teardown(test_open, create, destroy),
		cmocka_unit_test_setup_teardown(test_select, create, destroy),
		cmocka_unit_test_setup_teardown(test_scroll, create, destroy),
		cmocka_unit_test_setup_teardown(test_errors, create, destroy),
		cmocka_unit_test_setup_teardown(test_odd_graphs, create, destroy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
