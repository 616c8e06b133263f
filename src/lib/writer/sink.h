/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls by which a consumer of sessions hands data to the writer of a recording
 * (src/lib/writer/writer.h); drain/ uses these calls only. The data comes from other processes, so
 * the writer trusts no count, index or text. It copies what it keeps. One thread at a time.
 *
 * All calls return 0 (or a number, where that is said), or a negative code. -EINVAL: there is no
 * such process or lane. After the first error a writer does nothing, and every call returns that
 * error.
 */
#pragma once

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include "brick/abi/lane.h"
#include "brick/abi/session.h"
#include "brick/clock.h"
#include "format/machine_use.h"
#include "format/mark.h"

/*
 * How many executions were how long, by brick_histogram_index() of their length in ticks. The
 * reader keeps it as trace/lengths.h says.
 */
struct ticks_histogram {
	uint64_t of_ticks[BRICK_HISTOGRAM_BUCKETS]; /* executions, by bucket */
};

struct trace_writer;

/* A session's tables at this moment; index 0 of sites and kernels is unused. */
struct sink_tables {
	const struct brick_session_brick *bricks;
	uint32_t brick_count;
	const struct brick_session_category *categories;
	uint32_t category_count;
	const struct brick_session_site *sites;
	uint32_t site_count;
	const struct brick_session_kernel *kernels;
	uint32_t kernel_count;
};

/* The source of a program from which kernels were made; texts need no NUL at their end. */
struct sink_code {
	uint64_t hash;
	const char *name, *path, *source;
	size_t name_bytes, path_bytes, source_bytes;
	int cut; /* there is more source than this */
};

/* What the consumer itself lost or spent. */
struct sink_account {
	uint64_t end_ns;	    /* CLOCK_MONOTONIC: up to when the recording is complete */
	uint64_t consumer_cpu_ns;   /* CPU time that recording took outside of the program */
	uint64_t program_cpu_ns;    /* CPU time of the program and its children */
	uint64_t lost_processes;    /* processes whose session could not be made or read */
	uint64_t refused_records;   /* of processes that could have no session */
	uint32_t cpus, usable_cpus; /* online; and those of them that the program may use */
	int32_t exit_code;	    /* as the shell sees it; -1: not known (yet) */
	uint32_t clock_residual_ns; /* the largest distance of a reading from the clock's line */
	struct off_cpu_account off_cpu;
	struct stack_account stacks;
	struct machine_use machine; /* known at the end only */
	int32_t energy_error;	    /* why no energy was read: -errno; 0: it was, or nobody tried */
	const char *energy_refused; /* counters that the user may not read; NULL: none */
	struct fault_account faults;
};

/* A moment of the recording as a whole. */
struct sink_mark {
	uint64_t ns;	  /* CLOCK_MONOTONIC */
	uint32_t kind;	  /* enum mark_kind */
	const char *text; /* "": none */
};

enum { SINK_ENERGY_NAME = 64, SINK_ENERGY_REFUSED = 256 };

/* A reading of a counter of energy. */
struct sink_energy {
	uint64_t ns; /* CLOCK_MONOTONIC */
	uint64_t uj; /* since the counter's first reading */
	char source[SINK_ENERGY_NAME];
};

/* A thread did not run from begin_ns to end_ns (CLOCK_MONOTONIC). */
struct sink_off_cpu {
	uint64_t begin_ns, end_ns;
	uint32_t tid;
	uint32_t preempted; /* it could have run; else it waited for something */
};

/* A thread's page fault, from its begin until it was served (CLOCK_MONOTONIC). */
struct sink_fault {
	uint64_t begin_ns, end_ns;
	uint32_t pid, tid; /* as the process knows them itself */
	uint32_t is_major;
};

/* A CPU: its NUMA node, and its speed, 1024 of the machine's fastest kind. */
struct sink_cpu {
	uint32_t cpu, node, capacity;
};

