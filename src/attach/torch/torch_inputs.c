/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layouts by trial (torch_inputs.h).
 *   A callback that asks for inputs makes a RecordFunction another one: the byte that does is
 * found. Inputs are a pointer and a number: those that we hand in stand somewhere in the
 * RecordFunction. An IValue is 8 bytes of payload and a kind behind them; kind 1 is a tensor, as
 * ever. A tensor's object has its dimensions, and behind them sizes and strides; with more than
 * five of them a pointer to both. Its type is a number of two bytes. A list's object has a
 * std::vector of IValues behind its count of references.
 */
#include "attach/torch/torch_inputs.h"

#include <string.h>
#include "attach/torch/torch_library.h"
#include "base/lock.h"
#include "base/scope.h"

enum {
	KIND_TENSOR = 1,
	FIRST_SWITCH = 8, /* scopes that every version has, and some more */
	FUNCTION_WORDS = 64,
	OBJECT_WORDS = 24, /* of a tensor's object that are looked at: it has 26 */
	INLINE_SIZES = 5,
	LIST_WORD = 4, /* the vector lies before this */
};

struct ivalue {
	union {
		const void *object;
		int64_t number;
		bool truth;
	};
	uint32_t kind, unused;
};
_Static_assert(sizeof(struct ivalue) == 16, "as IValue");

struct inputs {
	const struct ivalue *values;
	size_t count;
};

static struct {
	uint32_t wants;	 /* the switch: index behind the callback's scopes; 0: nothing is known */
	uint32_t inputs; /* word of a RecordFunction */
	uint32_t sizes;	 /* word of a tensor's object: its number of dimensions */
	uint32_t type;	 /* byte of it: at most OBJECT_WORDS words */
} layout;

static struct {
	uint64_t plain, told;
	void (*disable)(uint64_t handle);
	void (*enable)(uint64_t handle);
	bool is_told;
	uint32_t session, steps[TORCH_TOLD + 1]; /* threads of that session, by their steps */
} switched;

static pthread_mutex_t switched_lock = PTHREAD_MUTEX_INITIALIZER;
LOCK_OVER_FORKS(switched_lock)

/* By at::ScalarType; 0: not a whole number of bytes, or none. */
static const uint8_t type_bytes[] = {
	1, 1, 2, 4, 8, 2, 4, 8, 4, 8, 16, 1, 1, 1, 4, 2, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 4, 8};

/* Types in which a model may be by mistake, or computes otherwise than in float32. */
static const char *type_name(uint16_t type)
{
	enum { HALF = 5, DOUBLE = 7, BFLOAT16 = 15 };

	return type == DOUBLE	  ? "float64"
	       : type == HALF	  ? "float16"
	       : type == BFLOAT16 ? "bfloat16"
				  : "";
}

/*
 * ---- the trial ----
 */

static void **trial_start(void **result, const void *function)
{
	(void)function;
	*result = NULL;
	return result;
}

static void trial_end(const void *function, void *context)
{
	(void)function, (void)context;
}

/* What a RecordFunction holds where one switch of its callback is on; 0: none. */
static void look_at_function(
	const struct torch_interface *p, uint32_t on, uint64_t *function, uint64_t *words)
{
	struct torch_callback callback = {trial_start, trial_end, 1.0, {true}};

	memset(function, 0, TORCH_FUNCTION_BYTES);
	if (on)
		callback.scopes[on] = true;
	uint64_t handle = p->add_here(callback);
	p->construct(function, TORCH_SCOPE_FUNCTION);
	memcpy(words, function, FUNCTION_WORDS * sizeof(*words));
	p->destruct(function);
	p->remove(handle);
}

/* The first of three switches, one behind the other. */
static bool find_switch(const struct torch_interface *p, uint64_t *function)
{
	uint64_t plain[FUNCTION_WORDS], other[FUNCTION_WORDS];
	uint32_t found = 0;

	for (uint32_t i = FIRST_SWITCH; i < sizeof(((struct torch_callback *)0)->scopes); i++) {
		look_at_function(p, 0, function, plain);
		look_at_function(p, i, function, other);
		if (!memcmp(plain, other, sizeof(plain)))
			continue;
		if (!found++)
			layout.wants = i;
		else if (i != layout.wants + found - 1)
			return false;
	}
	return found == 3;
}

typedef void (*run_fn)(
	void *function, const void *schema, uint16_t key, uint64_t keys, struct inputs inputs);

