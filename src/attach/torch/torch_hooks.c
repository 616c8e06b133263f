/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hooks (torch_hooks.h). Python executes a module's source in SourceFileLoader.exec_module(): that
 * is the first function that is hooked, and behind it modules of the tables are looked for.
 */
#include "attach/torch/torch_hooks.h"

#include <stdio.h>
#include <string.h>
#include "attach/common/notes_once.h"
#include "attach/rules/named_sites.h"
#include "attach/torch/torch_thread.h"
#include "base/scope.h"

static struct torch_hook *torch_hooks_table;

python_object *torch_hook_argument(
	const struct torch_hook_call *call, ptrdiff_t place, const char *name)
{
	if (place < py.Tuple_Size(call->arguments))
		return py.Tuple_GetItem(call->arguments, place);
	return call->named ? py.Dict_GetItemString(call->named, name) : NULL;
}

python_object *torch_hook_pass(const struct torch_hook_call *call)
{
	return py.Object_Call(call->original, call->arguments, call->named);
}

python_object *torch_hook_span(const struct torch_hook_call *call)
{
	struct torch_thread *t = torch_thread_get();
	struct torch_hook *hook = call->hook;
	const struct named_site *site = NULL;
	brick_span span = 0;

	if (t && !t->leaf) {
		if (!hook->site)
			hook->site = named_site_find(hook->operation, hook->function, hook->class);
		site = hook->site;
	}
	if (site)
		span = brick_begin_layer(site->brick, -1);
	python_object *result = torch_hook_pass(call);
	if (site)
		named_site_end(site, span);
	return result;
}

static __attribute__((noinline)) python_object *torch_hooks_call(struct torch_hook *hook,
	python_object *original, python_object *arguments, python_object *named)
{
	return hook->call(&(struct torch_hook_call){hook, original, arguments, named});
}

/*
 * self: the hook, and the function that this method of ours is for. A program that has wrapped such
 * a method, or keeps it, still calls it after it was taken away: then it ends by a jump there, so
 * that no thread returns to code of ours.
 */
static python_object *torch_hooks_enter(
	python_object *self, python_object *arguments, python_object *named)
{
	struct torch_hook *hook = py.Long_AsVoidPtr(py.Tuple_GetItem(self, 0));
	python_object *original = py.Tuple_GetItem(self, 1);

	if (!hook->placed || hook->original != original)
		return py.Object_Call(original, arguments, named);
	return torch_hooks_call(hook, original, arguments, named);
}

/* True if the function's first arguments have these names. What decorates it is looked through. */
static bool torch_hooks_takes(python_object *function, const char *arguments)
{
	python_object *at = function, *next;
	bool takes = true;

	py._IncRef(at);
	while ((next = python_attribute(at, "__wrapped__"))) {
		python_drop(at);
		at = next;
	}
	python_object *code = python_attribute(at, "__code__");
	python_object *names = code ? python_attribute(code, "co_varnames") : NULL;
	ptrdiff_t count = names ? py.Tuple_Size(names) : 0, i = 0;
	for (const char *name = arguments; *name && takes; i++) {
		size_t length = strcspn(name, " ");
		const char *is = i < count ? py.Unicode_AsUTF8(py.Tuple_GetItem(names, i)) : NULL;
		takes = is && strlen(is) == length && !strncmp(is, name, length);
		name += length + (name[length] == ' ');
	}
	py.Err_Clear();
	python_drop(names);
	python_drop(code);
	python_drop(at);
	return takes;
}

static void torch_hooks_refuse(const struct torch_hook *hook, const char *why)
{
	char key[96];

	snprintf(key, sizeof(key), "python.refused.%.60s", hook->function);
	note_once(key, "%s.%s.%s is not seen: %s", hook->module, hook->class, hook->function, why);
}

/* The entry that the class itself has, a new reference; NULL: it inherits the function. */
static python_object *torch_hooks_own(python_object *class, const char *function)
{
	python_object *all = python_attribute(class, "__dict__");
	python_object *own = all ? py.Mapping_GetItemString(all, function) : NULL;

	py.Err_Clear();
	python_drop(all);
	return own;
}

