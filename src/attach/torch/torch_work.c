/* SPDX-License-Identifier: Apache-2.0 */
/* Formulas by operator (torch_work.h). A product that overflows is not known. */
#include "attach/torch/torch_work.h"

#include <stddef.h>
#include <string.h>
#include "attach/torch/torch_inputs.h"
#include "base/words_among.h"

typedef bool (*work_fn)(const void *function, uint64_t factor, struct torch_work *work);

static uint64_t size_of(const struct torch_tensor *t)
{
	return t->elements * t->element_bytes;
}

/* The n-th dimension from behind; 1 where it has less. */
static uint64_t from_behind(const struct torch_tensor *t, uint32_t n)
{
	return n <= t->dimensions ? (uint64_t)t->sizes[t->dimensions - n] : 1;
}

/* Bytes of all tensors among the inputs. */
static uint64_t size_of_inputs(const void *function)
{
	struct torch_tensor t;
	uint64_t bytes = 0;

	for (size_t i = 0; i < torch_inputs_count(function); i++)
		if (torch_inputs_tensor(function, i, &t))
			bytes += size_of(&t);
	return bytes;
}

/* a is ... x K, b is N x K: its rows are what a is multiplied with. */
static bool linear(const void *function, uint64_t factor, struct torch_work *work)
{
	struct torch_tensor a, b;

	(void)factor;
	if (!torch_inputs_tensor(function, 0, &a) || !torch_inputs_tensor(function, 1, &b) ||
		!b.dimensions || !from_behind(&a, 1))
		return false;
	uint64_t n =
		a.elements / from_behind(&a, 1) * (b.dimensions > 1 ? (uint64_t)b.sizes[0] : 1);
	work->flops = 2 * n * from_behind(&a, 1);
	work->bytes = size_of_inputs(function) + n * a.element_bytes;
	return true;
}

/* a is ... x M x K, b is ... x K x N; what stands before is spread. `first`: a's place. */
static bool product(const void *function, uint64_t first, struct torch_work *work)
{
	struct torch_tensor a, b;

	if (!torch_inputs_tensor(function, first, &a) ||
		!torch_inputs_tensor(function, first + 1, &b) || !a.dimensions || !b.dimensions)
		return false;
	uint64_t n = (a.dimensions > 1 ? from_behind(&a, 2) : 1) *
		     (b.dimensions > 1 ? from_behind(&b, 1) : 1);
	for (uint32_t i = 3; i <= TORCH_DIMENSIONS; i++) {
		uint64_t left = from_behind(&a, i), right = from_behind(&b, i);
		n *= left > right ? left : right;
	}
	work->flops = 2 * n * from_behind(&a, 1);
	work->bytes = size_of_inputs(function) + n * a.element_bytes;
	return true;
}

/* x is batch x channels x ..., weight is channels out x channels in of a group x ... */
static bool torch_work_convolution(const void *function, uint64_t factor, struct torch_work *work)
{
	struct torch_tensor x, weight;
	enum { STRIDE = 3, PADDING, DILATION };

	(void)factor;
	if (!torch_inputs_tensor(function, 0, &x) || !torch_inputs_tensor(function, 1, &weight) ||
		x.dimensions < 3 || x.dimensions != weight.dimensions || !weight.sizes[0] ||
		!torch_inputs_alike(function, STRIDE, PADDING))
		return false;
	uint64_t n = (uint64_t)x.sizes[0] * (uint64_t)weight.sizes[0];
	for (uint32_t i = 0; i + 2 < x.dimensions; i++) {
		int64_t of[3];
		for (uint32_t k = 0; k < 3; k++) {
			size_t length = torch_inputs_list(function, STRIDE + k);
			if (!length)
				return false;
			of[k] = torch_inputs_number_in(
				function, STRIDE + k, i < length ? i : length - 1);
		}
		int64_t reach = of[2] * (weight.sizes[i + 2] - 1) + 1;
		if (of[0] <= 0 || x.sizes[i + 2] + 2 * of[1] < reach)
			return false;
		n *= (uint64_t)((x.sizes[i + 2] + 2 * of[1] - reach) / of[0] + 1);
	}
	work->flops = 2 * n * (weight.elements / (uint64_t)weight.sizes[0]);
	work->bytes = size_of_inputs(function) + n * x.element_bytes;
	return true;
}

/* q: ... heads x queries x D; k: ... x KV x D; v: ... x KV x Dv */
static bool torch_work_attention(const void *function, uint64_t factor, struct torch_work *work)
{
	struct torch_tensor q, k, v;
	enum { IS_CAUSAL = 5 };

	(void)factor;
	if (!torch_inputs_tensor(function, 0, &q) || !torch_inputs_tensor(function, 1, &k) ||
		!torch_inputs_tensor(function, 2, &v) || q.dimensions < 2 || !from_behind(&q, 1))
		return false;
	uint64_t queries = from_behind(&q, 2), positions = from_behind(&k, 2);
	uint64_t rows = q.elements / from_behind(&q, 1), pairs = rows * positions;
	if (torch_inputs_true(function, IS_CAUSAL) && queries <= positions && queries)
		pairs = rows / queries * (queries * (queries + 1) / 2);
	work->flops = 2 * pairs * (from_behind(&q, 1) + from_behind(&v, 1));
	work->bytes = size_of_inputs(function) + rows * from_behind(&v, 1) * q.element_bytes;
	return true;
}

/* One tensor in, one of its shape out. */
static bool torch_work_per_element(const void *function, uint64_t factor, struct torch_work *work)
{
	struct torch_tensor x;

	if (!torch_inputs_tensor(function, 0, &x))
		return false;
	work->flops = factor * x.elements;
	work->bytes = size_of_inputs(function) + size_of(&x);
	return true;
}

