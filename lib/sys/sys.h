/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The contract of the operating system and CPU seam: all that the library needs of them and cannot
 * have from C11 and pthreads. Functions return 0 or -errno unless said otherwise, keep errno as it
 * was, and may be called from any thread.
 */
#ifndef BRICK_SYS_SYS_H
#define BRICK_SYS_SYS_H

#include <stddef.h>
#include <stdint.h>

/* Which counter the CPU has (enum brick_clock_source); why not in `reason` when it is the OS clock.
 */
uint32_t brick__sys_counter_kind(char *reason, size_t reason_bytes);

/* A new file of shared memory, without a name (directory NULL) or in a directory; returns the fd.
 */
int brick__sys_shared_create(const char *directory, const char *name);

/* Give the file at least `bytes` bytes of length; never shrinks it. */
int brick__sys_shared_extend(int fd, uint64_t bytes);

/* Make sure that a range of the file has memory behind it, so that touching it cannot fail. */
int brick__sys_shared_reserve(int fd, uint64_t offset, uint64_t bytes);

/* Map a range of the file for reading and writing, or reading only; NULL with *error = -errno. */
void *brick__sys_map(int fd, uint64_t offset, uint64_t bytes, int writable, int *error);
void brick__sys_unmap(void *address, uint64_t bytes);

/* Bring the pages of a writable mapping into memory now (best effort). */
void brick__sys_touch(void *address, uint64_t bytes);

uint64_t brick__sys_thread_id(void);
void brick__sys_thread_name(char *name, size_t bytes);

/* Own executable's path and argv (each ended by NUL); returns the bytes stored, 0 if unknown. */
size_t brick__sys_executable(char *path, size_t bytes);
size_t brick__sys_command(char *argv, size_t bytes);

#endif
