/* SPDX-License-Identifier: Apache-2.0 */
/* ELF machine, library directory and dynamic linker of this kind of CPU. */
#pragma once

#include <elf.h>

/* SYS_ELF_MACHINE: e_machine of its programs; EM_NONE: not known.
 * SYS_LIBRARY_TRIPLET: Debian's directory below lib; "." where there is none.
 * SYS_INTERPRETER: the file name of the C library's dynamic linker; "": not known. */
#if defined(__x86_64__)
#define SYS_ELF_MACHINE EM_X86_64
#define SYS_LIBRARY_TRIPLET "x86_64-linux-gnu"
#define SYS_INTERPRETER "ld-linux-x86-64.so.2"
#elif defined(__aarch64__)
#define SYS_ELF_MACHINE EM_AARCH64
#define SYS_LIBRARY_TRIPLET "aarch64-linux-gnu"
#define SYS_INTERPRETER "ld-linux-aarch64.so.1"
#else
#define SYS_ELF_MACHINE EM_NONE
#define SYS_LIBRARY_TRIPLET "."
#define SYS_INTERPRETER ""
#endif
