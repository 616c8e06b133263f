/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels of x86-64, in assembly: so that no compiler merges chains, takes a round out of the loop
 * or leaves out loads of what is not used. Arithmetic: baseline (multiply and add apart), AVX2 with
 * FMA, AVX-512, and dot products of bytes and bf16; registers 0 to 11 (13) are the chains, 14 and
 * 15 hold a small number whatever type they are taken for. Sums grow to where adding changes
 * nothing: never to infinity, never denormal. Moving memory: registers of 16, 32 and 64 bytes, half
 * a KiB of each array per round. An extension counts only if the system saves its registers, too.
 */
#include "analysis/machine/sweep_kernels.h"

#include <cpuid.h>

enum { STATE_SSE = 2, STATE_AVX = 4, STATE_AVX512 = 0xe0 };

struct leaf {
	uint32_t a, b, c, d;
};

static struct leaf leaf(uint32_t number, uint32_t part)
{
	struct leaf l = {0};

	__get_cpuid_count(number, part, &l.a, &l.b, &l.c, &l.d);
	return l;
}

/* True if the system saves all of these parts of the register state. */
static bool saves(uint32_t wanted)
{
	uint32_t low, high;

	if (!(leaf(1, 0).c & 1u << 27)) /* OSXSAVE */
		return false;
	__asm__ __volatile__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
	return (low & wanted) == wanted;
}

static bool feature_baseline(void)
{
	return true;
}

static bool feature_avx2_fma(void)
{
	return saves(STATE_SSE | STATE_AVX) && leaf(1, 0).c & 1u << 12 && leaf(7, 0).b & 1u << 5;
}

/* A separate multiply and add is a ceiling only on CPUs without FMA. */
static bool feature_baseline_only(void)
{
	return !feature_avx2_fma();
}

static bool feature_avx512f(void)
{
	return feature_avx2_fma() && saves(STATE_AVX512) && leaf(7, 0).b & 1u << 16;
}

static bool feature_avx512_vnni(void)
{
	return feature_avx512f() && leaf(7, 0).c & 1u << 11;
}

static bool feature_avx512_bf16(void)
{
	return feature_avx512f() && leaf(7, 1).a & 1u << 5;
}

static bool feature_avx_vnni(void)
{
	return feature_avx2_fma() && leaf(7, 1).a & 1u << 4;
}

/* Arithmetic. */

/*
 * A bit pattern that is small in each type: 1e-4 as f32; 1e-4 and -9e-6 as bf16; 23, -73, -47, 56
 * as bytes.
 */
enum { SMALL = 0x38d1b717 };

#define CHAINS_12(op) op(0) op(1) op(2) op(3) op(4) op(5) op(6) op(7) op(8) op(9) op(10) op(11)
#define CHAINS_14(op) CHAINS_12(op) op(12) op(13)

#define CLOBBERS                                                                              \
	"cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", \
		"xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15"

/* `prepare` fills 14 and 15 from %[small] and clears the chains; `body` is one round. */
#define KERNEL(name, prepare, body, finish)                                             \
	static double name(uint64_t rounds)                                             \
	{                                                                               \
		float out;                                                              \
		__asm__ __volatile__(prepare ".p2align 5\n\t"                           \
					     "1:\n\t" body "dec %[rounds]\n\t"          \
					     "jnz 1b\n\t" finish "movss %%xmm0, %[out]" \
				     : [rounds] "+r"(rounds), [out] "=m"(out)           \
				     : [small] "r"(SMALL)                               \
				     : CLOBBERS);                                       \
		return (double)out;                                                     \
	}

#define CLEAR_SSE(i) "pxor %%xmm" #i ", %%xmm" #i "\n\t"
#define PREPARE_SSE                       \
	"movd %[small], %%xmm14\n\t"      \
	"pshufd $0, %%xmm14, %%xmm14\n\t" \
	"movdqa %%xmm14, %%xmm15\n\t" CHAINS_14(CLEAR_SSE)

#define CLEAR_AVX(i) "vpxor %%xmm" #i ", %%xmm" #i ", %%xmm" #i "\n\t"
#define PREPARE_AVX2                        \
	"vmovd %[small], %%xmm14\n\t"       \
	"vpbroadcastd %%xmm14, %%ymm14\n\t" \
	"vmovdqa %%ymm14, %%ymm15\n\t" CHAINS_12(CLEAR_AVX)
#define PREPARE_AVX512                       \
	"vpbroadcastd %[small], %%zmm14\n\t" \
	"vmovdqa64 %%zmm14, %%zmm15\n\t" CHAINS_12(CLEAR_AVX)
#define FINISH_AVX "vzeroupper\n\t"

