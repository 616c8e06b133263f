/* SPDX-License-Identifier: Apache-2.0 */
/* ELF machine and library directory of this kind of CPU. */
#pragma once

#include <elf.h>

/* SYS_ELF_MACHINE: e_machine of its programs; EM_NONE: not known.
 * SYS_LIBRARY_TRIPLET: Debian's directory below lib; "." where there is none. */
#if defined(__x86_64__)
#define SYS_ELF_MACHINE EM_X86_64
#define SYS_LIBRARY_TRIPLET "x86_64-linux-gnu"
#elif defined(__aarch64__)
#define SYS_ELF_MACHINE EM_AARCH64
#define SYS_LIBRARY_TRIPLET "aarch64-linux-gnu"
#else
#define SYS_ELF_MACHINE EM_NONE
#define SYS_LIBRARY_TRIPLET "."
#endif
