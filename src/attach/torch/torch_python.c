/* SPDX-License-Identifier: Apache-2.0 */
/* Python's functions (torch_python.h). Programs and libpython export them to everybody. */
#include "attach/torch/torch_python.h"

#include <dlfcn.h>
#include <pthread.h>
#include "lib/sys/functions.h"

struct python py;
static bool torch_python_is_whole;

static bool torch_python_find(void *member, const char *name)
{
	return sys_function_find(RTLD_DEFAULT, name, member);
}

static void torch_python_find_all(void)
{
	bool all = true;

#define PYTHON_X(member, result, arguments) \
	all = all && torch_python_find(&py.member, "Py" #member);
	PYTHON_FUNCTIONS(PYTHON_X)
#undef PYTHON_X
	torch_python_is_whole = all && torch_python_find(&py.dict_type, "PyDict_Type") &&
				torch_python_find(&py.none, "_Py_NoneStruct");
}

bool python_find(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, torch_python_find_all);
	return torch_python_is_whole;
}

python_object *python_attribute(python_object *object, const char *name)
{
	python_object *value = py.Object_GetAttrString(object, name);

	if (!value)
		py.Err_Clear();
	return value;
}

void python_drop(python_object *object)
{
	if (object)
		py._DecRef(object);
}
