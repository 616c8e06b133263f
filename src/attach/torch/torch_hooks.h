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

/*
 * A function to hook. `call` gets the arguments, `self` first, and must return what calling
 * `original` with them returns, with its exception.
 */
struct torch_hook {
	const char *module, *class, *function;
	const char *arguments; /* names of the first ones: "self scheduler_output" */
	python_object *(*call)(
		struct torch_hook *hook, python_object *arguments, python_object *named);
	const char *operation;	 /* by which rules find a brick, for torch_hook_span() */
	python_object *original; /* NULL: not hooked */
	bool is_settled;	 /* hooked, or refused */
	const struct named_site *site;
	struct python_method method;
};

/* Run the function as a brick, from its begin to its end. */
python_object *torch_hook_span(
	struct torch_hook *hook, python_object *arguments, python_object *named);

/*
 * An argument, by its place or its name: borrowed. NULL: it was not given.
 */
python_object *torch_hook_argument(
	python_object *arguments, python_object *named, ptrdiff_t place, const char *name);

/*
 * A program has loaded PyTorch: watch what its Python imports from now on, for hooks of a table
 * that ends with one without a module. Once. Any thread, without the GIL.
 */
void torch_hooks_watch(struct torch_hook *table);
