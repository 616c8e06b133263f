/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Experts (expert_ids.h). The operations of a layer share one tensor of numbers, so an operation
 * with the tensor of the operation before takes one record (BRICK_EXPERT_SAME).
 */
#include "attach/ggml/hooks/expert_ids.h"

#include <stdbool.h>
#include <string.h>
#include "attach/common/notes_once.h"
#include "attach/ggml/nodes/method.h"
#include "attach/ggml/nodes/node_run.h"
#include "attach/ggml/steps/phases.h"
#include "brick/abi/lane.h"
#include "brick/attach.h"
#include "brick/brick.h"
#include "lib/sys/environment.h"

enum { MAX_EXPERTS = 512 }; /* of a node; a node with more is not recorded */

bool experts_wanted;

/* The numbers of the operation before on this thread, if they were recorded; else ids is NULL. */
static __thread struct {
	const void *ids; /* tensor */
	uint32_t graph;	 /* attach_shared.graph_serial */
} last __attribute__((tls_model("initial-exec")));

ENVIRONMENT_READER(expert_ids_read_environment)
{
	experts_wanted = capture_wants("experts");
}

/* int32 numbers of experts: `used` per row; strides in bytes. */
struct ids {
	const char *data;
	int64_t used, rows;
	uint64_t used_stride, row_stride;
};

/* False: the tensor is no such matrix, or its size in the engine refutes the strides. */
static bool read_ids(struct ids *ids, const struct engine *e, const void *tensor)
{
	const int64_t *ne = tensor_ne(&e->layout, tensor);
	const uint64_t *nb = tensor_nb(&e->layout, tensor);

	*ids = (struct ids){e->get_data(tensor), ne[0], ne[1], nb[0], nb[1]};
	return ids->data && tensor_int32(tensor, e->layout.type) == TENSOR_TYPE_I32 && ne[0] > 0 &&
	       ne[1] > 0 && ne[2] == 1 && ne[3] == 1 &&
	       (uint64_t)(ne[0] - 1) * nb[0] + (uint64_t)(ne[1] - 1) * nb[1] + 4 ==
		       e->byte_count(tensor);
}

/* False: there is a number that is no expert's, or no room. */
static bool expert_ids_record(const struct ids *ids, int64_t experts, uint64_t bytes)
{
	struct brick_expert_record records[MAX_EXPERTS];
	uint32_t counts[MAX_EXPERTS] = {0}, n = 0;

	for (int64_t row = 0; row < ids->rows; row++)
		for (int64_t i = 0; i < ids->used; i++) {
			int32_t id;
			memcpy(&id,
				ids->data + (uint64_t)row * ids->row_stride +
					(uint64_t)i * ids->used_stride,
				sizeof(id));
			if (id < 0 || id >= experts)
				return false;
			counts[id]++;
		}
	for (int32_t i = 0; i < experts; i++)
		if (counts[i])
			records[n++] = (struct brick_expert_record){.expert = i,
				.tokens = counts[i],
				.experts = (uint16_t)experts,
				.bytes = bytes};
	return brick_record_experts(records, n);
}

void experts_node_begin(struct node_thread *t, const void *node)
{
	const struct engine *e = t->engine;
	struct ids ids;

	if (!brick_enabled() || !e || !e->layout_known || !e->op_desc || !e->get_data ||
		!e->byte_count || strcmp(e->op_desc(node), "MUL_MAT_ID") != 0)
		return;
	uint64_t begin = brick__now();
	const void *weights = tensor_source(&e->layout, node, 0);
	const void *tensor = tensor_source(&e->layout, node, 2);
	uint32_t graph = shared_get(&attach_shared.graph_serial);
	int64_t experts = weights ? tensor_ne(&e->layout, weights)[2] : 0;
	if (!tensor || experts < 1 || experts > MAX_EXPERTS)
		return;
	uint64_t bytes = e->byte_count(weights) / (uint64_t)experts;
	node_flush();
	if (last.ids == tensor && last.graph == graph) {
		const struct brick_expert_record same = {
			.expert = BRICK_EXPERT_SAME, .experts = (uint16_t)experts, .bytes = bytes};
		brick_record_experts(&same, 1);
	} else {
		bool is_told = read_ids(&ids, e, tensor) && expert_ids_record(&ids, experts, bytes);
		last.ids = is_told ? tensor : NULL;
		last.graph = graph;
		note_once("capture.experts", "on");
	}
	node_record_span(phase_brick(PHASE_LOOKUP), begin, brick__now());
}
