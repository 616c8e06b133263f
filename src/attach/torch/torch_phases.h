/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of PyTorch's Python that are phases of training and open no scope of their own:
 * clipping of gradients. The interpreter's way to run them passes by us, as for modules. With the
 * GIL held.
 */
#pragma once

#include "attach/torch/torch_python.h"

/* Look for the functions until they are found. plain: how the interpreter runs a function. */
void torch_phases_look(python_vectorcall plain);

/* The interpreter runs them as before. */
void torch_phases_take_away(void);
