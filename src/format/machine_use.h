/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was known of the machine while it was recorded: how its CPUs were used, how times off the
 * CPU are known, and how many stacks were taken. The recorder fills these in, and a loaded run has
 * them.
 */
#pragma once

#include <errno.h>
#include <stdint.h>

/* Times are CPU time of all CPUs together. All 0: not known. */
struct machine_use {
	uint64_t busy_ns;      /* CPUs ran a process, any of the machine */
	uint64_t steal_ns;     /* CPUs could have, but the host of this virtual machine had them */
	uint64_t idle_ns;      /* CPUs did nothing, or waited for disks */
	uint64_t neighbour_ns; /* part of busy_ns of the other process that used most; 0: none */
	char neighbour[64]; /* its name and number, "cc1 (1234)"; "[kswapd0] (66)": the kernel's */
	uint64_t interrupt_ns;	/* part of busy_ns in which the kernel served devices */
	uint32_t interrupt_cpu; /* number of the CPU that serving devices took most of */
	/* Time of that CPU: for devices, and all of it; both 0: not known. */
	uint64_t interrupt_cpu_ns, interrupt_cpu_all_ns;
	uint64_t throttled_ns; /* the limit of its control group held the program back */
	/* What the program may have; 0: no limit, or it is not known. */
	uint64_t quota_permille; /* CPU time per time: 2500 is two and a half CPUs */
	uint64_t memory_limit_bytes;
	uint64_t system_ns; /* part of the program's CPU time, in the kernel */
	/* page faults of the program and its children; major: the kernel waited for a disk */
	uint64_t minor_faults, major_faults;
	uint64_t peak_bytes; /* the most memory that one of these had, by the system's count */
};

/* How it is known when threads were off their CPUs. */
enum off_cpu_source {
	OFF_CPU_UNKNOWN,  /* it is not: never asked for, or refused */
	OFF_CPU_SWITCHES, /* from the kernel's records of context switches */
};

/* A time in which switches were not recorded, because recording so many of them cost too much. */
struct off_cpu_gap {
	uint64_t begin_ns, end_ns; /* UINT64_MAX: to the end of the recording */
	uint64_t per_s;		   /* times off the CPU per second, of all threads, just before */
	uint64_t each_ns;	   /* what recording one took, as measured then */
};

enum { OFF_CPU_GAPS = 16 };

/* As off_cpu_account.error: the process is in another PID namespace, where the kernel's thread
 * numbers are not those of the records. */
#define OFF_CPU_ELSEWHERE (-EXDEV)

/* How much is known of times off the CPU, for all threads together. */
struct off_cpu_account {
	uint32_t source; /* enum off_cpu_source */
	int32_t error;	 /* why it is not known: -errno; 0: it was not asked for */
	uint64_t lost;	 /* switches that are missing; a time off the CPU has two */
	uint32_t gap_count;
	struct off_cpu_gap gaps[OFF_CPU_GAPS]; /* by time, none touching another */
	/* Cost of recording one time off the CPU: lower quartile, median, upper; all 0: not
	 * measured. */
	uint64_t cost_low_ns, cost_ns, cost_high_ns;
	/*
	 * Used if there was an error, and from the first gap on: what the scheduler has counted for
	 * threads that record (/proc/PID/task/TID/schedstat). All 0: not known either.
	 */
	uint64_t watched_ns; /* sum over threads of the time from first to last reading */
	uint64_t ran_ns;     /* part of watched_ns on a CPU */
	uint64_t queued_ns;  /* part of watched_ns without a CPU, though the thread could run */
};

/* How much is known of page faults, for all processes together (struct run_fault). */
struct fault_account {
	uint32_t is_known;    /* 1: from the kernel's records */
	uint32_t sees_kernel; /* 1: with those inside of system calls */
	int32_t error;	      /* why they are not known: -errno; 0: it was not asked for */
	uint64_t lost;	      /* records that are missing; a fault has two */
	uint64_t until_ns;    /* complete up to here; UINT64_MAX: to the end */
};

enum { STACK_REASON_BYTES = 160 };

/* How many stacks were taken of all threads, and lost. */
struct stack_account {
	uint32_t hz;	    /* stacks in a second of CPU time; 0: none were asked for */
	int32_t error;	    /* why there are none: -errno; 0: no error */
	uint64_t taken;	    /* in user space */
	uint64_t unknown;   /* part of `taken` in which the thread was in no known code */
	uint64_t lost;	    /* lost records of the kernel: of stacks, or of mapped code */
	uint64_t throttled; /* times that the kernel took fewer stacks than asked for */
	uint64_t nameless;  /* frames without a name, because there was no room to look for it */
	char reason[STACK_REASON_BYTES]; /* the error in words, as it was there */
};
