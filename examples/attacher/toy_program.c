/* SPDX-License-Identifier: Apache-2.0 */
/* A program that uses the engine: one prompt of 8 tokens, then 20 tokens one by one. */
#include <stdio.h>
#include "toy_engine.h"

int main(void)
{
	double sum = toy_decode(8);

	for (int i = 0; i < 20; i++)
		sum += toy_decode(1);
	printf("%.6f\n", sum);
	return 0;
}
