/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A libtorch_cpu.so of nothing but observers, which behave as FAULT says: 0 as PyTorch's do. For
 * integration/pytorch.py.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { WELL, OTHER_SCOPES, NEVER, MISNAMED, ELSEWHERE, OWNING };

struct callback {
	void **(*start)(void **result, const void *function);
	void (*end)(const void *function, void *context);
	double probability;
	bool scopes[10], switches[3];
};

struct function {
	uint8_t scope;
	const char *name;
	void *context;
	bool asked[3]; /* by its observer: for inputs, outputs, ids */
	const void *inputs;
	size_t input_count;
};

struct inputs {
	const void *values;
	size_t count;
};

static struct callback observer;

#define SYMBOL(name) __asm__(name)

const char *name_of(const struct function *function) SYMBOL("_ZNK2at14RecordFunction4nameEv");
uint64_t add_global(struct callback callback)
	SYMBOL("_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE");
uint64_t add_local(struct callback callback)
	SYMBOL("_ZN2at22addThreadLocalCallbackENS_22RecordFunctionCallbackE");
void remove_callback(uint64_t handle) SYMBOL("_ZN2at14removeCallbackEm");
void construct(struct function *function, uint8_t scope)
	SYMBOL("_ZN2at14RecordFunctionC1ENS_11RecordScopeE");
void before(struct function *function, const char *name, int64_t number)
	SYMBOL("_ZN2at14RecordFunction6beforeEPKcl");
void destruct(struct function *function) SYMBOL("_ZN2at14RecordFunctionD1Ev");

static bool is_observed(const struct function *function)
{
	return FAULT != NEVER && observer.start &&
	       (observer.scopes[function->scope] || FAULT == OTHER_SCOPES);
}

static const void *told_of(const struct function *function)
{
	return FAULT == ELSEWHERE ? function + 1 : function;
}

const char *name_of(const struct function *function)
{
	return FAULT == MISNAMED ? "another" : function->name;
}

uint64_t add_global(struct callback callback)
{
	(void)callback;
	return 1;
}

uint64_t add_local(struct callback callback)
{
	observer = callback;
	return 2;
}

void remove_callback(uint64_t handle)
{
	(void)handle;
	observer.start = NULL;
}

void construct(struct function *function, uint8_t scope)
{
	*function = (struct function){.scope = scope};
	if (is_observed(function))
		memcpy(function->asked, observer.switches, sizeof(function->asked));
}

void before(struct function *function, const char *name, int64_t number)
{
	(void)number;
	function->name = name;
	if (is_observed(function))
		observer.start(&function->context, told_of(function));
}

/* Its strings are those of C++ before 2011: the number of letters stands in front of them. */
void run(struct function *function, const char *const *schema, uint16_t key, uint64_t keys,
	struct inputs inputs)
	SYMBOL("_ZN3c1010Dispatcher17runRecordFunctionERN2at14RecordFunctionESt17reference_"
	       "wrapperIKNS_14FunctionSchemaEENS_11DispatchKeyENS_14DispatchKeySetENS_8ArrayRefIKNS"
	       "_6IValueEEE");

void run(struct function *function, const char *const *schema, uint16_t key, uint64_t keys,
	struct inputs inputs)
{
	size_t letters;

	(void)key, (void)keys;
	memcpy(&letters, *schema - 3 * sizeof(letters), sizeof(letters));
	function->inputs = inputs.values;
	function->input_count = inputs.count;
	function->name = letters ? *schema : "";
	if (is_observed(function))
		observer.start(&function->context, told_of(function));
}

void enable(uint64_t handle) SYMBOL("_ZN2at16reenableCallbackEm");
void disable(uint64_t handle) SYMBOL("_ZN2at15disableCallbackEm");

/* PyTorch calls it as a scope begins, to learn which observers are active. */
void active(void) SYMBOL("_ZN2at27getStepCallbacksUnlessEmptyENS_11RecordScopeE");

void active(void)
{
}

void enable(uint64_t handle)
{
	(void)handle;
}

void disable(uint64_t handle)
{
	(void)handle;
}

void destruct(struct function *function)
{
	if (is_observed(function))
		observer.end(
			told_of(function), FAULT == OWNING ? (void *)function : function->context);
}
