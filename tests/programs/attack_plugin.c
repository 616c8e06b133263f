/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library that attack_guest loads: it defines a function of ggml's that it would call without the
 * dynamic linker, so that Brick wants to patch it, and its constructor calls the program.
 */
#include "brick/export.h"

extern void attack_constructor(void) __attribute__((weak));

BRICK_API int ggml_graph_plan(int nodes);
int ggml_graph_plan(int nodes)
{
	return nodes + 1;
}

__attribute__((constructor)) static void begin(void)
{
	if (attack_constructor)
		attack_constructor();
}
