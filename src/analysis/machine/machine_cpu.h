/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CPUs and caches of this machine, as its kernel tells them. Unknown values are empty or 0,
 * never guessed. Any thread.
 */
#pragma once

#include <stdint.h>

enum {
	CPU_LEVELS = 4, /* of caches */
	CPU_MAX = 1024, /* further CPUs are not used */
};

struct cpu_cache {
	uint64_t bytes;	 /* of one */
	unsigned shared; /* number of CPUs that share one */
};

struct cpu_info {
	char host[64];
	char model[128];
	char microcode[32];
	unsigned online;   /* CPUs of the machine */
	unsigned usable;   /* CPUs that this process may use */
	int cpus[CPU_MAX]; /* [usable] their numbers, one of each core before its siblings */
	struct cpu_cache data[CPU_LEVELS]; /* data[i]: level i + 1; bytes 0: there is none */
};

void cpu_info_read(struct cpu_info *info);

/* As cpu_info_read(), from other roots than "/proc" and "/sys" (tests); usable CPUs are still this
 * process's. */
void cpu_info_read_from(struct cpu_info *info, const char *proc, const char *sys);