static bool find_inputs(const struct torch_interface *p, uint64_t *function)
{
	/*
	 * A schema begins with its name, which is empty here. PyPI's wheels up to 2.5 have C++'s
	 * older strings: a pointer to letters, with their number, room and owners in front. Newer
	 * strings are a pointer and the number.
	 */
	static const struct {
		int64_t letters, room, owners;
		char text[8];
	} name = {0, 0, -1, ""};
	static const void *const schema[TORCH_FUNCTION_BYTES / sizeof(void *)] = {name.text};
	const struct ivalue values[3] = {{{0}, 0, 0}};
	struct torch_callback callback = {trial_start, trial_end, 1.0, {true}};
	uint32_t found = 0;
	run_fn run;

	torch_library_symbol("_ZN3c1010Dispatcher17runRecordFunctionERN2at14RecordFunctionESt17"
			     "reference_wrapperIKNS_14FunctionSchemaEENS_11DispatchKeyENS_14"
			     "DispatchKeySetENS_8ArrayRefIKNS_6IValueEEE",
		&run);
	if (!run)
		return false;
	memset(function, 0, TORCH_FUNCTION_BYTES);
	callback.scopes[layout.wants] = true;
	uint64_t handle = p->add_here(callback);
	p->construct(function, TORCH_SCOPE_FUNCTION);
	run(function, schema, 0, 0, (struct inputs){values, 3});
	for (uint32_t i = 0; i + 1 < FUNCTION_WORDS; i++)
		if (function[i] == (uintptr_t)values && function[i + 1] == 3 && !found++)
			layout.inputs = i;
	p->destruct(function);
	p->remove(handle);
	return found == 1;
}

typedef int32_t (*make_fn)(int64_t dimensions, const int64_t *sizes, const int64_t *strides,
	int32_t type, int32_t device, int32_t index, void **tensor);
typedef int32_t (*drop_fn)(void *tensor);

/* Sizes and strides of a tensor's object, at a word; NULL: there are none of this many. */
static const int64_t *sizes_at(const uint64_t *object, uint32_t word, uint64_t dimensions)
{
	const int64_t *sizes;

	if (object[word] != dimensions)
		return NULL;
	if (dimensions <= INLINE_SIZES)
		return (const int64_t *)&object[word + 1];
	memcpy(&sizes, &object[word + 1], sizeof(sizes));
	return sizes;
}

/* Tensors of known shapes and types: bits are left for what agrees with all of them. */
static bool find_tensor(void)
{
	static const int64_t sizes[] = {3, 1, 7, 2, 5, 4}, strides[] = {280, 280, 40, 20, 4, 1};
	static const struct {
		int64_t dimensions;
		int32_t type;
	} made[] = {{3, 6}, {5, 7}, {4, 4}, {6, 15}};
	uint32_t words = (1u << OBJECT_WORDS) - 1;
	uint64_t types[OBJECT_WORDS * 4 / 64 + 1];
	make_fn make;
	drop_fn drop;

	memset(types, 0xff, sizeof(types));
	torch_library_symbol("aoti_torch_empty_strided", &make);
	torch_library_symbol("aoti_torch_delete_tensor_object", &drop);
	for (size_t k = 0; k < sizeof(made) / sizeof(*made); k++) {
		int64_t n = made[k].dimensions;
		uint64_t object[OBJECT_WORDS];
		void *tensor;
		if (!make || !drop || make(n, sizes, strides, made[k].type, 0, -1, &tensor))
			return false;
		memcpy(object, *(void **)tensor, sizeof(object));
		for (uint32_t i = 0; i < OBJECT_WORDS; i++) {
			bool fits = i + 1 + (n <= INLINE_SIZES ? INLINE_SIZES + n : 1) <=
					    OBJECT_WORDS &&
				    object[i] == (uint64_t)n;
			const int64_t *at = fits ? sizes_at(object, i, (uint64_t)n) : NULL;
			if (!at || (uintptr_t)at < 4096 || memcmp(at, sizes, (size_t)n * 8) != 0 ||
				memcmp(at + (n <= INLINE_SIZES ? INLINE_SIZES : n), strides,
					(size_t)n * 8) != 0)
				words &= ~(1u << i);
		}
		for (uint32_t i = 0; i < OBJECT_WORDS * 4; i++) {
			uint16_t type;
			memcpy(&type, (const char *)object + (size_t)i * 2, sizeof(type));
			if (type != made[k].type)
				types[i / 64] &= ~(1ull << i % 64);
		}
		drop(tensor);
	}
	if (!words || (words & (words - 1)))
		return false;
	layout.sizes = (uint32_t)__builtin_ctz(words);
	for (uint32_t i = 0; i < OBJECT_WORDS * 4; i++)
		if (types[i / 64] >> i % 64 & 1) {
			layout.type = 2 * i;
			return true;
		}
	return false;
}

const char *torch_inputs_learn(const struct torch_interface *p)
{
	uint64_t function[TORCH_FUNCTION_BYTES / 8] __attribute__((aligned(64)));

	torch_library_symbol("_ZN2at16reenableCallbackEm", &switched.enable);
	torch_library_symbol("_ZN2at15disableCallbackEm", &switched.disable);
	const char *why = !switched.enable || !switched.disable ? "observers cannot be switched off"
			  : !find_switch(p, function)		? "no switch asks for inputs"
			  : !find_inputs(p, function) ? "inputs do not stand in the function"
			  : !find_tensor()	      ? "a tensor's shape is not found"
						      : NULL;

	if (why)
		layout.wants = 0;
	return why;
}

