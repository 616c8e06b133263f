/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inputs of an operator: shapes and types of tensors, and numbers. They are C++ objects whose
 * layouts differ by version. The layouts are learnt from objects made for that: each value put into
 * an object must stand at exactly one place. torch_inputs_learn() once; then any thread.
 */
#pragma once

#include "attach/torch/torch_interface.h"

enum { TORCH_DIMENSIONS = 6 };

struct torch_tensor {
	uint32_t dimensions; /* of `sizes` that are set */
	uint32_t element_bytes;
	const char *type;  /* "float64", "bfloat16", "float16"; "": any other */
	uint64_t elements; /* product of `sizes` */
	int64_t sizes[TORCH_DIMENSIONS];
};

/*
 * Learn the layouts, on a thread that runs nothing else of PyTorch's. NULL: they are known; else a
 * constant that tells why not.
 */
const char *torch_inputs_learn(const struct torch_interface *interface);

/* Change a callback so that it is told inputs. False: the layouts are unknown; nothing changed. */
bool torch_inputs_want(struct torch_callback *callback);

/*
 * Set the handles of two registered callbacks that do the same; only `told` is told inputs, which
 * costs PyTorch time for each operator, inner operators too. `told` is on from now on, `plain` off.
 */
void torch_inputs_start(uint64_t plain, uint64_t told);

/* Before these are removed: no thread switches them any more when it returns. */
void torch_inputs_stop(void);

enum torch_step_inputs { TORCH_NO_STEP, TORCH_PLAIN, TORCH_TOLD };

/* The open step of a thread in a session. Owner thread. */
struct torch_asking {
	uint32_t session;
	enum torch_step_inputs step;
};

/*
 * Say that the thread's step wants inputs, does not need them, or is over. The callback that is
 * told inputs is on while a thread's step wants them, and while no step is open; else the plain
 * callback is on.
 */
void torch_inputs_ask(struct torch_asking *own, uint32_t session, enum torch_step_inputs step);

/*
 * For an observed function, at its start: the number of inputs; 0: none are told. The functions
 * below take such a function, and an index of an input.
 */
size_t torch_inputs_count(const void *function);

/* False: no tensor, an undefined tensor, or one of more than TORCH_DIMENSIONS dimensions. */
bool torch_inputs_tensor(const void *function, size_t input, struct torch_tensor *tensor);

/* The length of a list of integers or tensors; 0: no such list. Items are read by the next two. */
size_t torch_inputs_list(const void *function, size_t input);
int64_t torch_inputs_number_in(const void *function, size_t input, size_t item);
bool torch_inputs_tensor_in(
	const void *function, size_t input, size_t item, struct torch_tensor *tensor);

/* True if both inputs are values of one kind. */
bool torch_inputs_alike(const void *function, size_t a, size_t b);

/* True if the input is the Boolean value true. */
bool torch_inputs_true(const void *function, size_t input);
