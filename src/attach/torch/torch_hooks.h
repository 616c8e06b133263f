/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of Python classes that are called by way of us. A hook is set when the module that has
 * the class has been imported, and before anybody can use the class: a class's attribute is
 * replaced by a method of C that calls the function that was there. A function whose arguments have
 * other names is left alone. With the GIL held, unless a comment says otherwise.
 */
#pragma once

#include <stdbool.h>
#include "attach/torch/torch_python.h"

struct torch_hook;

/* A call that came by a hook, and the function that it is for. All are borrowed. */
struct torch_hook_call {
	struct torch_hook *hook;
	python_object *original, *arguments, *named; /* named: may be NULL */
};

/*
 * A function to hook. `call` must return what calling `original` with the arguments returns, with
 * its exception; `self` is the first argument.
 */
struct torch_hook {
	const char *module, *class, *function;
	const char *arguments; /* names of the first ones: "self scheduler_output" */
	python_object *(*call)(const struct torch_hook_call *call);
	const char *operation;	 /* by which rules find a brick, for torch_hook_span() */
	python_object *original; /* of the last time that it was hooked; NULL: it never was */
	python_object *placed;	 /* our function, if the class has it */
	python_object *former;	 /* then: its own entry before; NULL: it inherited the function */
	bool is_settled;	 /* hooked, or refused */
	const struct named_site *site;
	struct python_method method;
};

/* Call the original, which is all that a hook must do. */
python_object *torch_hook_pass(const struct torch_hook_call *call);

/* The same, as a brick from its begin to its end. */
python_object *torch_hook_span(const struct torch_hook_call *call);

/*
 * An argument, by its place or its name: borrowed. NULL: it was not given.
 */
python_object *torch_hook_argument(
	const struct torch_hook_call *call, ptrdiff_t place, const char *name);

/*
 * A program has loaded PyTorch: watch what its Python imports from now on, for hooks of a table
 * that ends with one without a module. Once. Any thread, without the GIL.
 */
void torch_hooks_watch(struct torch_hook *table);

/* The same at once, with the GIL held; and put back what was there before. */
void torch_hooks_set_all(struct torch_hook *table);
void torch_hooks_take_away(void);