/* Two that are spread to one shape. */
static bool of_two(const void *function, uint64_t factor, struct torch_work *work)
{
	struct torch_tensor a, b;
	uint64_t n = 1;

	if (!torch_inputs_tensor(function, 0, &a))
		return false;
	if (!torch_inputs_tensor(function, 1, &b))
		b = (struct torch_tensor){0};
	for (uint32_t i = 1; i <= TORCH_DIMENSIONS; i++) {
		uint64_t of_a = from_behind(&a, i), of_b = from_behind(&b, i);
		n *= of_a == 1 ? of_b : of_a;
	}
	work->flops = factor * n;
	/* the type of a number, which has no dimensions, does not count */
	uint32_t left = b.dimensions && !a.dimensions ? 0 : a.element_bytes;
	uint32_t right = a.dimensions && !b.dimensions ? 0 : b.element_bytes;
	work->bytes = size_of_inputs(function) + n * (left > right ? left : right);
	return true;
}

/* Of what comes out there is little. */
static bool torch_work_reduction(const void *function, uint64_t factor, struct torch_work *work)
{
	struct torch_tensor x;

	if (!torch_inputs_tensor(function, 0, &x))
		return false;
	work->flops = factor * x.elements;
	work->bytes = size_of(&x);
	return true;
}

static bool torch_work_embedding(const void *function, uint64_t factor, struct torch_work *work)
{
	struct torch_tensor table, chosen;

	(void)factor;
	if (!torch_inputs_tensor(function, 0, &table) || !torch_inputs_tensor(function, 1, &chosen))
		return false;
	work->bytes = size_of(&chosen) +
		      2 * chosen.elements * from_behind(&table, 1) * table.element_bytes;
	return true;
}

/* Into the first tensor: from the second, or from a number. */
static bool written(const void *function, uint64_t factor, struct torch_work *work)
{
	(void)factor;
	work->bytes = size_of_inputs(function);
	return true;
}

static bool torch_work_joined(const void *function, uint64_t factor, struct torch_work *work)
{
	struct torch_tensor t;

	(void)factor;
	for (size_t i = 0; i < torch_inputs_list(function, 0); i++)
		if (torch_inputs_tensor_in(function, 0, i, &t))
			work->bytes += 2 * size_of(&t);
	return work->bytes != 0;
}

/* A collective: the bytes that the rank gives to it, which are the input `at` or the list of
 * tensors there. */
static bool torch_work_collective(const void *function, uint64_t at, struct torch_work *work)
{
	struct torch_tensor t;

	if (torch_inputs_tensor(function, at, &t))
		work->bytes = size_of(&t);
	else
		for (size_t i = 0; i < torch_inputs_list(function, at); i++)
			if (torch_inputs_tensor_in(function, at, i, &t))
				work->bytes += size_of(&t);
	return work->bytes != 0;
}

/* Names behind "aten::", "c10d::" or "_c10d_functional::", with blanks between them. */
static const struct formula {
	const char *names;
	work_fn count;
	uint64_t factor;
} formulas[] = {
	{"", NULL, 0},
	{"linear", linear, 0},
	{"mm bmm matmul", product, 0},
	{"addmm baddbmm", product, 1},
	{"conv1d conv2d conv3d", torch_work_convolution, 0},
	{"scaled_dot_product_attention", torch_work_attention, 0},
	{"softmax log_softmax _softmax _log_softmax layer_norm native_layer_norm group_norm",
		torch_work_per_element, 5},
	{"batch_norm rms_norm", torch_work_per_element, 4},
	{"silu gelu relu tanh sigmoid exp log neg abs sqrt rsqrt sin cos silu_ relu_ tanh_ "
	 "sigmoid_ exp_ neg_ sqrt_ dropout leaky_relu elu hardswish hardtanh clamp",
		torch_work_per_element, 1},
	{"add add_ sub sub_ mul mul_ div div_ pow maximum minimum", of_two, 1},
	{"sum mean argmax argmin max min amax amin any all cumsum", torch_work_reduction, 1},
	{"embedding", torch_work_embedding, 0},
	{"copy_ fill_ zero_", written, 0},
	{"clone", torch_work_per_element, 0},
	{"cat stack", torch_work_joined, 0},
	{"allreduce_ allreduce_coalesced_ broadcast_ reduce_ send recv_ all_reduce all_reduce_ "
	 "broadcast "
	 "all_gather_into_tensor reduce_scatter_tensor all_to_all_single",
		torch_work_collective, 0},
	{"allgather_ _allgather_base_ _reduce_scatter_base_ alltoall_ alltoall_base_ gather_",
		torch_work_collective, 1},
};

enum { FORMULAS = sizeof(formulas) / sizeof(*formulas) };

uint8_t torch_work_kind(const char *name)
{
	static const char *const spaces[] = {"aten::", "c10d::", "_c10d_functional::"};

	for (size_t k = 0; k < sizeof(spaces) / sizeof(*spaces); k++)
		for (uint8_t i = 1; !strncmp(name, spaces[k], strlen(spaces[k])) && i < FORMULAS;
			i++)
			if (words_among(formulas[i].names, name + strlen(spaces[k]),
				    strlen(name + strlen(spaces[k]))))
				return i;
	return 0;
}

struct torch_work torch_work_of(uint8_t kind, const void *function)
{
	struct torch_work work = {0, 0};

	if (!kind || !torch_inputs_count(function) ||
		!formulas[kind].count(function, formulas[kind].factor, &work))
		return (struct torch_work){0, 0};
	return work;
}
