/* SPDX-License-Identifier: Apache-2.0 */
#include "toy_engine.h"

const char *toy_version(void)
{
	return "1.0";
}

double toy_decode(int tokens)
{
	double sum = 0;

	for (int i = 1; i <= tokens * 10000; i++)
		sum += 1.0 / i;
	return sum;
}