#define ROUND_PS(i)                      \
	"mulps %%xmm14, %%xmm" #i "\n\t" \
	"addps %%xmm15, %%xmm" #i "\n\t"

#define FUSED(i, insn, register) insn " %%" register "14, %%" register "15, %%" register #i "\n\t"
#define ROUND_AVX2_PS(i) FUSED(i, "vfmadd231ps", "ymm")
#define ROUND_AVX512_PS(i) FUSED(i, "vfmadd231ps", "zmm")
#define ROUND_AVX512_VNNI(i) FUSED(i, "vpdpbusd", "zmm")
#define ROUND_AVX512_BF16(i) FUSED(i, "vdpbf16ps", "zmm")
#define ROUND_AVX_VNNI(i) FUSED(i, "%{vex%} vpdpbusd", "ymm")

/* Bytes without VNNI: products to 16 bits, pairs to 32 bits, sum. 15 holds ones for the second. */
#define ONES_15                                  \
	"vpcmpeqw %%ymm15, %%ymm15, %%ymm15\n\t" \
	"vpabsw %%ymm15, %%ymm15\n\t"
#define ROUND_AVX2_BYTES(i)                        \
	"vpmaddubsw %%ymm14, %%ymm14, %%ymm12\n\t" \
	"vpmaddwd %%ymm15, %%ymm12, %%ymm12\n\t"   \
	"vpaddd %%ymm12, %%ymm" #i ", %%ymm" #i "\n\t"

KERNEL(sse2_f32, PREPARE_SSE, CHAINS_14(ROUND_PS), )
KERNEL(avx2_f32, PREPARE_AVX2, CHAINS_12(ROUND_AVX2_PS), FINISH_AVX)
KERNEL(avx2_i8, PREPARE_AVX2 ONES_15, CHAINS_12(ROUND_AVX2_BYTES), FINISH_AVX)
KERNEL(avx_vnni_i8, PREPARE_AVX2, CHAINS_12(ROUND_AVX_VNNI), FINISH_AVX)
KERNEL(avx512_f32, PREPARE_AVX512, CHAINS_12(ROUND_AVX512_PS), FINISH_AVX)
KERNEL(avx512_i8, PREPARE_AVX512, CHAINS_12(ROUND_AVX512_VNNI), FINISH_AVX)
KERNEL(avx512_bf16, PREPARE_AVX512, CHAINS_12(ROUND_AVX512_BF16), FINISH_AVX)

/* Operations of a round: 2 x lanes x products per lane x chains. */
const struct machine_compute machine_computes[] = {
	{"SSE2", "f32", 2 * 4 * 14, feature_baseline_only, sse2_f32},
	{"AVX2", "f32", 2 * 8 * 12, feature_avx2_fma, avx2_f32},
	{"AVX2", "i8", 2 * 8 * 4 * 12, feature_avx2_fma, avx2_i8},
	{"AVX-VNNI", "i8", 2 * 8 * 4 * 12, feature_avx_vnni, avx_vnni_i8},
	{"AVX-512", "f32", 2 * 16 * 12, feature_avx512f, avx512_f32},
	{"AVX-512", "bf16", 2 * 16 * 2 * 12, feature_avx512_bf16, avx512_bf16},
	{"AVX-512", "i8", 2 * 16 * 4 * 12, feature_avx512_vnni, avx512_i8},
	{0},
};

void machine_relax(void)
{
	__builtin_ia32_pause();
}

/* Moving memory. */

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
#define STREAM_KERNEL(name, prepare, offsets, body, finish)                                    \
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

STREAM_KERNEL(sse2_read, "", OFFSETS_16, READ("movaps", "xmm"), )
STREAM_KERNEL(sse2_copy, "", OFFSETS_16, COPY("movaps", "xmm"), )
STREAM_KERNEL(sse2_triad, SCALE_SSE, OFFSETS_16, TRIAD_SSE("movaps", "xmm"), )
STREAM_KERNEL(avx2_read, "", OFFSETS_32, READ("vmovaps", "ymm"), FINISH_AVX)
STREAM_KERNEL(avx2_copy, "", OFFSETS_32, COPY("vmovaps", "ymm"), FINISH_AVX)
STREAM_KERNEL(avx2_triad, SCALE_AVX2, OFFSETS_32, TRIAD_FMA("vmovaps", "ymm"), FINISH_AVX)
STREAM_KERNEL(avx512_read, "", OFFSETS_64, READ("vmovaps", "zmm"), FINISH_AVX)
STREAM_KERNEL(avx512_copy, "", OFFSETS_64, COPY("vmovaps", "zmm"), FINISH_AVX)
STREAM_KERNEL(avx512_triad, SCALE_AVX512, OFFSETS_64, TRIAD_FMA("vmovaps", "zmm"), FINISH_AVX)

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
