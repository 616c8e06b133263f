/* SPDX-License-Identifier: Apache-2.0 */
/* ELF machine, library directory and dynamic linker of this kind of CPU. */
#pragma once

#include <elf.h>

/* SYS_ELF_MACHINE: e_machine of its programs; EM_NONE: not known.
 * SYS_LIBRARY_TRIPLET: Debian's directory below lib; "." where there is none.
 * SYS_INTERPRETER: the file name of the C library's dynamic linker; "": not known.
 * SYS_ELF_GLOB_DAT, SYS_ELF_ADDRESS: relocations of a slot and of a word of data that hold a
 * symbol's address; 0: not known. */
#if defined(__x86_64__)
#define SYS_ELF_MACHINE EM_X86_64
#define SYS_LIBRARY_TRIPLET "x86_64-linux-gnu"
#define SYS_INTERPRETER "ld-linux-x86-64.so.2"
#define SYS_ELF_GLOB_DAT R_X86_64_GLOB_DAT
#define SYS_ELF_ADDRESS R_X86_64_64
#elif defined(__aarch64__)
#define SYS_ELF_MACHINE EM_AARCH64
#define SYS_LIBRARY_TRIPLET "aarch64-linux-gnu"
#define SYS_INTERPRETER "ld-linux-aarch64.so.1"
#define SYS_ELF_GLOB_DAT R_AARCH64_GLOB_DAT
#define SYS_ELF_ADDRESS R_AARCH64_ABS64
#else
#define SYS_ELF_MACHINE EM_NONE
#define SYS_LIBRARY_TRIPLET "."
#define SYS_INTERPRETER ""
#define SYS_ELF_GLOB_DAT 0
#define SYS_ELF_ADDRESS 0
#endif
