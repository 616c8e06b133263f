/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The masks of a graph (masks.h). Nodes are executed in the order of the graph, so an event only
 * has to be compared with the next node that has a mask.
 */
#include "attach/ggml/nodes/masks.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "attach/ggml/nodes/known_graph.h"
#include "attach/ggml/nodes/node_text.h"
#include "base/thread.h"

enum {
	MAX_MASKS =
		8, /* different masks in a graph; nodes with further masks keep their site's work */
	MAX_WORKS = 64, /* works per call of brick_record_timings_work() */
};

/* A node with a mask. */
struct mask_use {
	const struct known_node *node;
	uint32_t mask;	  /* index in masks.masks */
	bool like_former; /* its mask and work are those of the use before it */
	struct work_masked work;
};

struct masks {
	struct mask {
		const void *tensor; /* an input of the graph */
		struct mask_shape shape;
	} masks[MAX_MASKS];
	uint32_t mask_count, use_count;
	bool all_alike; /* like_former holds for every use but the first */
	struct mask_use uses[];
};

/* The masks of the graph that the thread computes. */
struct seen {
	const struct masks *masks; /* NULL: no graph with masks is computed */
	uint32_t next;		   /* in masks->uses: the next use to be executed */
	struct {
		uint64_t pairs, columns; /* see mask_count() */
		bool known;		 /* false: the mask could not be read */
	} * of; /* [MAX_MASKS]; on the heap, as static TLS of preloaded libraries is short */
};

static __thread struct seen masks_own __attribute__((tls_model("initial-exec")));

static bool is_operation(const struct engine *e, const void *tensor, const char *operation)
{
	const char *name = tensor ? e->op_desc(tensor) : NULL;

	return name && !strcmp(name, operation);
}

/*
 * The tensor that holds the mask's values before the graph is computed: the mask if it is an input,
 * or the input of the graph's conversion (CPY) of the mask. NULL: the graph computes the mask.
 */
static const void *input_of(
	const struct engine *e, const struct known_node *nodes, uint32_t count, const void *mask)
{
	uint32_t i = 0;

	while (i < count && nodes[i].node != mask)
		i++;
	if (i == count)
		return is_operation(e, mask, "VIEW") ? NULL : mask;
	if (!is_operation(e, mask, "CPY"))
		return NULL;
	const void *from = tensor_source(&e->layout, mask, 0);
	return is_operation(e, from, "NONE") &&
			       !memcmp(tensor_ne(&e->layout, from), tensor_ne(&e->layout, mask),
				       TENSOR_DIMS * sizeof(int64_t))
		       ? from
		       : NULL;
}

/* Returns 0 if the values have gaps or a type other than F32 and F16. */
static int masks_shape_of(struct mask_shape *shape, const struct engine *e, const void *tensor,
	const struct work_masked *work)
{
	const int64_t *ne = tensor_ne(&e->layout, tensor);
	int32_t type = tensor_int32(tensor, e->layout.type);

	*shape = (struct mask_shape){
		work->columns, work->rows, (uint64_t)ne[1], work->planes, type == TENSOR_TYPE_F16};
	return (type == TENSOR_TYPE_F32 || type == TENSOR_TYPE_F16) &&
	       shape->columns * shape->stride * shape->planes * (shape->half ? 2 : 4) ==
		       e->byte_count(tensor);
}

/* The mask's index in m->masks, added if it is new; MAX_MASKS: there is no room. */
static uint32_t masks_place_of(struct masks *m, const void *tensor, const struct mask_shape *shape)
{
	uint32_t i = 0;

	while (i < m->mask_count && (m->masks[i].tensor != tensor ||
					    memcmp(&m->masks[i].shape, shape, sizeof(*shape)) != 0))
		i++;
	if (i == m->mask_count && i < MAX_MASKS) {
		m->masks[i].tensor = tensor;
		m->masks[i].shape = *shape;
		m->mask_count++;
	}
	return i;
}

struct masks *masks_find(const struct engine *e, const struct known_node *nodes, uint32_t count)
{
	uint32_t uses = 0;

