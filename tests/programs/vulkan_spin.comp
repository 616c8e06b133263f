// SPDX-License-Identifier: Apache-2.0
// A kernel that takes as long as it is told to.
#version 450
layout(local_size_x = 64) in;
layout(std430, binding = 0) buffer Numbers { uint numbers[]; };
layout(push_constant) uniform Push { uint rounds; };

void main()
{
	uint value = gl_GlobalInvocationID.x;
	for (uint i = 0; i < rounds; i++)
		value = value * 1664525u + 1013904223u;
	numbers[gl_GlobalInvocationID.x] = value;
}
