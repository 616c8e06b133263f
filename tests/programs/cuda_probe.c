/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What CUPTI does here, without Brick: a line for each callback and record of a few launches, so
 * that a run on a device settles what its documentation leaves open. Which calls' ids the records
 * carry, whether clones of nodes are announced as created, too, and in which order, which ids nodes
 * have in replays, how late a flush brings them. Runs on the doubles as well.
 *
 *   cuda_probe LIBCUPTI [LIBCUDART]    exit 77: there is no driver, or no CUPTI
 */
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include "attach/cuda/cuda_abi.h"
#include "tests/programs/cuda_kit.h"

static struct {
	int (*version)(uint32_t *);
	int (*subscribe)(void **, cupti_callback_fn, void *);
	int (*enable_domain)(uint32_t, void *, uint32_t); /* NULL: by ids */
	int (*enable_callback)(uint32_t, void *, uint32_t, uint32_t);
	int (*callback_name)(uint32_t, uint32_t, const char **);
	int (*register_callbacks)(cupti_request_fn, cupti_complete_fn);
	int (*enable)(uint32_t), (*disable)(uint32_t);
	int (*next_record)(uint8_t *, size_t, struct cupti_record **);
	int (*flush)(uint32_t);
	int (*node_id)(void *, uint64_t *);
} cupti;

static double start_ms;
static int kernels_seen, graphs_seen;

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6 - start_ms;
}

static int open_cupti(const char *path)
{
	static const struct {
		const char *name;
		void *to;
	} functions[] = {{"cuptiGetVersion", &cupti.version}, {"cuptiSubscribe", &cupti.subscribe},
		{"cuptiEnableDomain", &cupti.enable_domain},
		{"cuptiEnableCallback", &cupti.enable_callback},
		{"cuptiGetCallbackName", &cupti.callback_name},
		{"cuptiActivityRegisterCallbacks", &cupti.register_callbacks},
		{"cuptiActivityEnable", &cupti.enable}, {"cuptiActivityDisable", &cupti.disable},
		{"cuptiActivityGetNextRecord", &cupti.next_record},
		{"cuptiActivityFlushAll", &cupti.flush}, {"cuptiGetGraphNodeId", &cupti.node_id}};
	void *library = dlopen(path, RTLD_NOW);

	for (size_t i = 0; library && i < sizeof functions / sizeof *functions; i++) {
		void *function = dlsym(library, functions[i].name);
		memcpy(functions[i].to, &function, sizeof function);
	}
	return library && cupti.subscribe && cupti.node_id;
}

static uint64_t id_of(void *node)
{
	uint64_t id = 0;

	if (node)
		cupti.node_id(node, &id);
	return id;
}

static void on_resource(uint32_t id, const struct cupti_graph *graph)
{
	static const char *const names[] = {[CUPTI_GRAPH_NODE_CREATED] = "node created",
		[CUPTI_GRAPH_NODE_CLONED] = "node cloned",
		[CUPTI_GRAPH_EXEC_STARTING] = "exec starting",
		[CUPTI_GRAPH_EXEC_CREATED] = "exec created"};

	if (id >= sizeof names / sizeof *names || !names[id])
		return;
	int is_node = id == CUPTI_GRAPH_NODE_CREATED || id == CUPTI_GRAPH_NODE_CLONED;
	printf("%8.3f %s id %#llx of %#llx type %u\n", now_ms(), names[id],
		is_node ? (unsigned long long)id_of(graph->node) : 0ull,
		id == CUPTI_GRAPH_NODE_CLONED ? (unsigned long long)id_of(graph->original_node)
					      : 0ull,
		is_node ? graph->node_type : 0);
}

static void on_callback(void *own, uint32_t domain, uint32_t id, const void *data)
{
	const struct cupti_call *call = data;
	const struct cupti_resource_call *resource = data;

	if (domain == CUPTI_DOMAIN_RESOURCE && resource->what)
		on_resource(id, resource->what);
	else if (domain <= CUPTI_DOMAIN_RUNTIME)
		printf("%8.3f %s %s domain %u id %u correlation %u\n", now_ms(),
			call->site == CUPTI_ENTER ? "enter" : "leave", call->function, domain, id,
			call->correlation);
}

static void request(uint8_t **buffer, size_t *bytes, size_t *records)
{
	*bytes = 1 << 18;
	*records = 0;
	*buffer = aligned_alloc(8, *bytes);
	if (*buffer)
		memset(*buffer, 0, *bytes);
}

static void complete(void *context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid)
{
	struct cupti_record *record = NULL;

	while (valid && cupti.next_record(buffer, valid, &record) == CUPTI_FINE) {
		const struct cupti_kernel *k = (const void *)record;
		if (record->kind == CUPTI_CONCURRENT_KERNEL)
			printf("%8.3f record kernel correlation %u node %#llx stream %u name %s\n",
				now_ms(), k->correlation, (unsigned long long)k->graph_node,
				k->stream, k->name);
		else if (record->kind == CUPTI_GRAPH_TRACE)
			printf("%8.3f record graph correlation %u of %llu ns\n", now_ms(),
				((const struct cupti_graph_trace *)record)->correlation,
				(unsigned long long)(((const struct cupti_graph_trace *)record)
							     ->end -
						     ((const struct cupti_graph_trace *)record)
							     ->start));
		else
			printf("%8.3f record kind %u\n", now_ms(), record->kind);
		graphs_seen += record->kind == CUPTI_GRAPH_TRACE;
		kernels_seen += record->kind == CUPTI_CONCURRENT_KERNEL;
	}
	free(buffer);
}

