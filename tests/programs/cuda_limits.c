/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What engines do with CUDA beyond cuda_work: many threads, large graphs, graphs within graphs,
 * processes that fork or leave at once. Runs on the double of the driver and on a real one
 * (tests/gpu). What it prints depends on its arguments alone. Exit 1: something failed, 77: no
 * driver.
 *
 *   cuda_limits crowd COUNT   100 threads, each with COUNT layers in a stream of its own
 *   cuda_limits wide COUNT    a graph of 500 kernels, launched COUNT times
 *   cuda_limits child COUNT   a graph that holds another one twice, launched COUNT times
 *   cuda_limits inside COUNT  a layer, and a graph within it whose kernels are of one brick
 *   cuda_limits leave COUNT   COUNT layers, 2 s later one more, and _exit(3)
 *   cuda_limits fork COUNT    COUNT layers, a child that leaves at once, COUNT layers
 */
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tests/programs/cuda_layers.h"

enum { THREADS = 100, WIDE = 250 };

static void *work(void *count)
{
	void *stream;

	check(cu.context_set(context), "current");
	address x = buffer(1), y = buffer(3);
	check(cu.stream(&stream, 1), "stream");
	for (int i = 0; i < *(int *)count; i++)
		layer(x, y, stream, i % 8);
	check(cu.stream_sync(stream), "sync");
	check(cu.stream_destroy(stream), "destroy");
	return NULL;
}

static void run_crowd(int count)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		check(pthread_create(&threads[i], NULL, work, &count), "thread");
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	puts("threads done");
}

static void *captured(address x, address y, void *stream, int layers)
{
	void *graph;

	check(cu.capture(stream, 2), "capture");
	for (int i = 0; i < layers; i++)
		layer(x, y, stream, i);
	check(cu.end_capture(stream, &graph), "end capture");
	return graph;
}

static void launch_graph(void *graph, void *stream, int count)
{
	void *exec;

	check(cu.instantiate(&exec, graph, 0), "instantiate");
	for (int i = 0; i < count; i++) {
		brick_span span = brick_begin(BRICK_LM_HEAD);
		check(cu.replay(exec, stream), "replay");
		brick_end(span);
	}
	check(cu.stream_sync(stream), "sync");
	check(cu.exec_destroy(exec), "destroy");
	check(cu.graph_destroy(graph), "destroy");
}

static void run_wide(int count)
{
	address x = buffer(1), y = buffer(0);
	void *stream;

	check(cu.stream(&stream, 1), "stream");
	launch_graph(captured(x, y, stream, WIDE), stream, count);
	print_sum(x);
}

static void run_child(int count)
{
	address x = buffer(1), y = buffer(2);
	void *stream, *outer, *first, *second;

	check(cu.stream(&stream, 1), "stream");
	void *inner = captured(x, y, stream, 2);
	check(cu.graph(&outer, 0), "graph");
	check(cu.child(&first, outer, NULL, 0, inner), "child");
	check(cu.child(&second, outer, &first, 1, inner), "child");
	check(cu.graph_destroy(inner), "destroy");
	launch_graph(outer, stream, count);
	print_sum(x);
}

static void run_inside(int count)
{
	address x = buffer(1), y = buffer(2);
	void *stream, *inner, *child;

	check(cu.stream(&stream, 1), "stream");
	brick_span span = brick_begin_layer(BRICK_DOWN_PROJECTION, 3);
	check(cu.capture(stream, 2), "capture");
	launch_scale(x, 0.5f, stream);
	launch_add(x, y, stream);
	check(cu.end_capture(stream, &inner), "end capture");
	brick_end(span);
	void *outer = captured(x, y, stream, 1);
	check(cu.child(&child, outer, NULL, 0, inner), "child");
	check(cu.graph_destroy(inner), "destroy");
	launch_graph(outer, stream, count);
	print_sum(x);
}

static void run_layers(int count)
{
	address x = buffer(1), y = buffer(2);

	for (int i = 0; i < count; i++)
		layer(x, y, NULL, 0);
	check(cu.context_sync(), "sync");
	print_sum(x);
}

static void run_leave(int count)
{
	run_layers(count);
	sleep(2);
	run_layers(1);
	fflush(stdout);
	_exit(failures ? 1 : 3);
}

/* The child has bricks, too, and records of kernels that are under way. */
static void run_fork(int count)
{
	address x = buffer(1), y = buffer(2);
	int status = -1;

	for (int i = 0; i < count; i++)
		layer(x, y, NULL, 0);
	fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		brick_end(brick_begin(BRICK_SAMPLING));
		exit(5); /* with what the library does at exit */
	}
	check(waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 5, "child");
	run_layers(count);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(int count);
	} parts[] = {{"crowd", run_crowd}, {"wide", run_wide}, {"child", run_child},
		{"inside", run_inside}, {"leave", run_leave}, {"fork", run_fork}};

	if (!open_driver()) {
		fputs("no CUDA driver\n", stderr);
		return 77;
	}
	start();
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		if (argc > 2 && !strcmp(argv[1], parts[i].name)) {
			parts[i].run(atoi(argv[2]));
			return failures != 0;
		}
	return 2;
}