/* Memory that a process has on a NUMA node: pages of files, and of its own. */
struct sink_node {
	uint32_t node;
	uint64_t file_bytes, anonymous_bytes;
};

/* How often a thread was seen to run on a CPU. */
struct sink_thread_cpu {
	uint32_t tid, cpu;
	uint64_t times;
};

/* Where a process's memory and threads were. */
struct sink_placement {
	uint32_t pid;
	const struct sink_cpu *cpus;
	size_t cpu_count;
	const struct sink_node *nodes;
	size_t node_count;
	const struct sink_thread_cpu *threads;
	size_t thread_count;
};

/* Sets the map from ticks to CLOCK_MONOTONIC ns for all records that follow. */
int sink_clock(struct trace_writer *w, const struct brick_clock *clock);

/* Returns the clock of sink_clock(); mult 0: there is none yet. */
const struct brick_clock *sink_clock_get(const struct trace_writer *w);

/* Adds a process; returns its number (>= 0). header: of its session. */
int sink_process(struct trace_writer *w, const struct brick_session_header *header);

/*
 * The header as it stands now (ledger, costs); later calls replace earlier ones. Optional: a
 * process whose ledger never changed needs none.
 */
int sink_process_state(
	struct trace_writer *w, int process, const struct brick_session_header *header);

/*
 * Call it before records that may use new entries. Entries are append-only: a call looks only at
 * those beyond the counts of the last one.
 */
int sink_tables(struct trace_writer *w, int process, const struct sink_tables *tables);

int sink_code(struct trace_writer *w, const struct sink_code *code);

/* Adds the lane of a thread or queue; returns its number (>= 0), unique in the recording. */
int sink_lane(struct trace_writer *w, int process, const struct brick_lane *lane);

/*
 * Records of a lane, in ring order. Those that break the rules of the ring are counted and left
 * out. A slice that the next call may say more of is held back until then, or until the next flush.
 */
int sink_records(
	struct trace_writer *w, int lane, const struct brick_record *records, size_t count);

/*
 * The times in which a lane's threads were off their CPUs, in order. An interval begins at the end
 * of the one before it at the earliest: what lies before that is cut off.
 */
int sink_off_cpu(
	struct trace_writer *w, int lane, const struct sink_off_cpu *intervals, size_t count);

/*
 * Exact statistics of a lane at this moment; later calls replace earlier ones. They take about 100
 * bytes of a recording for each brick that ran, so a call a second costs nothing that shows, and a
 * file whose writer is killed still has exact numbers.
 */
int sink_lane_stats(struct trace_writer *w, int lane, const struct brick_lane *state);

/* The histogram of a brick in a process, all lanes merged; of one that is in the tables. */
int sink_histogram(struct trace_writer *w, int process, uint32_t brick,
	const struct ticks_histogram *histogram);

/* Notes of a session ("key=value\n" lines), whole; later calls replace earlier ones. */
int sink_notes(struct trace_writer *w, int process, const char *notes, size_t bytes);

/* The digest of one result; its brick must be in the tables. */
int sink_digest(struct trace_writer *w, int process, const struct brick_session_digest *digest);

int sink_mark(struct trace_writer *w, const struct sink_mark *mark);

int sink_energy(struct trace_writer *w, const struct sink_energy *reading);

/* Once, at the end. */
int sink_placement(struct trace_writer *w, const struct sink_placement *placement);

/* In the order of process, thread and time. */
int sink_faults(struct trace_writer *w, const struct sink_fault *faults, size_t count);

/* Later calls replace earlier ones. */
int sink_account(struct trace_writer *w, const struct sink_account *account);

/* Ends a session: it was closed (1), or its process died (0). Open frames stay open. */
int sink_process_end(struct trace_writer *w, int process, uint64_t end_ticks, int closed);

/* Makes all that was handed in visible to readers of the recording. */
int sink_flush(struct trace_writer *w);
