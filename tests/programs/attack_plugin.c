/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library that attack_guest and attack_copies load: it records, it defines a function of ggml's
 * that it would call without the dynamic linker, so that Brick wants to patch it, and its
 * constructor calls the program.
 */
#include "brick/brick.h"

extern void attack_constructor(void) __attribute__((weak));

BRICK_API int ggml_graph_plan(int nodes);
int ggml_graph_plan(int nodes)
{
	return nodes + 1;
}

BRICK_API void attack_bricks(int count);
void attack_bricks(int count)
{
	for (int i = 0; i < count; i++)
		brick_end(brick_begin(BRICK_RMS_NORM));
}

__attribute__((constructor)) static void begin(void)
{
	if (attack_constructor)
		attack_constructor();
}