	if (!e->layout_known || !e->op_desc || !e->get_data || !e->byte_count)
		return NULL;
	for (uint32_t i = 0; i < count; i++)
		uses += (uint32_t)is_operation(e, nodes[i].node, "FLASH_ATTN_EXT");
	struct masks *m = uses ? calloc(1, sizeof(*m) + uses * sizeof(m->uses[0])) : NULL;
	if (!m)
		return NULL;
	m->all_alike = 1;
	for (uint32_t i = 0; i < count; i++) {
		if (!is_operation(e, nodes[i].node, "FLASH_ATTN_EXT"))
			continue; /* m->uses may be full: `use` must not be touched here */
		struct mask_use *use = &m->uses[m->use_count];
		struct mask_shape shape;
		struct node_text text;
		struct work_node node;
		use->node = &nodes[i];
		node_text_read(&text, e, nodes[i].node, NULL);
		node_text_fill(&text, e, &node);
		if (!work_mask_of(&use->work, &node))
			continue;
		const void *input = input_of(e, nodes, count,
			tensor_source(&e->layout, nodes[i].node, use->work.source));
		memset(&shape, 0, sizeof(shape));
		if (!input || !masks_shape_of(&shape, e, input, &use->work))
			continue;
		use->mask = masks_place_of(m, input, &shape);
		use->like_former = m->use_count && use[-1].mask == use->mask &&
				   !memcmp(&use[-1].work, &use->work, sizeof(use->work));
		if (use->mask == MAX_MASKS)
			continue;
		m->all_alike &= !m->use_count || use->like_former;
		m->use_count++;
	}
	return m;
}

static struct thread_exit masks_exit_of_thread;

static void masks_thread_exits(void *of)
{
	masks_own = (struct seen){NULL};
	free(of);
}

__attribute__((constructor)) static void masks_watch_threads(void)
{
	thread_exit_create(&masks_exit_of_thread, masks_thread_exits);
}

void masks_begin(const struct engine *e, const struct masks *m)
{
	if (m && !masks_own.of)
		masks_own.of = thread_exit_allocate(
			&masks_exit_of_thread, MAX_MASKS * sizeof(*masks_own.of));
	masks_own.masks = masks_own.of ? m : NULL;
	masks_own.next = 0;
	for (uint32_t i = 0; masks_own.masks && i < m->mask_count; i++) {
		const void *values = e->get_data(m->masks[i].tensor);
		masks_own.of[i].known = values != NULL;
		if (values)
			mask_count(values, &m->masks[i].shape, &masks_own.of[i].pairs,
				&masks_own.of[i].columns);
	}
}

void masks_end(void)
{
	masks_own.masks = NULL;
}

/* The bytes and FLOPs that the mask lets through; 0 if they are not known. */
static void masks_work_of(const struct mask_use *use, struct work_counts *counts)
{
	*counts = (struct work_counts){0};
	if (masks_own.of[use->mask].known && work_seen(&use->work, masks_own.of[use->mask].pairs,
						     masks_own.of[use->mask].columns, counts))
		counts->bytes = counts->flops = 0;
}

/* If the site is that of the next node with a mask: get its work, and go on to the next use. */
static bool masks_take(uint32_t site, struct work_counts *counts)
{
	const struct masks *m = masks_own.masks;

	if (masks_own.next == m->use_count || m->uses[masks_own.next].node->site[0] != site)
		return false;
	masks_work_of(&m->uses[masks_own.next++], counts);
	return true;
}

uint32_t masks_count(const struct masks *m)
{
	return m ? m->use_count : 0;
}

const struct known_node *masks_node(const struct masks *m, uint32_t index)
{
	return m->uses[index].node;
}

uint32_t masks_works(
	const uint32_t *places, uint32_t first, uint32_t count, struct brick_timing_work *works)
{
	const struct masks *m = masks_own.masks;
	struct work_counts counts = {0};
	uint32_t n = 0;

	for (; masks_own.next < masks_count(m); masks_own.next++) {
		uint32_t place = places[masks_own.next];
		if (place >= first + count && place != MASKS_NOWHERE)
			break;
		if (!n || !(m->all_alike || m->uses[masks_own.next].like_former))
			masks_work_of(&m->uses[masks_own.next], &counts);
		if (place >= first && place != MASKS_NOWHERE)
			works[n++] = (struct brick_timing_work){
				place - first, 0, counts.bytes, counts.flops};
	}
	return n;
}

void masks_record_timings(const struct brick_timing *timings, uint32_t count)
{
	struct brick_timing_work works[MAX_WORKS];
	struct work_counts counts;
	uint32_t n = 0, done = 0;

	for (uint32_t i = 0; masks_own.masks && i < count; i++) {
		if (!masks_take(timings[i].site, &counts))
			continue;
		works[n++] = (struct brick_timing_work){i - done, 0, counts.bytes, counts.flops};
		if (n < MAX_WORKS)
			continue;
		brick_record_timings_work(timings + done, i + 1 - done, works, n);
		done = i + 1;
		n = 0;
	}
	brick_record_timings_work(timings + done, count - done, works, n);
}

void masks_record_sample(const struct brick_sample *sample)
{
	struct work_counts counts;

	if (masks_own.masks && masks_take(sample->site, &counts))
		brick_record_sample_work(sample, counts.bytes, counts.flops);
	else
		brick_record_sample(sample);
}
