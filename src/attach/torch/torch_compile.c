/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compilations (torch_compile.h). TorchDynamo keeps lists of functions that it calls when the first
 * of several compilations at a time begins and when the last one ends, which may be on another
 * thread. Ours are appended when an outermost module is called, or by Python's main thread between
 * two instructions: the first compilation of a function without modules is not seen.
 */
#include "attach/torch/torch_compile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "attach/rules/named_sites.h"
#include "attach/torch/torch_library.h"
#include "attach/torch/torch_python.h"
#include "brick/brick.h"

enum { REASON_BYTES = 100, MOST_BREAKS = 1000 };

unsigned torch_compile_open; /* number of the compilation that is open; 0: none */
static ptrdiff_t breaks_seen;
static bool compile_has_ended;	      /* since failures were looked for */
static python_object *compile_metric; /* the last one that was looked at, a reference; NULL: none */

static void record_point(const char *operation, const char *label)
{
	const struct named_site *site = named_site_find(operation, label, "");

	if (site)
		named_site_end(site, brick_begin_layer(site->brick, -1));
}

/* The file, its line and why: the reason's first line. */
static void compile_tell_break(
	const char *path, long long line, const char *outcome, const char *text)
{
	const char *slash = path ? strrchr(path, '/') : NULL;
	char label[REASON_BYTES + 80];

	snprintf(label, sizeof(label), "%.60s:%lld: %s%.*s",
		slash  ? slash + 1
		: path ? path
		       : "?",
		line, outcome, text ? (int)strnlen(text, REASON_BYTES) : 0, text ? text : "");
	label[strcspn(label, "\n")] = '\0';
	record_point("GraphBreak", label);
}

/* Of the program's innermost line. */
static void record_break(python_object *reason)
{
	python_object *stack = python_attribute(reason, "user_stack");
	python_object *why = python_attribute(reason, "reason");
	ptrdiff_t frames = stack ? py.List_Size(stack) : 0;
	python_object *frame = frames > 0 ? py.List_GetItem(stack, frames - 1) : NULL;
	python_object *file = frame ? python_attribute(frame, "filename") : NULL;
	python_object *line = frame ? python_attribute(frame, "lineno") : NULL;
	const char *path = file ? py.Unicode_AsUTF8(file) : NULL;
	const char *text = why ? py.Unicode_AsUTF8(why) : NULL;

	compile_tell_break(path, python_number(line), "", text);
	py.Err_Clear();
	python_drop(line);
	python_drop(file);
	python_drop(why);
	python_drop(stack);
}

static void record_breaks(void)
{
	python_object *utils = python_imported("torch._dynamo.utils");
	python_object *reasons = utils ? python_attribute(utils, "graph_break_reasons") : NULL;
	ptrdiff_t count = reasons ? py.List_Size(reasons) : 0;

	if (count < breaks_seen) /* they were cleared */
		breaks_seen = 0;
	for (; breaks_seen < count && breaks_seen < MOST_BREAKS; breaks_seen++)
		record_break(py.List_GetItem(reasons, breaks_seen));
	py.Err_Clear();
	python_drop(reasons);
}

static void compile_tell_failure(python_object *metric)
{
	python_object *reason = python_attribute(metric, "fail_reason");
	python_object *file = python_attribute(metric, "fail_user_frame_filename");
	python_object *line = python_attribute(metric, "fail_user_frame_lineno");

	if (reason && reason != py.none)
		compile_tell_break(file && file != py.none ? py.Unicode_AsUTF8(file) : NULL,
			python_number(line), "not compiled: ", py.Unicode_AsUTF8(reason));
	py.Err_Clear();
	python_drop(line);
	python_drop(file);
	python_drop(reason);
}

/*
 * TorchDynamo leaves a function as it is whose graph breaks in a loop, and tells it when the
 * compilation is over, in a list that forgets old ones.
 */