static python_object *torch_hooks_make(struct torch_hook *hook, python_object *original)
{
	hook->method = (struct python_method){
		hook->function, torch_hooks_enter, PYTHON_VARARGS | PYTHON_KEYWORDS, NULL};
	python_object *number = py.Long_FromVoidPtr(hook);
	python_object *self = number ? py.Tuple_Pack(2, number, original) : NULL;
	python_object *call = self ? py.CFunction_NewEx(&hook->method, self, NULL) : NULL;

	python_drop(self);
	python_drop(number);
	return call;
}

static void torch_hooks_set(struct torch_hook *hook, python_object *module)
{
	python_object *class = python_attribute(module, hook->class);
	python_object *function = class ? python_attribute(class, hook->function) : NULL;

	if (!class)
		return; /* its module is still being executed */
	hook->is_settled = true;
	python_object *call = function ? torch_hooks_make(hook, function) : NULL;
	python_object *method = call ? py.InstanceMethod_New(call) : NULL;
	if (!function)
		torch_hooks_refuse(hook, "its class has no such function");
	else if (!torch_hooks_takes(function, hook->arguments))
		torch_hooks_refuse(hook, "it takes other arguments");
	else if (method) {
		python_object *own = torch_hooks_own(class, hook->function);
		if (!py.Object_SetAttrString(class, hook->function, method)) {
			python_drop(hook->original);
			hook->original = function;
			py._IncRef(function);
			hook->former = own;
			hook->placed = call;
			own = call = NULL;
		}
		python_drop(own);
	}
	py.Err_Clear();
	python_drop(method);
	python_drop(call);
	python_drop(function);
	python_drop(class);
}

/* Set hooks of modules that have been imported: `name`, or any if it is NULL. */
static void torch_hooks_look(const char *name)
{
	for (struct torch_hook *hook = torch_hooks_table; hook->module; hook++) {
		if (hook->is_settled || (name && strcmp(name, hook->module) != 0))
			continue;
		python_object *module = python_imported(hook->module);
		if (module)
			torch_hooks_set(hook, module);
	}
}

static python_object *torch_hooks_execute(const struct torch_hook_call *call)
{
	python_object *result = torch_hook_pass(call);
	python_object *module = result ? torch_hook_argument(call, 1, "module") : NULL;
	python_object *name = module ? python_attribute(module, "__name__") : NULL;
	const char *letters = name ? py.Unicode_AsUTF8(name) : NULL;

	if (letters)
		torch_hooks_look(letters);
	if (result)
		py.Err_Clear();
	python_drop(name);
	return result;
}

static struct torch_hook torch_hooks_executes = {.module = "_frozen_importlib_external",
	.class = "SourceFileLoader",
	.function = "exec_module",
	.arguments = "self module",
	.call = torch_hooks_execute};

/* Python's main thread, the GIL held. */
static int torch_hooks_begin(void *unused)
{
	python_object *module = python_imported(torch_hooks_executes.module);

	(void)unused;
	if (module && !torch_hooks_executes.is_settled)
		torch_hooks_set(&torch_hooks_executes, module);
	torch_hooks_look(NULL);
	return 0;
}

void torch_hooks_set_all(struct torch_hook *table)
{
	torch_hooks_table = table;
	torch_hooks_begin(NULL);
}

/* Where the program has put a function of its own over ours, that stays. */
static void torch_hooks_put_back(struct torch_hook *hook)
{
	python_object *module = hook->placed ? python_imported(hook->module) : NULL;
	python_object *class = module ? python_attribute(module, hook->class) : NULL;
	python_object *now = class ? python_attribute(class, hook->function) : NULL;

	if (now && now == hook->placed &&
		py.Object_SetAttrString(class, hook->function, hook->former))
		py.Err_Clear();
	python_drop(now);
	python_drop(class);
	python_drop(hook->former);
	python_drop(hook->placed);
	hook->former = hook->placed = NULL;
	hook->is_settled = false;
}

void torch_hooks_take_away(void)
{
	torch_hooks_put_back(&torch_hooks_executes);
	for (struct torch_hook *hook = torch_hooks_table; hook && hook->module; hook++)
		torch_hooks_put_back(hook);
}

void torch_hooks_watch(struct torch_hook *table)
{
	KEEP_ERRNO();

	torch_hooks_table = table;
	if (python_find() && py._IsInitialized())
		py._AddPendingCall(torch_hooks_begin, NULL);
}