/*
 * ---- reading ----
 */

bool torch_inputs_want(struct torch_callback *callback)
{
	if (layout.wants)
		callback->scopes[layout.wants] = true;
	return layout.wants != 0;
}

void torch_inputs_start(uint64_t plain, uint64_t told)
{
	HOLD_UNCANCELLED(&switched_lock);
	switched.plain = plain;
	switched.told = told;
	switched.is_told = true;
	switched.disable(plain);
}

void torch_inputs_stop(void)
{
	HOLD_UNCANCELLED(&switched_lock);
	switched.told = 0;
}

/* Both are on in between: an operator that begins there is one inside of itself. */
void torch_inputs_ask(struct torch_asking *own, uint32_t session, enum torch_step_inputs step)
{
	HOLD_UNCANCELLED(&switched_lock);
	struct torch_asking before = *own;

	*own = (struct torch_asking){session, step};
	if (switched.session != session) {
		if (step == TORCH_NO_STEP)
			return;
		memset(switched.steps, 0, sizeof(switched.steps));
		switched.session = session;
	} else if (before.session == session && switched.steps[before.step]) {
		switched.steps[before.step]--;
	}
	switched.steps[step]++;
	bool wanted = switched.steps[TORCH_TOLD] || !switched.steps[TORCH_PLAIN];
	if (!switched.told || switched.is_told == wanted)
		return;
	switched.is_told = wanted;
	switched.enable(wanted ? switched.told : switched.plain);
	switched.disable(wanted ? switched.plain : switched.told);
}

static const struct ivalue *value_of(const void *function, size_t input)
{
	struct inputs inputs;

	memcpy(&inputs, (const uint64_t *)function + layout.inputs, sizeof(inputs));
	return input < inputs.count ? &inputs.values[input] : NULL;
}

size_t torch_inputs_count(const void *function)
{
	struct inputs inputs;

	memcpy(&inputs, (const uint64_t *)function + layout.inputs, sizeof(inputs));
	return layout.wants && inputs.values ? inputs.count : 0;
}

static bool torch_inputs_read_tensor(const struct ivalue *value, struct torch_tensor *tensor)
{
	uint16_t type;

	if (!value || value->kind != KIND_TENSOR || !value->object)
		return false;
	const uint64_t *object = value->object;
	memcpy(&type, (const char *)object + layout.type, sizeof(type));
	uint64_t dimensions = object[layout.sizes];
	if (dimensions > TORCH_DIMENSIONS || type >= sizeof(type_bytes) || !type_bytes[type])
		return false;
	const int64_t *sizes = sizes_at(object, layout.sizes, dimensions);
	tensor->dimensions = (uint32_t)dimensions;
	tensor->element_bytes = type_bytes[type];
	tensor->type = type_name(type);
	tensor->elements = 1;
	for (uint64_t i = 0; i < dimensions; i++) {
		tensor->sizes[i] = sizes[i];
		if (sizes[i] < 0 || __builtin_mul_overflow(tensor->elements, (uint64_t)sizes[i],
					    &tensor->elements))
			return false;
	}
	return true;
}

bool torch_inputs_tensor(const void *function, size_t input, struct torch_tensor *tensor)
{
	return torch_inputs_read_tensor(value_of(function, input), tensor);
}

static struct inputs list_of(const void *function, size_t input)
{
	const struct ivalue *value = value_of(function, input);
	uintptr_t words[LIST_WORD + 2];

	if (!value || value->kind <= KIND_TENSOR || !value->object)
		return (struct inputs){NULL, 0};
	memcpy(words, value->object, sizeof(words));
	for (size_t i = 1; i < LIST_WORD; i++) {
		uintptr_t begin = words[i], end = words[i + 1], room = words[i + 2];
		if (begin > 4096 && !(begin % 8) && begin < end && end <= room &&
			room - begin < 1 << 16 && (end - begin) % sizeof(struct ivalue) == 0)
			return (struct inputs){(const struct ivalue *)begin,
				(end - begin) / sizeof(struct ivalue)};
	}
	return (struct inputs){NULL, 0};
}

size_t torch_inputs_list(const void *function, size_t input)
{
	return list_of(function, input).count;
}

int64_t torch_inputs_number_in(const void *function, size_t input, size_t item)
{
	return list_of(function, input).values[item].number;
}

bool torch_inputs_tensor_in(
	const void *function, size_t input, size_t item, struct torch_tensor *tensor)
{
	return torch_inputs_read_tensor(&list_of(function, input).values[item], tensor);
}

bool torch_inputs_alike(const void *function, size_t a, size_t b)
{
	const struct ivalue *left = value_of(function, a), *right = value_of(function, b);

	return left && right && left->kind == right->kind;
}

bool torch_inputs_true(const void *function, size_t input)
{
	const struct ivalue *value = value_of(function, input);

	return value && value->kind > KIND_TENSOR && value->truth;
}
