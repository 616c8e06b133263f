/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies of ggml in this process (ggml_engine.h). An engine is made when an object first calls a
 * hook of the hot path, on the calling thread, and without the lock: another thread may hold the
 * dynamic linker's lock and wait for ours. If two threads make the same engine, the first is used.
 */
#include "attach/ggml/engine/ggml_engine.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "attach/ggml/engine/node_work.h"
#include "base/scope.h"

static struct engine *engines;
static pthread_mutex_t engine_lock = PTHREAD_MUTEX_INITIALIZER;

LOCK_OVER_FORKS(engine_lock)

#define LOOK_UP(field, name) RESOLVE(field, object, name, 0)

static void infer_layout(struct engine *e, const struct loaded_object *object)
{
	struct tensor_constructors make;

	LOOK_UP(make.init, "ggml_init");
	LOOK_UP(make.free, "ggml_free");
	LOOK_UP(make.new_2d, "ggml_new_tensor_2d");
	LOOK_UP(make.mul_mat, "ggml_mul_mat");
	LOOK_UP(make.add, "ggml_add");
	LOOK_UP(make.view_1d, "ggml_view_1d");
	LOOK_UP(make.set_name, "ggml_set_name");
	LOOK_UP(make.overhead, "ggml_tensor_overhead");
	e->layout_known = !tensor_layout_infer(&e->layout, &make, &e->layout_refused);
	if (e->layout_known && e->block_size && e->type_size) {
		e->layout_refused = NULL;
	} else if (e->layout_known) {
		e->layout_known = 0;
		e->layout_refused = "type sizes";
	}
}

/*
 * Is the object ggml? Functions of another library may have ggml's names, with any arguments. True
 * if the layout of tensors was found, or at least ENOUGH of the accessors that every ggml has.
 */
static bool is_proved(const struct engine *e)
{
	enum { ENOUGH = 3 };
	const int found = (e->op_desc != NULL) + (e->get_name != NULL) + (e->block_size != NULL) +
			  (e->type_size != NULL) + (e->element_count != NULL) +
			  (e->byte_count != NULL) + (e->get_data != NULL);

	return e->layout_known || found >= ENOUGH;
}

/* Clear all but the functions to lead on to: nothing of an unproved engine is read. */
static void only_call_through(struct engine *e)
{
	const struct engine known = *e;

	*e = (struct engine){.object = known.object,
		.extra_forward = known.extra_forward,
		.fused_forward = known.fused_forward,
		.compute_forward = known.compute_forward,
		.barrier = known.barrier,
		.is_empty = known.is_empty,
		.layout_refused = known.layout_refused,
		.profile = known.profile,
		.operation_class = known.operation_class};
}

/* Under the lock: a published engine of the same object with the same functions; NULL: none. */
static struct engine *find_former(const struct engine *like)
{
	struct engine *e = engines;

	while (e && (e->object.low != like->object.low || e->object.bytes != like->object.bytes ||
			    strcmp(e->object.path, like->object.path) ||
			    e->extra_forward != like->extra_forward ||
			    e->compute_forward != like->compute_forward ||
			    (e->is_proved && e->op_desc != like->op_desc) ||
			    e->barrier != like->barrier))
		e = e->next;
	return e;
}

/* A new engine, without its layout, not published. NULL: no memory, or in no object. */
static struct engine *engine_create(uintptr_t address)
{
	struct {
		struct engine engine;
		struct barrier_profile profile;
		uint8_t operation_class[OPERATION_CLASSES];
	} *place = calloc(1, sizeof(*place));
	struct engine *e = place ? &place->engine : NULL;

