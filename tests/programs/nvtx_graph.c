/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A CUDA program that knows nothing of Brick: it says its layers by NVTX, captures them once as a
 * graph, and replays that below another range.
 *
 *   nvtx_graph COUNT OBJECT
 */
#include <stdlib.h>
#include "tests/programs/cuda_kit.h"
#include "tests/programs/annotated_object.h"

static const struct annotated_object *nvtx;

static void layer(address x, address y, void *stream, int index)
{
	char text[96];

	snprintf(text, sizeof(text), "{'Module': 'model.layers.%d.input_layernorm', 'Inputs': []}",
		index);
	nvtx->push(text);
	launch_scale(x, 0.5f, stream);
	nvtx->pop();
	snprintf(text, sizeof(text), "{'Module': 'model.layers.%d.self_attn.qkv_proj'}", index);
	nvtx->push(text);
	launch_add(x, y, stream);
	nvtx->pop();
}

int main(int argc, char **argv)
{
	void *object = argc > 2 ? dlopen(argv[2], RTLD_NOW) : NULL;
	void *stream, *graph, *exec;

	nvtx = object ? dlsym(object, "annotated_object") : NULL;
	if (!nvtx || !open_driver())
		return 77;
	start();
	address x = buffer(1), y = buffer(2);
	check(cu.stream(&stream, 1), "stream");
	check(cu.capture(stream, 2), "capture");
	layer(x, y, stream, 3);
	layer(x, y, stream, 4);
	check(cu.end_capture(stream, &graph), "end capture");
	check(cu.instantiate(&exec, graph, 0), "instantiate");
	for (int i = 0; i < atoi(argv[1]); i++) {
		nvtx->push("replay");
		check(cu.replay(exec, stream), "replay");
		nvtx->pop();
	}
	check(cu.stream_sync(stream), "sync");
	check(cu.exec_destroy(exec), "destroy");
	check(cu.graph_destroy(graph), "destroy");
	check(cu.stream_destroy(stream), "destroy");
	return failures != 0;
}
