// SPDX-License-Identifier: Apache-2.0
//
// The kernels of device_vulkan.c (device_queue.h): `job` is a specialisation, so each pipeline has
// one of them. Sums and chains end in a store that never happens, so that nobody can leave them out.
#version 450
layout(local_size_x_id = 0) in;
layout(constant_id = 1) const uint job = 0;
layout(std430, binding = 0) buffer Data { vec4 data[]; };
layout(push_constant) uniform Arguments { uint rounds, share, mask; };

void keep(vec4 x)
{
	if (x == vec4(-1))
		data[0] = x;
}

void read()
{
	uint n = gl_WorkGroupSize.x, first = gl_WorkGroupID.x * share;
	vec4 a = vec4(0), b = a, c = a, d = a;

	for (uint r = 0; r < rounds; r++)
		for (uint i = first + gl_LocalInvocationID.x; i < first + share; i += 4 * n) {
			a += data[i & mask];
			b += data[(i + n) & mask];
			c += data[(i + 2 * n) & mask];
			d += data[(i + 3 * n) & mask];
		}
	keep(a + b + c + d);
}

#define CHAINS(name, STEP)                                                             \
	void name()                                                                    \
	{                                                                              \
		vec4 x = vec4(0.5), y = vec4(0.25), a = vec4(gl_GlobalInvocationID.x); \
		vec4 b = a + 1, c = a + 2, d = a + 3, e = a + 4, f = a + 5;            \
		vec4 g = a + 6, h = a + 7;                                             \
		for (uint r = 0; r < rounds; r++) {                                    \
			a = STEP(a);                                                   \
			b = STEP(b);                                                   \
			c = STEP(c);                                                   \
			d = STEP(d);                                                   \
			e = STEP(e);                                                   \
			f = STEP(f);                                                   \
			g = STEP(g);                                                   \
			h = STEP(h);                                                   \
		}                                                                      \
		keep(a + b + c + d + e + f + g + h);                                   \
	}
#define FMA(a) fma(a, x, y)
#define MUL_ADD(a) ((a) * x + y)
CHAINS(fused, FMA)
CHAINS(mul_add, MUL_ADD)

void main()
{
	if (job == 0)
		read();
	else if (job == 1)
		fused();
	else
		mul_add();
}
