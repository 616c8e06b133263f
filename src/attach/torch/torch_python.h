/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of Python's stable interface that are used here, found by name in the program,
 * which may have no Python. Looked up once. Call them with the GIL held unless a comment says
 * otherwise.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct python_object python_object;

/* PyMethodDef. */
struct python_method {
	const char *name;
	python_object *(*call)(python_object *self, python_object *arguments, python_object *named);
	int flags;
	const char *doc;
};
enum { PYTHON_VARARGS = 1, PYTHON_KEYWORDS = 2 };

/*
 * vectorcallfunc: positional arguments come first, and a flag in the highest bit of their number;
 * behind them stand the values of `names`, a tuple or NULL.
 */
typedef python_object *(*python_vectorcall)(python_object *function,
	python_object *const *arguments, size_t count, python_object *names);

/* X(member, result, arguments): the member and the C API's function of the same name behind Py. */
#define PYTHON_FUNCTIONS(X)                                                                    \
	X(_IsInitialized, int, (void))			   /* without the GIL */               \
	X(_AddPendingCall, int, (int (*)(void *), void *)) /* without the GIL */               \
	X(_DecRef, void, (python_object *))                                                    \
	X(_IncRef, void, (python_object *))                                                    \
	X(CFunction_NewEx, python_object *,                                                    \
		(struct python_method *, python_object *, python_object *))                    \
	X(Dict_GetItem, python_object *, (python_object *, python_object *))	/* borrowed */ \
	X(Dict_GetItemString, python_object *, (python_object *, const char *)) /* borrowed */ \
	X(Dict_Next, int, (python_object *, ptrdiff_t *, python_object **, python_object **))  \
	X(Err_Clear, void, (void))                                                             \
	X(GILState_Ensure, int, (void))			 /* without the GIL */                 \
	X(GILState_Release, void, (int))		 /* gives the GIL back */              \
	X(Import_GetModuleDict, python_object *, (void)) /* borrowed */                        \
	X(InstanceMethod_New, python_object *, (python_object *))                              \
	X(Iter_Next, python_object *, (python_object *))                                       \
	X(List_Append, int, (python_object *, python_object *))                                \
	X(List_GetItem, python_object *, (python_object *, ptrdiff_t)) /* borrowed */          \
	X(List_Size, ptrdiff_t, (python_object *))                                             \
	X(Long_AsLongLong, long long, (python_object *))                                       \
	X(Long_AsVoidPtr, void *, (python_object *))                                           \
	X(Long_FromVoidPtr, python_object *, (void *))                                         \
	X(Mapping_GetItemString, python_object *, (python_object *, const char *))             \
	X(Object_Call, python_object *, (python_object *, python_object *, python_object *))   \
	X(Object_CallObject, python_object *, (python_object *, python_object *))              \
	X(Object_GetAttrString, python_object *, (python_object *, const char *))              \
	X(Object_GetIter, python_object *, (python_object *))                                  \
	X(Object_IsInstance, int, (python_object *, python_object *))                          \
	X(Object_IsTrue, int, (python_object *))                                               \
	X(Object_SetAttrString, int, (python_object *, const char *, python_object *))         \
	X(Object_Size, ptrdiff_t, (python_object *))                                           \
	X(Object_Type, python_object *, (python_object *))                                     \
	X(Sequence_Contains, int, (python_object *, python_object *))                          \
	X(Sequence_DelItem, int, (python_object *, ptrdiff_t))                                 \
	X(Tuple_GetItem, python_object *, (python_object *, ptrdiff_t)) /* borrowed */         \
	X(Tuple_Pack, python_object *, (ptrdiff_t, ...))                                       \
	X(Tuple_Size, ptrdiff_t, (python_object *))                                            \
	X(Unicode_AsUTF8, const char *, (python_object *))                                     \
	X(Weakref_NewRef, python_object *, (python_object *, python_object *))

struct python {
#define PYTHON_X(member, result, arguments) result(*member) arguments;
	PYTHON_FUNCTIONS(PYTHON_X)
#undef PYTHON_X
	python_object *dict_type, *function_type, *int_type, *none;

	/* NULL where the interpreter is too old for it */
	void (*set_vectorcall)(python_object *function, python_vectorcall call); /* 3.12 */
	python_object *(*frame)(void); /* 3.9; borrowed, NULL: none */
	python_object *(*frame_back)(python_object *frame);
	python_object *(*frame_code)(python_object *frame);
	char *(*state)(void); /* of the calling thread; 3.9, NULL as `frame` */
	char *(*interpreter)(void);
	char *(*first_state)(char *interpreter);
	char *(*next_state)(char *state);
	python_object *(*state_frame)(char *state);
};

/* Complete once python_find() has returned true. */
extern struct python py;

/* True if the process has a Python whose functions are all there, and which has a GIL. Without the
 * GIL. */
bool python_find(void);

/* The version of a Python without a GIL (a free-threaded build), as "3.14.7"; NULL: it is none. Its
 * objects are laid out in another way, and nothing would guard our tables. */
const char *python_without_gil(void);

/* An attribute (a new reference). NULL: there is none; no exception is left. */
python_object *python_attribute(python_object *object, const char *name);

/* Is this frame, or one that called it, `frames` calls away at most, that of a function whose name
 * has these letters (is_part: false: is these)? With `frame` there. */
bool python_frame_is_in(python_object *frame, const char *wanted, bool is_part, int frames);

/* The same of the calling thread's frame. */
bool python_is_called_by(const char *wanted, bool is_part, int frames);

/* True if its type is exactly this type, not a subtype. */
bool python_is(python_object *object, const python_object *type);

/* The name of an object's class; empty if it has none. */
void python_class(python_object *object, char *text, size_t bytes);

/*
 * Call a method without arguments: a new reference; NULL, and no exception is left, if there is
 * none or it fails. NULL has no methods.
 */
python_object *python_ask(python_object *object, const char *method);

/* True if the value is true; drops it. NULL is false. */
bool python_true(python_object *value);

/* A module that was imported (borrowed). NULL: it was not. */
python_object *python_imported(const char *name);

/* True if Python has threads other than the caller. */
bool python_has_threads(void);

/* The value of an int; -1 for anything else, and for NULL. */
long long python_number(python_object *object);

/* The same of an attribute. object: NULL is legal. */
long long python_number_at(python_object *object, const char *attribute);

/* A hash of a text; 0: it is none. text: NULL is legal. */
uint64_t python_text_hash(python_object *text);

/* Drop a reference; NULL is legal. */
void python_drop(python_object *object);

/*
 * Where a function keeps the interpreter's way to run it. NULL: this is none of Python's functions,
 * or they are laid out in another way.
 */
python_vectorcall *python_way(python_object *function);

/* Have the interpreter run a function by `call`, if it runs by `plain` so far. False: nothing
 * changed. */
bool python_lead(python_object *function, python_vectorcall plain, python_vectorcall call);
