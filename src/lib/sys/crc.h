/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A checksum over words, one instruction each where the CPU has it: CRC-32C (the polynomial of
 * iSCSI, RFC 3720). Elsewhere it is another checksum of 32 bits, so compare them within one
 * process only.
 */
#pragma once

#include <stdint.h>

#if defined(__x86_64__)
static inline uint64_t brick__crc_add(uint64_t sum, uint64_t word)
{
	__asm__("crc32q %1, %0" : "+r"(sum) : "rm"(word));
	return sum;
}

/* 0: not on this CPU. */
static inline int brick__crc_usable(void)
{
	return __builtin_cpu_supports("sse4.2") != 0;
}
#else
static inline uint64_t brick__crc_add(uint64_t sum, uint64_t word)
{
	sum = ((sum ^ word) + (word >> 32)) * UINT64_C(0x9e3779b97f4a7c15);
	return (sum ^ sum >> 32) & UINT32_MAX;
}

static inline int brick__crc_usable(void)
{
	return 1;
}
#endif
