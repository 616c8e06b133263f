/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that has the names of an interpreter in itself, as static builds of Python do, and is
 * none: it says which function of Python is called by somebody else. It opens the library of its
 * argument, and calls CALLS again and again, which lies in a second segment of code, as BOLT lays
 * functions out. For integration/python_builds.py.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <time.h>
#include "attach/torch/torch_python.h"

#define SAY_CALLED(member, result, arguments)     \
	int Py##member(void)                      \
	{                                         \
		puts("called: Py" #member);       \
		return 0; /* it is not running */ \
	}
PYTHON_FUNCTIONS(SAY_CALLED)

long PyDict_Type[64], PyFunction_Type[64], PyLong_Type[64], _Py_NoneStruct[4];

const char *Py_GetVersion(void)
{
	return VERSION " (main) [GCC]";
}

static volatile long calls;

#define COUNT_CALLS(function)                                         \
	__attribute__((noinline, section("far"))) long function(void) \
	{                                                             \
		calls = calls * 3 + 1;                                \
		return calls / 7;                                     \
	}
COUNT_CALLS(PyEval_SaveThread)
COUNT_CALLS(PyEval_RestoreThread)
COUNT_CALLS(PyErr_CheckSignals)
COUNT_CALLS(Py_MakePendingCalls)
COUNT_CALLS(_PyEval_MakePendingCalls)
COUNT_CALLS(_Py_Dealloc)

int main(int count, char **words)
{
	if (count < 2 || !dlopen(words[1], RTLD_NOW))
		return 1;
	for (int i = 0; i < ROUNDS || !ROUNDS; i++) {
		CALLS();
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
		if (!i)
			puts("runs");
		fflush(stdout);
	}
	return 0;
}
