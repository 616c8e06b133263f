/* SPDX-License-Identifier: Apache-2.0 */
/* Python's functions (torch_python.h). Programs and libpython export them to everybody. */
#include "attach/torch/torch_python.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include "base/fnv.h"
#include "lib/sys/functions.h"

struct python py;
static bool torch_python_is_whole;
static char torch_python_without_gil[16];

static bool torch_python_find(void *member, const char *name)
{
	return sys_function_find(RTLD_DEFAULT, name, member);
}

static void torch_python_look_for_gil(void)
{
	const char *(*version_of)(void);
	const char *version = torch_python_find(&version_of, "Py_GetVersion") ? version_of() : "";

	if (!strstr(version, "free-threading"))
		return;
	torch_python_is_whole = false;
	snprintf(torch_python_without_gil, sizeof(torch_python_without_gil), "%.*s",
		(int)strcspn(version, " "), version);
}

static void torch_python_find_all(void)
{
	bool all = true;

#define PYTHON_X(member, result, arguments) \
	all = all && torch_python_find(&py.member, "Py" #member);
	PYTHON_FUNCTIONS(PYTHON_X)
#undef PYTHON_X
	torch_python_is_whole = all && torch_python_find(&py.dict_type, "PyDict_Type") &&
				torch_python_find(&py.function_type, "PyFunction_Type") &&
				torch_python_find(&py.int_type, "PyLong_Type") &&
				torch_python_find(&py.none, "_Py_NoneStruct");
	torch_python_find(&py.set_vectorcall, "PyFunction_SetVectorcall");
	if (!torch_python_find(&py.frame, "PyEval_GetFrame") ||
		!torch_python_find(&py.frame_back, "PyFrame_GetBack") ||
		!torch_python_find(&py.frame_code, "PyFrame_GetCode"))
		py.frame = NULL;
	if (!py.frame || !torch_python_find(&py.state, "PyThreadState_Get") ||
		!torch_python_find(&py.interpreter, "PyInterpreterState_Get") ||
		!torch_python_find(&py.next_state, "PyThreadState_Next") ||
		!torch_python_find(&py.state_frame, "PyThreadState_GetFrame") ||
		!torch_python_find(&py.first_state, "PyInterpreterState_ThreadHead"))
		py.first_state = NULL;
	torch_python_look_for_gil();
}

static void torch_python_find_once(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, torch_python_find_all);
}

bool python_find(void)
{
	torch_python_find_once();
	return torch_python_is_whole;
}

const char *python_without_gil(void)
{
	torch_python_find_once();
	return *torch_python_without_gil ? torch_python_without_gil : NULL;
}

python_object *python_attribute(python_object *object, const char *name)
{
	python_object *value = py.Object_GetAttrString(object, name);

	if (!value)
		py.Err_Clear();
	return value;
}

bool python_frame_is_in(python_object *frame, const char *wanted, bool is_part, int frames)
{
	bool does = false;

	py._IncRef(frame);
	for (int i = 0; frame && !does && i < frames; i++) {
		python_object *code = py.frame_code(frame);
		python_object *name = code ? python_attribute(code, "co_name") : NULL;
		const char *letters = name ? py.Unicode_AsUTF8(name) : NULL;
		does = letters &&
		       (is_part ? strstr(letters, wanted) != NULL : !strcmp(letters, wanted));
		python_drop(name);
		python_drop(code);
		python_object *back = py.frame_back(frame);
		python_drop(frame);
		frame = back;
	}
	python_drop(frame);
	py.Err_Clear();
	return does;
}

bool python_is_called_by(const char *wanted, bool is_part, int frames)
{
	python_object *frame = py.frame ? py.frame() : NULL;

	return frame && python_frame_is_in(frame, wanted, is_part, frames);
}

bool python_is(python_object *object, const python_object *type)
{
	python_object *is = py.Object_Type(object);

	python_drop(is);
	return is == type;
}

void python_class(python_object *object, char *text, size_t bytes)
{
	python_object *class = py.Object_Type(object);
	python_object *name = class ? python_attribute(class, "__name__") : NULL;
	const char *letters = name ? py.Unicode_AsUTF8(name) : NULL;

	if (!letters)
		py.Err_Clear();
	snprintf(text, bytes, "%s", letters ? letters : "");
	python_drop(name);
	python_drop(class);
}

python_object *python_ask(python_object *object, const char *method)
{
	python_object *bound = object ? python_attribute(object, method) : NULL;
	python_object *answer = bound ? py.Object_CallObject(bound, NULL) : NULL;

	if (bound && !answer)
		py.Err_Clear();
	python_drop(bound);
	return answer;
}

bool python_true(python_object *value)
{
	bool result = value && py.Object_IsTrue(value) == 1;

	python_drop(value);
	return result;
}

python_object *python_imported(const char *name)
{
	return py.Dict_GetItemString(py.Import_GetModuleDict(), name);
}

bool python_has_threads(void)
{
	python_object *threads = python_imported("threading");
	python_object *active = threads ? python_attribute(threads, "_active") : NULL;
	bool has_others = active && py.Object_Size(active) > 1;

	python_drop(active);
	return has_others;
}

long long python_number(python_object *object)
{
	long long number =
		object && python_is(object, py.int_type) ? py.Long_AsLongLong(object) : -1;

	if (number < 0)
		py.Err_Clear();
	return number;
}

long long python_number_at(python_object *object, const char *attribute)
{
	python_object *value = object ? python_attribute(object, attribute) : NULL;
	long long number = python_number(value);

	python_drop(value);
	return number;
}

uint64_t python_text_hash(python_object *text)
{
	const char *letters = text ? py.Unicode_AsUTF8(text) : NULL;

	return letters ? fnv1a_text(letters) : 0;
}

void python_drop(python_object *object)
{
	if (object)
		py._DecRef(object);
}

/* Python 3.12 and newer have a function to set it; before, it is a member of the function, at the
 * place that its type says. */
python_vectorcall *python_way(python_object *function)
{
	enum { TYPE_BYTES = 32, TYPE_OFFSET = 56 }; /* tp_basicsize, tp_vectorcall_offset */
	const char *type = (const char *)py.function_type;
	ptrdiff_t bytes, offset;

	memcpy(&bytes, type + TYPE_BYTES, sizeof(bytes));
	memcpy(&offset, type + TYPE_OFFSET, sizeof(offset));
	if (!function || !python_is(function, py.function_type) || offset < 16 || offset % 8 ||
		bytes > 1024 || offset > bytes - (ptrdiff_t)sizeof(python_vectorcall))
		return NULL;
	return (python_vectorcall *)((char *)function + offset);
}

bool python_lead(python_object *function, python_vectorcall plain, python_vectorcall call)
{
	python_vectorcall *way = python_way(function);

	if (!way || *way != plain)
		return false;
	if (py.set_vectorcall)
		py.set_vectorcall(function, call);
	else
		*way = call;
	return *way == call;
}