	if (!e || !resolve_object(address, &e->object)) {
		free(place);
		return NULL;
	}
	e->profile = &place->profile;
	e->operation_class = place->operation_class;
	const struct loaded_object *object = &e->object;
	RESOLVE(e->extra_forward, object, ggml_symbols[GGML_NODE_FORWARD].name, 1);
	RESOLVE(e->fused_forward, object, ggml_symbols[GGML_FUSED_FORWARD].name, 1);
	RESOLVE(e->compute_forward, object, ggml_symbols[GGML_COMPUTE_FORWARD].name, 1);
	RESOLVE(e->barrier, object, ggml_symbols[GGML_BARRIER].name, 1);
	/*
	 * If compute_forward() is patched, the patch has decided that it stands in. If it is
	 * reached by the dynamic linker, it stands in only without extra_forward().
	 */
	e->stands_in = e->compute_forward &&
		       (!e->extra_forward || patched_home((uintptr_t)e->compute_forward) !=
						     (uintptr_t)e->compute_forward);
	RESOLVE(e->is_empty, object, ggml_symbols[GGML_IS_EMPTY].name, 1);
	LOOK_UP(e->op_desc, "ggml_op_desc");
	LOOK_UP(e->get_name, "ggml_get_name");
	LOOK_UP(e->block_size, "ggml_blck_size");
	LOOK_UP(e->type_size, "ggml_type_size");
	LOOK_UP(e->element_count, "ggml_nelements");
	LOOK_UP(e->byte_count, "ggml_nbytes");
	LOOK_UP(e->get_data, "ggml_get_data");
	LOOK_UP(e->graph_node_count, "ggml_graph_n_nodes");
	LOOK_UP(e->graph_node, "ggml_graph_node");
	LOOK_UP(e->graph_nodes, "ggml_graph_nodes");
	LOOK_UP(e->graph_view, "ggml_graph_view");
	LOOK_UP(e->backend_name, "ggml_backend_name");
	LOOK_UP(e->version, "ggml_version");
	LOOK_UP(e->commit, "ggml_commit");
	return e;
}

/* The published engine like this, set to this generation; NULL: there is none. */
static struct engine *renew(const struct engine *like, uint32_t generation)
{
	HOLD(&engine_lock);
	struct engine *former = find_former(like);
	if (former)
		__atomic_store_n(&former->generation, generation, __ATOMIC_RELAXED);
	return former;
}

static struct engine *engine_publish(struct engine *e, uint32_t generation)
{
	HOLD(&engine_lock);
	struct engine *former = find_former(e);
	if (former)
		return former;
	e->next = engines;
	e->generation = generation;
	__atomic_store_n(&engines, e, __ATOMIC_RELEASE);
	return e;
}

const struct engine *engine_at(uintptr_t address)
{
	uint32_t generation = shared_get(&attach_shared.resolve_generation);
	struct engine *e = __atomic_load_n(&engines, __ATOMIC_ACQUIRE);

	while (e && (address - e->object.low >= e->object.bytes ||
			    __atomic_load_n(&e->generation, __ATOMIC_RELAXED) != generation))
		e = e->next;
	if (e)
		return e;
	KEEP_ERRNO();
	struct engine *made = engine_create(address);
	e = made ? renew(made, generation) : NULL;
	if (made && !e) {
		infer_layout(made, &made->object);
		made->is_proved = is_proved(made);
		if (!made->is_proved)
			only_call_through(made);
		e = engine_publish(made, generation);
	}
	if (e != made)
		free(made);
	return e;
}

enum operation_class engine_operation_new(const struct engine *e, const void *node)
{
	uint32_t op = (uint32_t)tensor_int32(node, e->layout.op);

	if (!e->op_desc)
		return OPERATION_UNKNOWN;
	const char *name = e->op_desc(node);
	enum operation_class class = work_is_empty(name)	 ? OPERATION_EMPTY
				     : !strcmp(name, "RMS_NORM") ? OPERATION_RMS_NORM
				     : !strcmp(name, "MUL")	 ? OPERATION_MUL
								 : OPERATION_WORK;
	__atomic_store_n(&e->operation_class[op], (uint8_t) class, __ATOMIC_RELAXED);
	return class;
}

const void *engine_fused(const struct engine *e, const void *norm, const void *next)
{
	if (!next || !e->fused_forward || engine_operation(e, norm) != OPERATION_RMS_NORM ||
		engine_operation(e, next) != OPERATION_MUL)
		return NULL;
	return tensor_source(&e->layout, next, 0) == norm ||
			       tensor_source(&e->layout, next, 1) == norm
		       ? next
		       : NULL;
}
