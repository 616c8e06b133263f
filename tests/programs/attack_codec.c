/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library that has nothing to do with ggml, whose functions have names that Brick stands in front
 * of: arguments in registers of both kinds and on the stack, and a result in memory.
 */
#include "brick/export.h"

struct six {
	double of[6];
};

BRICK_API double llama_decode(const char *text, int n, double scale, long a, long b, long c, long d,
	float shift, const char *more);
double llama_decode(const char *text, int n, double scale, long a, long b, long c, long d,
	float shift, const char *more)
{
	return (text[0] + n + a + b + c + d) * scale + (double)shift + more[0];
}

BRICK_API struct six llama_get_logits(float x, double y);
struct six llama_get_logits(float x, double y)
{
	return (struct six){{(double)x, y, 3, 4, 5, 6}};
}

BRICK_API int attack_codec(void);
int attack_codec(void)
{
	double (*volatile decode)(const char *, int, double, long, long, long, long, float,
		const char *) = llama_decode;

	for (int i = 0; i < 1000; i++) {
		struct six six = llama_get_logits(1.5f, i);
		if (decode("a", i, 0.5, 1, 2, 3, 4, 2.25f, "b") !=
				('a' + i + 10) * 0.5 + 2.25 + 'b' ||
			six.of[0] != 1.5 || six.of[1] != i || six.of[5] != 6)
			return 9;
	}
	return 0;
}
