/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arithmetic of x86-64: baseline (multiply and add apart), AVX2 with FMA, AVX-512, and dot products
 * of bytes and bf16. In assembly, so that no compiler merges chains or takes a round out of the
 * loop: registers 0 to 11 (13) are the chains, 14 and 15 hold a small number whatever type they are
 * taken for. Sums grow to where adding changes nothing: never to infinity, never denormal. The
 * sweep calls these through the table at the end.
 */
#include "analysis/machine/sweep_kernels.h"

#include "analysis/machine/features_x86_64.h"

/* As f32 1e-4; as two of them an f64 of 2e-34; as bf16 1e-4 and -9e-6; as bytes 23, -73, -47, 56.
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

#define MULTIPLY_ADD(i, kind)                  \
	"mul" kind " %%xmm14, %%xmm" #i "\n\t" \
	"add" kind " %%xmm15, %%xmm" #i "\n\t"
#define ROUND_SS(i) MULTIPLY_ADD(i, "ss")
#define ROUND_SD(i) MULTIPLY_ADD(i, "sd")
#define ROUND_PS(i) MULTIPLY_ADD(i, "ps")
#define ROUND_PD(i) MULTIPLY_ADD(i, "pd")

#define FUSED(i, insn, register) insn " %%" register "14, %%" register "15, %%" register #i "\n\t"
#define ROUND_AVX2_PS(i) FUSED(i, "vfmadd231ps", "ymm")
#define ROUND_AVX2_PD(i) FUSED(i, "vfmadd231pd", "ymm")
#define ROUND_AVX512_PS(i) FUSED(i, "vfmadd231ps", "zmm")
#define ROUND_AVX512_PD(i) FUSED(i, "vfmadd231pd", "zmm")
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

KERNEL(scalar_f32, PREPARE_SSE, CHAINS_14(ROUND_SS), )
KERNEL(scalar_f64, PREPARE_SSE, CHAINS_14(ROUND_SD), )
KERNEL(sse2_f32, PREPARE_SSE, CHAINS_14(ROUND_PS), )
KERNEL(sse2_f64, PREPARE_SSE, CHAINS_14(ROUND_PD), )
KERNEL(avx2_f32, PREPARE_AVX2, CHAINS_12(ROUND_AVX2_PS), FINISH_AVX)
KERNEL(avx2_f64, PREPARE_AVX2, CHAINS_12(ROUND_AVX2_PD), FINISH_AVX)
KERNEL(avx2_i8, PREPARE_AVX2 ONES_15, CHAINS_12(ROUND_AVX2_BYTES), FINISH_AVX)
KERNEL(avx_vnni_i8, PREPARE_AVX2, CHAINS_12(ROUND_AVX_VNNI), FINISH_AVX)
KERNEL(avx512_f32, PREPARE_AVX512, CHAINS_12(ROUND_AVX512_PS), FINISH_AVX)
KERNEL(avx512_f64, PREPARE_AVX512, CHAINS_12(ROUND_AVX512_PD), FINISH_AVX)
KERNEL(avx512_i8, PREPARE_AVX512, CHAINS_12(ROUND_AVX512_VNNI), FINISH_AVX)
KERNEL(avx512_bf16, PREPARE_AVX512, CHAINS_12(ROUND_AVX512_BF16), FINISH_AVX)

/* Operations of a round: 2 x lanes x products per lane x chains. */
const struct machine_compute machine_computes[] = {
	{"scalar", "f32", 2 * 1 * 14, feature_baseline, scalar_f32},
	{"scalar", "f64", 2 * 1 * 14, feature_baseline, scalar_f64},
	{"SSE2", "f32", 2 * 4 * 14, feature_baseline, sse2_f32},
	{"SSE2", "f64", 2 * 2 * 14, feature_baseline, sse2_f64},
	{"AVX2", "f32", 2 * 8 * 12, feature_avx2_fma, avx2_f32},
	{"AVX2", "f64", 2 * 4 * 12, feature_avx2_fma, avx2_f64},
	{"AVX2", "i8", 2 * 8 * 4 * 12, feature_avx2_fma, avx2_i8},
	{"AVX-VNNI", "i8", 2 * 8 * 4 * 12, feature_avx_vnni, avx_vnni_i8},
	{"AVX-512", "f32", 2 * 16 * 12, feature_avx512f, avx512_f32},
	{"AVX-512", "f64", 2 * 8 * 12, feature_avx512f, avx512_f64},
	{"AVX-512", "bf16", 2 * 16 * 2 * 12, feature_avx512_bf16, avx512_bf16},
	{"AVX-512", "i8", 2 * 16 * 4 * 12, feature_avx512_vnni, avx512_i8},
	{0},
};

void machine_relax(void)
{
	__builtin_ia32_pause();
}
