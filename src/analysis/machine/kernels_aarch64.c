/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arithmetic and memory on AArch64 with NEON, and byte dot products where the CPU has them. In
 * assembly, as on x86-64: registers 0 to 15 are the chains, 30 and 31 hold a small number whatever
 * type they are taken for. The sweep calls these through the tables at the end.
 */
#include "analysis/machine/sweep_kernels.h"

#include <sys/auxv.h>

#ifndef HWCAP_ASIMDDP
#define HWCAP_ASIMDDP (1 << 20)
#endif

enum { SMALL = 0x38d1b717, ROUND = 512 };

static bool has_neon(void)
{
	return 1;
}

static bool has_dot(void)
{
	return (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0;
}

#define CHAINS_16(op)                                                                           \
	op(0) op(1) op(2) op(3) op(4) op(5) op(6) op(7) op(8) op(9) op(10) op(11) op(12) op(13) \
		op(14) op(15)
#define CLOBBERS                                                                               \
	"cc", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", \
		"v13", "v14", "v15", "v30", "v31"
#define CLEAR(i) "movi v" #i ".4s, #0\n\t"

#define KERNEL(name, extension, body)                                                             \
	static double name(uint64_t rounds)                                                       \
	{                                                                                         \
		float out;                                                                        \
		__asm__ __volatile__(extension "dup v30.4s, %w[small]\n\t"                        \
					       "dup v31.4s, %w[small]\n\t" CHAINS_16(             \
						       CLEAR) ".p2align 5\n\t"                    \
							      "1:\n\t" body                       \
							      "subs %[rounds], %[rounds], #1\n\t" \
							      "b.ne 1b\n\t"                       \
							      "str s0, %[out]"                    \
				     : [rounds] "+r"(rounds), [out] "=m"(out)                     \
				     : [small] "r"(SMALL)                                         \
				     : CLOBBERS);                                                 \
		return (double)out;                                                               \
	}

#define ROUND_4S(i) "fmla v" #i ".4s, v30.4s, v31.4s\n\t"
#define ROUND_DOT(i) "sdot v" #i ".4s, v30.16b, v31.16b\n\t"

KERNEL(neon_f32, "", CHAINS_16(ROUND_4S))
KERNEL(neon_i8, ".arch armv8.2-a+dotprod\n\t", CHAINS_16(ROUND_DOT))

const struct machine_compute machine_computes[] = {
	{"NEON", "f32", 2 * 4 * 16, has_neon, neon_f32},
	{"NEON", "i8", 2 * 4 * 4 * 16, has_dot, neon_i8},
	{0},
};

/* Reads pairs of registers, 32 bytes; the assembler repeats the body for each offset of a round. */
#define OFFSETS "0,32,64,96,128,160,192,224,256,288,320,352,384,416,448,480"
#define READ "ldp q0, q1, [%[a], #\\at]\n\t"
#define COPY "ldp q0, q1, [%[b], #\\at]\n\tstp q0, q1, [%[a], #\\at]\n\t"
#define TRIAD                           \
	"ldp q0, q1, [%[b], #\\at]\n\t" \
	"ldp q2, q3, [%[c], #\\at]\n\t" \
	"fmla v0.4s, v2.4s, v31.4s\n\t" \
	"fmla v1.4s, v3.4s, v31.4s\n\t" \
	"stp q0, q1, [%[a], #\\at]\n\t"

#define STREAM(name, body)                                                                     \
	static void name(float *const arrays[STREAM_ARRAYS], size_t bytes, uint64_t passes)    \
	{                                                                                      \
		for (; passes; passes--) {                                                     \
			float *a = arrays[0], *b = arrays[1], *c = arrays[2];                  \
			size_t rounds = bytes / ROUND;                                         \
			__asm__ __volatile__(                                                  \
				"fmov v31.4s, #0.5\n\t"                                        \
				".p2align 5\n\t"                                               \
				"1:\n\t"                                                       \
				".irp at," OFFSETS "\n\t" body ".endr\n\t"                     \
				"add %[a], %[a], #512\n\t"                                     \
				"add %[b], %[b], #512\n\t"                                     \
				"add %[c], %[c], #512\n\t"                                     \
				"subs %[rounds], %[rounds], #1\n\t"                            \
				"b.ne 1b\n\t"                                                  \
				: [a] "+r"(a), [b] "+r"(b), [c] "+r"(c), [rounds] "+r"(rounds) \
				:                                                              \
				: "cc", "memory", "v0", "v1", "v2", "v3", "v31");              \
		}                                                                              \
	}

STREAM(neon_read, READ)
STREAM(neon_copy, COPY)
STREAM(neon_triad, TRIAD)

const struct machine_stream machine_streams[] = {
	{"NEON", STREAM_READ, has_neon, neon_read},
	{"NEON", STREAM_COPY, has_neon, neon_copy},
	{"NEON", STREAM_TRIAD, has_neon, neon_triad},
	{0},
};

void machine_relax(void)
{
	__asm__ __volatile__("yield");
}
