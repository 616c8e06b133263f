/* SPDX-License-Identifier: Apache-2.0 */
/* What the CPUs of a machine did while something was recorded on it. */
#pragma once

#include <errno.h>
#include <stdint.h>

/* Times are CPU time of all CPUs together. All 0: not known. */
struct machine_use {
	uint64_t busy_ns;      /* ran something, of whatever process */
	uint64_t steal_ns;     /* would have, had the host of this virtual machine let them */
	uint64_t idle_ns;      /* did nothing, or waited for disks */
	uint64_t neighbour_ns; /* of `busy_ns`: the one other process that used most; 0: none */
	char neighbour[64];    /* its name and number, "cc1 (1234)" */
	uint64_t interrupt_ns; /* of `busy_ns`: the kernel served devices, whoever was running */
	/* The CPU that they took most of, mostly one that a device's interrupts all go to. */
	uint32_t interrupt_cpu;
	uint64_t interrupt_cpu_ns, interrupt_cpu_all_ns; /* of `all`; both 0: not known */
	uint64_t throttled_ns; /* a limit on its control group held the program back */
	/* What the program may have; 0: no limit, or it is not known. */
	uint64_t quota_permille; /* of one CPU: how much of all of them together */
	uint64_t memory_limit_bytes;
	uint64_t system_ns;    /* of the program's CPU time, in the kernel */
	uint64_t major_faults; /* of the program and its children: pages came from a disk */
};

/* How it is known when threads were off their CPUs. */
enum off_cpu_source {
	OFF_CPU_UNKNOWN,  /* it is not: never asked for, or refused */
	OFF_CPU_SWITCHES, /* from the kernel's records of context switches */
};

/* Switches were not recorded in that time, since they were so many that it cost too much. */
struct off_cpu_gap {
	uint64_t begin_ns, end_ns; /* UINT64_MAX: to the end of the recording */
	uint64_t per_s;		   /* times off the CPU, of all threads, just before */
	uint64_t each_ns;	   /* what recording one took, as measured then */
};

enum { OFF_CPU_GAPS = 16 };

/* An error: a process in another PID namespace is recorded, whose threads the kernel numbers
 * otherwise. */
#define OFF_CPU_ELSEWHERE (-EXDEV)

/* What is known of all threads together. */
struct off_cpu_account {
	uint32_t source; /* enum off_cpu_source */
	int32_t error;	 /* why it is not known: -errno; 0: it was not asked for */
	uint64_t lost;	 /* switches that are missing */
	uint32_t gap_count;
	struct off_cpu_gap gaps[OFF_CPU_GAPS]; /* by time, none touching another */
	/* What recording a time off the CPU takes, by quartiles; all 0: not measured. */
	uint64_t cost_low_ns, cost_ns, cost_high_ns;
	/*
	 * Where it is not known for errors, and from the first gap on: what the scheduler has
	 * counted of threads that record (/proc/PID/task/TID/schedstat), read once per interval.
	 * All 0: that neither.
	 */
	uint64_t watched_ns; /* sum of the times from the first to the last reading of each */
	uint64_t ran_ns;     /* of that on a CPU */
	uint64_t queued_ns;  /* ... without a CPU, though it could have run */
};

enum { STACK_REASON_BYTES = 160 };

/* Stacks that were taken of all threads. */
struct stack_account {
	uint32_t hz;	    /* so often in a second of CPU time; 0: it was not asked for */
	int32_t error;	    /* why there are none: -errno */
	uint64_t taken;	    /* in user space */
	uint64_t unknown;   /* of these: there was no known code where the thread was */
	uint64_t lost;	    /* records of the kernel, of stacks or of what code lies where */
	uint64_t throttled; /* how often the kernel skipped some on purpose */
	uint64_t nameless;  /* frames whose names there was no room to look for */
	char reason[STACK_REASON_BYTES]; /* the error in words, as it was there */
};