static int start_tracing(void)
{
	static const uint32_t kinds[] = {CUPTI_CONCURRENT_KERNEL, CUPTI_MEMCPY, CUPTI_MEMSET};
	void *subscriber;
	uint32_t version = 0;
	int result = cupti.subscribe(&subscriber, on_callback, NULL);

	cupti.version(&version);
	printf("cupti version %u, subscribe: %d\n", version, result);
	if (result != CUPTI_FINE)
		return result;
	for (uint32_t id = CUPTI_GRAPH_NODE_CREATED; id <= CUPTI_GRAPH_NODE_CLONED; id++)
		cupti.enable_callback(1, subscriber, CUPTI_DOMAIN_RESOURCE, id);
	for (uint32_t domain = CUPTI_DOMAIN_DRIVER; domain <= CUPTI_DOMAIN_RUNTIME; domain++)
		for (uint32_t id = 1; id < 1536; id++) {
			const char *name = NULL;
			if (cupti.callback_name(domain, id, &name) == CUPTI_FINE && name &&
				(strstr(name, "Launch") || strstr(name, "Graph") ||
					strstr(name, "emset")))
				cupti.enable_callback(1, subscriber, domain, id);
		}
	result = cupti.register_callbacks(request, complete);
	for (size_t i = 0; result == CUPTI_FINE && i < sizeof kinds / sizeof *kinds; i++)
		result = cupti.enable(kinds[i]);
	return result;
}

/* A fill through the runtime: which of its ids and the driver's the record carries. */
static void through_runtime(const char *path, address x)
{
	void *library = path ? dlopen(path, RTLD_NOW) : NULL;
	int (*fill)(void *, int, size_t, void *) = NULL;
	void *function = library ? dlsym(library, "cudaMemsetAsync") : NULL;

	memcpy(&fill, &function, sizeof fill);
	if (fill)
		printf("runtime: fill %d\n", fill((void *)(uintptr_t)x, 0, 64, NULL));
	else
		puts("runtime: none given");
}

/* A graph in a graph: which ids its kernels have when it is added, copied and replayed. */
static void graph_in_graph(address x, void *stream)
{
	void *inner, *outer, *node, *exec;

	check(cu.capture(stream, 2), "capture");
	launch_scale(x, 0.5f, stream);
	launch_scale(x, 2.0f, stream);
	check(cu.end_capture(stream, &inner), "end capture");
	check(cu.graph(&outer, 0), "graph");
	printf("%8.3f a child is added\n", now_ms());
	check(cu.child(&node, outer, NULL, 0, inner), "child");
	printf("%8.3f node %#llx has it\n", now_ms(), (unsigned long long)id_of(node));
	check(cu.instantiate(&exec, outer, 0), "instantiate");
	check(cu.replay(exec, stream), "replay");
	check(cu.stream_sync(stream), "sync");
}

/*
 * May kinds of whole replays and of kernels be on together, and be switched between replays of one
 * graph? Light recording needs it: whole, by kernels, whole.
 */
static void whole_replays(void *exec, void *stream)
{
	int kernels = kernels_seen, results[3] = {-1, -1, -1};

	for (int i = 0; i < 3; i++) {
		results[i] = (i % 2 ? cupti.disable : cupti.enable)((uint32_t)CUPTI_GRAPH_TRACE);
		double begin = now_ms();
		check(cu.replay(exec, stream), "replay");
		printf("%8.3f replay %d took %.3f ms behind a switch\n", now_ms(), i,
			now_ms() - begin);
		check(cu.stream_sync(stream), "sync");
	}
	cupti.disable(CUPTI_GRAPH_TRACE);
	cupti.flush(CUPTI_FLUSH_FORCED);
	printf("whole replays: switches %d %d %d, %d of 2 graphs, %d of 2 kernels\n", results[0],
		results[1], results[2], graphs_seen, kernels_seen - kernels);
	kernels_seen = kernels;
}

int main(int argc, char **argv)
{
	void *stream, *graph, *exec;

	setvbuf(stdout, NULL, _IOLBF, 0); /* what a crash leaves is there */
	start_ms = now_ms();
	if (!open_driver() || !open_cupti(argc > 1 ? argv[1] : "libcupti.so")) {
		puts("no CUDA driver, or no CUPTI");
		return 77;
	}
	if (start_tracing() != CUPTI_FINE)
		return 1;
	start();
	address x = buffer(1);
	launch_scale(x, 2.0f, NULL);
	through_runtime(argc > 2 ? argv[2] : NULL, x);
	check(cu.context_sync(), "sync");
	cupti.flush(0);
	check(cu.stream(&stream, 1), "stream");
	check(cu.capture(stream, 2), "capture");
	launch_scale(x, 0.5f, stream);
	launch_scale(x, 2.0f, stream);
	check(cu.end_capture(stream, &graph), "end capture");
	check(cu.instantiate(&exec, graph, 0), "instantiate");
	for (int i = 0; i < 2; i++)
		check(cu.replay(exec, stream), "replay");
	check(cu.stream_sync(stream), "sync");
	graph_in_graph(x, stream);
	printf("%8.3f all is done; flush\n", now_ms());
	cupti.flush(0);
	printf("%8.3f flushed: %d kernels of 7\n", now_ms(), kernels_seen);
	cupti.flush(CUPTI_FLUSH_FORCED);
	printf("%8.3f forced: %d kernels of 7\n", now_ms(), kernels_seen);
	whole_replays(exec, stream);
	return failures || kernels_seen != 7;
}
