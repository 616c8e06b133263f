/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Phases of training (torch_phases.h). Python 3.11 runs a function that Python calls without asking
 * the function. So the function below PyTorch's decorator is led through us, which the decorator
 * calls with a tuple of arguments.
 */
#include "attach/torch/torch_phases.h"

#include "attach/torch/torch_steps.h"
#include "brick/brick.h"

static struct phase_function {
	const char *module, *class, *name; /* class: NULL: a function of the module */
	python_object *function;	   /* a reference that stays; NULL: not found yet */
} phase_functions[] = {
	{"torch.nn.utils.clip_grad", NULL, "clip_grad_norm_", NULL},
	{"torch.nn.utils.clip_grad", NULL, "clip_grad_value_", NULL},
	{"torch.distributed.fsdp.fully_sharded_data_parallel", "FullyShardedDataParallel",
		"clip_grad_norm_", NULL},
};
enum { PHASE_FUNCTIONS = sizeof(phase_functions) / sizeof(*phase_functions) };

static python_vectorcall plain_call;

static python_object *call_phase(python_object *function, python_object *const *arguments,
	size_t count, python_object *names)
{
	static int brick;
	struct torch_thread *t = torch_thread_get();

	if (!t || t->leaf)
		return plain_call(function, arguments, count, names);
	brick_span span = brick_begin(torch_engine_brick(&brick, "ClipGradients"));
	python_object *result = plain_call(function, arguments, count, names);
	brick_end(span);
	return result;
}

void torch_phases_look(python_vectorcall plain)
{
	plain_call = plain;
	for (int i = 0; i < PHASE_FUNCTIONS; i++) {
		struct phase_function *f = &phase_functions[i];
		python_object *module = f->function ? NULL : python_imported(f->module);
		python_object *class =
			module && f->class ? python_attribute(module, f->class) : NULL;
		python_object *outer = f->class ? class : module;
		python_object *decorated = outer ? python_attribute(outer, f->name) : NULL;
		python_object *inner =
			decorated ? python_attribute(decorated, "__wrapped__") : NULL;
		python_object *function = inner ? inner : decorated;

		if (function) {
			py._IncRef(function);
			f->function = function;
			python_lead(function, plain, call_phase);
		}
		python_drop(inner);
		python_drop(decorated);
		python_drop(class);
	}
}

void torch_phases_take_away(void)
{
	for (int i = 0; i < PHASE_FUNCTIONS; i++) {
		python_object *function = phase_functions[i].function;
		phase_functions[i].function = NULL;
		if (function)
			python_lead(function, call_phase, plain_call);
		python_drop(function);
	}
}
