/* SPDX-License-Identifier: Apache-2.0 */
/* Which extensions this CPU has and the system saves, by CPUID and XGETBV. Any thread. */
#pragma once

int feature_baseline(void); /* SSE2: always */
int feature_avx2_fma(void);
int feature_avx512f(void);
int feature_avx512_vnni(void);
int feature_avx512_bf16(void);
int feature_avx_vnni(void);