static void compile_look_for_failures(void)
{
	python_object *metrics =
		python_ask(python_imported("torch._dynamo.utils"), "get_compilation_metrics");
	ptrdiff_t count = metrics ? py.List_Size(metrics) : 0, first = count;

	compile_has_ended = false;
	while (first > 0 && py.List_GetItem(metrics, first - 1) != compile_metric)
		first--;
	for (ptrdiff_t i = first; i < count; i++)
		compile_tell_failure(py.List_GetItem(metrics, i));
	if (count > 0) {
		python_drop(compile_metric);
		compile_metric = py.List_GetItem(metrics, count - 1);
		py._IncRef(compile_metric);
	}
	py.Err_Clear();
	python_drop(metrics);
}

/* As "1/2": the frame, and how often it was compiled before. NULL: not known. */
static python_object *compilation_id(void)
{
	python_object *guards = python_imported("torch._guards");
	python_object *class = guards ? python_attribute(guards, "CompileContext") : NULL;
	python_object *id = python_ask(class, "current_compile_id");
	python_object *text = python_ask(id, "__str__");

	python_drop(id);
	python_drop(class);
	return text;
}

/*
 * TorchDynamo keeps for each function which guards failed, "0/0: tensor 'x' size mismatch ..." with
 * the compilation whose guard it was. The label of a recompilation has the guard of the compilation
 * before it, else of the last one that was looked at.
 */
static const char *reason_in(python_object *failures, const char *function, int before)
{
	size_t length = strlen(function);
	const char *found = NULL;

	for (ptrdiff_t i = py.List_Size(failures); i-- > 0;) {
		python_object *item = py.List_GetItem(failures, i);
		const char *text = item ? py.Unicode_AsUTF8(item) : NULL;
		const char *behind = text ? strstr(text, ": ") : NULL;
		if (!behind || strncmp(text, function, length) != 0)
			continue;
		if (!found)
			found = behind + 2;
		if (atoi(text + length) == before)
			return behind + 2;
	}
	return found;
}

static void find_reason(struct torch_thread *t)
{
	char *id = t->more->compile_id, *slash = strchr(id, '/');
	python_object *utils =
		slash && slash[1] != '0' ? python_imported("torch._dynamo.utils") : NULL;
	python_object *all = utils ? python_attribute(utils, "guard_failures") : NULL;
	python_object *code, *failures;
	const char *reason = NULL;
	ptrdiff_t at = 0;
	char function[sizeof(t->more->compile_id)], label[REASON_BYTES + 80];

	snprintf(function, sizeof(function), "%.*s/", slash ? (int)(slash - id) : 0, id);
	while (all && !reason && py.Object_IsInstance(all, py.dict_type) == 1 &&
		py.Dict_Next(all, &at, &code, &failures))
		reason = py.List_Size(failures) > 0
				 ? reason_in(failures, function, atoi(slash + 1) - 1)
				 : NULL;
	if (reason) {
		snprintf(label, sizeof(label), "%s: %.*s", id, (int)strcspn(reason, "\n"), reason);
		t->more->compilation = named_site_find("Recompilation", label, "");
	}
	py.Err_Clear();
	python_drop(all);
}

static python_object *compilation_begins(
	python_object *self, python_object *arguments, python_object *named)
{
	static unsigned serial;
	struct torch_thread *t = torch_thread_get();
	python_object *id = compilation_id();
	const char *letters = id ? py.Unicode_AsUTF8(id) : NULL;
	const char *slash = letters ? strchr(letters, '/') : NULL;

	(void)self, (void)arguments, (void)named;
	if (t && !t->leaf && !t->more->compiling) {
		snprintf(t->more->compile_id, sizeof(t->more->compile_id), "%s",
			letters ? letters : "");
		t->more->compilation =
			named_site_find(slash && slash[1] != '0' ? "Recompilation" : "Compilation",
				letters ? letters : "", "");
		t->more->compile_span = t->more->compilation
						? brick_begin_layer(t->more->compilation->brick, -1)
						: 0;
		t->more->compiling = __atomic_add_fetch(&serial, 1, __ATOMIC_RELAXED);
		__atomic_store_n(&torch_compile_open, t->more->compiling, __ATOMIC_RELAXED);
	}
	py.Err_Clear();
	python_drop(id);
	py._IncRef(py.none);
	return py.none;
}

