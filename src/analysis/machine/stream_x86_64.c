/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moving memory on x86-64 with registers of 16, 32 and 64 bytes; half a KiB of each array per round
 * of the loop. In assembly, so that what is loaded need not be used to be loaded. The sweep calls
 * these through the table at the end.
 */
#include "analysis/machine/sweep_kernels.h"

#include "analysis/machine/features_x86_64.h"

enum { ROUND = 512 };

/* Offsets of a round in steps of a register's width: the assembler repeats the body for each. */
#define OFFSETS_64 "0,64,128,192,256,320,384,448"
#define OFFSETS_32 OFFSETS_64 ",32,96,160,224,288,352,416,480"
#define OFFSETS_16 OFFSETS_32 ",16,48,80,112,144,176,208,240,272,304,336,368,400,432,464,496"

#define READ(move, r) move " \\at(%[a]), %%" r "0\n\t"
#define COPY(move, r) move " \\at(%[b]), %%" r "0\n\t" move " %%" r "0, \\at(%[a])\n\t"
#define TRIAD_SSE(move, r)                 \
	move " \\at(%[c]), %%" r "0\n\t"   \
	     "mulps %%xmm15, %%" r "0\n\t" \
	     "addps \\at(%[b]), %%" r "0\n\t" move " %%" r "0, \\at(%[a])\n\t"
#define TRIAD_FMA(move, r)               \
	move " \\at(%[c]), %%" r "0\n\t" \
	     "vfmadd213ps \\at(%[b]), %%" r "15, %%" r "0\n\t" move " %%" r "0, \\at(%[a])\n\t"

#define SCALE_SSE "movss %[scale], %%xmm15\n\tshufps $0, %%xmm15, %%xmm15\n\t"
#define SCALE_AVX2 "vbroadcastss %[scale], %%ymm15\n\t"
#define SCALE_AVX512 "vbroadcastss %[scale], %%zmm15\n\t"
#define FINISH_AVX "vzeroupper\n\t"

/* Over all arrays at once, ROUND bytes of each per round. */
#define KERNEL(name, prepare, offsets, body, finish)                                           \
	static void name(float *const arrays[STREAM_ARRAYS], size_t bytes, uint64_t passes)    \
	{                                                                                      \
		const float scale = 0.5f;                                                      \
		for (; passes; passes--) {                                                     \
			float *a = arrays[0], *b = arrays[1], *c = arrays[2];                  \
			size_t rounds = bytes / ROUND;                                         \
			__asm__ __volatile__(                                                  \
				prepare ".p2align 5\n\t"                                       \
					"1:\n\t"                                               \
					".irp at," offsets "\n\t" body ".endr\n\t"             \
					"add $512, %[a]\n\t"                                   \
					"add $512, %[b]\n\t"                                   \
					"add $512, %[c]\n\t"                                   \
					"dec %[rounds]\n\t"                                    \
					"jnz 1b\n\t" finish                                    \
				: [a] "+r"(a), [b] "+r"(b), [c] "+r"(c), [rounds] "+r"(rounds) \
				: [scale] "m"(scale)                                           \
				: "cc", "memory", "xmm0", "xmm15");                            \
		}                                                                              \
	}

KERNEL(sse2_read, "", OFFSETS_16, READ("movaps", "xmm"), )
KERNEL(sse2_copy, "", OFFSETS_16, COPY("movaps", "xmm"), )
KERNEL(sse2_triad, SCALE_SSE, OFFSETS_16, TRIAD_SSE("movaps", "xmm"), )
KERNEL(avx2_read, "", OFFSETS_32, READ("vmovaps", "ymm"), FINISH_AVX)
KERNEL(avx2_copy, "", OFFSETS_32, COPY("vmovaps", "ymm"), FINISH_AVX)
KERNEL(avx2_triad, SCALE_AVX2, OFFSETS_32, TRIAD_FMA("vmovaps", "ymm"), FINISH_AVX)
KERNEL(avx512_read, "", OFFSETS_64, READ("vmovaps", "zmm"), FINISH_AVX)
KERNEL(avx512_copy, "", OFFSETS_64, COPY("vmovaps", "zmm"), FINISH_AVX)
KERNEL(avx512_triad, SCALE_AVX512, OFFSETS_64, TRIAD_FMA("vmovaps", "zmm"), FINISH_AVX)

const struct machine_stream machine_streams[] = {
	{"SSE2", STREAM_READ, feature_baseline, sse2_read},
	{"SSE2", STREAM_COPY, feature_baseline, sse2_copy},
	{"SSE2", STREAM_TRIAD, feature_baseline, sse2_triad},
	{"AVX2", STREAM_READ, feature_avx2_fma, avx2_read},
	{"AVX2", STREAM_COPY, feature_avx2_fma, avx2_copy},
	{"AVX2", STREAM_TRIAD, feature_avx2_fma, avx2_triad},
	{"AVX-512", STREAM_READ, feature_avx512f, avx512_read},
	{"AVX-512", STREAM_COPY, feature_avx512f, avx512_copy},
	{"AVX-512", STREAM_TRIAD, feature_avx512f, avx512_triad},
	{0},
};
