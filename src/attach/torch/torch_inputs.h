/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inputs of an operator: shapes and types of tensors, and numbers. They lie in objects of C++
 * whose layouts differ by version, and are found by trial with objects that we have made: what was
 * put into them must stand at one place.
 */
#pragma once

#include "attach/torch/torch_interface.h"

enum { TORCH_DIMENSIONS = 6 };

struct torch_tensor {
	uint32_t dimensions;
	uint32_t element_bytes;
	uint64_t elements;
	int64_t sizes[TORCH_DIMENSIONS];
};

/*
 * Find the layouts; the calling thread observes nothing else and is seen by nobody. NULL: they are
 * known; else why not.
 */
const char *torch_inputs_learn(const struct torch_interface *interface);

/* Have a callback told inputs. False: the layouts are not known, and it stays as it is. */
bool torch_inputs_want(struct torch_callback *callback);

/*
 * Two callbacks that do the same, of which one is told inputs: which costs PyTorch some time for
 * each operator, also those inside of others. That one is on from now on.
 */
void torch_inputs_start(uint64_t plain, uint64_t told);

/* Whether operators tell inputs from now on. Any thread, as often as steps begin. */
void torch_inputs_ask(bool wanted);

/* Of an observed function at its start: how many it has; 0: none are told. */
size_t torch_inputs_count(const void *function);

/* False: it is no tensor, is undefined, or has more dimensions. */
bool torch_inputs_tensor(const void *function, size_t input, struct torch_tensor *tensor);

/* A list of whole numbers or of tensors: its length; its items are read one by one. 0: not one. */
size_t torch_inputs_list(const void *function, size_t input);
int64_t torch_inputs_number_in(const void *function, size_t input, size_t item);
bool torch_inputs_tensor_in(
	const void *function, size_t input, size_t item, struct torch_tensor *tensor);

/* True if both are values of one kind. */
bool torch_inputs_alike(const void *function, size_t a, size_t b);

/* A truth value that is true. */
bool torch_inputs_true(const void *function, size_t input);