static python_object *compilation_ends(
	python_object *self, python_object *arguments, python_object *named)
{
	struct torch_thread *t = torch_thread_get();

	(void)self, (void)arguments, (void)named;
	__atomic_store_n(&torch_compile_open, 0, __ATOMIC_RELAXED);
	if (t) {
		if (t->more->compiling) {
			find_reason(t);
			torch_compile_leave(t);
		}
		record_breaks();
		compile_has_ended = true;
	}
	py._IncRef(py.none);
	return py.none;
}

void torch_compile_leave(struct torch_thread *t)
{
	t->more->compiling = 0;
	if (t->more->compilation)
		named_site_end(t->more->compilation, t->more->compile_span);
}

static struct compile_callback {
	const char *list;
	struct python_method method;
	python_object *function; /* a reference; NULL: it is in no list */
} compile_callbacks[] = {
	{"start_callbacks", {"compilation_begins", compilation_begins, PYTHON_VARARGS, NULL}, NULL},
	{"end_callbacks", {"compilation_ends", compilation_ends, PYTHON_VARARGS, NULL}, NULL},
};
enum { COMPILE_CALLBACKS = sizeof(compile_callbacks) / sizeof(*compile_callbacks) };

static bool compile_is_found;

/* NULL: 2.2 and older have none. */
static python_object *compile_handler(void)
{
	python_object *module = python_imported("torch._dynamo.callback");

	return module ? python_attribute(module, "callback_handler") : NULL;
}

void torch_compile_look(void)
{
	if (compile_has_ended)
		compile_look_for_failures();
	python_object *handler = compile_is_found ? NULL : compile_handler();

	if (!handler)
		return;
	compile_is_found = true;
	for (int i = 0; i < COMPILE_CALLBACKS; i++) {
		struct compile_callback *c = &compile_callbacks[i];
		python_object *list = python_attribute(handler, c->list);
		c->function = list ? py.CFunction_NewEx(&c->method, NULL, NULL) : NULL;
		if (!c->function || py.List_Append(list, c->function))
			py.Err_Clear();
		python_drop(list);
	}
	python_drop(handler);
}

void torch_compile_take_away(void)
{
	python_object *handler = compile_is_found ? compile_handler() : NULL;

	for (int i = 0; handler && i < COMPILE_CALLBACKS; i++) {
		struct compile_callback *c = &compile_callbacks[i];
		python_object *list = python_attribute(handler, c->list);
		for (ptrdiff_t k = list ? py.List_Size(list) : 0; k-- > 0;)
			if (py.List_GetItem(list, k) == c->function)
				py.Sequence_DelItem(list, k);
		py.Err_Clear();
		python_drop(list);
		python_drop(c->function);
		c->function = NULL;
	}
	compile_is_found = compile_is_found && !handler;
	python_drop(compile_metric);
	compile_metric = NULL;
	compile_has_ended = false;
	python_drop(handler);
}

static int look_at_safe_point(void *unused)
{
	(void)unused;
	if (torch_observed()) /* a recorder may have left meanwhile */
		torch_compile_look();
	return 0;
}

void torch_compile_see(const char *operation)
{
	static bool asked;

	if (__atomic_load_n(&asked, __ATOMIC_RELAXED) || strncmp(operation, "TorchDynamo", 11) ||
		__atomic_exchange_n(&asked, true, __ATOMIC_RELAXED))
		return;
	if (python_find())
		py._AddPendingCall(look_at_safe_point, NULL);
}
