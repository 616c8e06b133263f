/* SPDX-License-Identifier: Apache-2.0 */
/* The code that hooks pass calls on by (pass_on.h), and what of the vector registers is wide. */
#include "lib/sys/pass_on.h"

SYS_PASS_ON_CODE;

#if defined(__x86_64__)
#include <cpuid.h>
#include <stddef.h>

/*
 * The states that XSAVE would keep beyond those of 16 bytes, and that XGETBV tells the use of. 0:
 * there are none.
 */
uint32_t sys_vectors_wide __attribute__((visibility("hidden")));

enum { AREA = 1664, AVX = 1 << 2, HALVES = 1 << 6 };

/* Does that state's place in the area of XSAVE lie in ours? */
static uint32_t if_it_fits(uint32_t state)
{
	uint32_t bytes = 0, offset = 0, c, d;

	__cpuid_count(0xd, (uint32_t)__builtin_ctz(state), bytes, offset, c, d);
	return bytes && offset + bytes <= AREA ? state : 0;
}

__attribute__((constructor(101))) static void look_at_vectors(void)
{
	enum { OSXSAVE = 1 << 27, TELLS_USE = 1 << 2 };
	uint32_t a, b, c, d, usable, unused;

	if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & OSXSAVE) || __get_cpuid_max(0, NULL) < 0xd)
		return;
	__cpuid_count(0xd, 1, a, b, c, d);
	if (!(a & TELLS_USE))
		return;
	__asm__("xgetbv" : "=a"(usable), "=d"(unused) : "c"(0));
	if (!(usable & AVX) || !if_it_fits(AVX))
		return;
	sys_vectors_wide = AVX;
	if ((usable & HALVES) && if_it_fits(HALVES))
		sys_vectors_wide |= HALVES;
}
#endif
