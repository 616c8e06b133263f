/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run: a recording, loaded. Plain arrays with indices between them; times in ns of
 * CLOCK_MONOTONIC, relative to nothing (subtract run->start_ns). Bricks, categories and sites of
 * all processes are merged by name, so that ids in here are the run's own. Everything is owned by
 * the run. Read-only after loading: any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/scope.h"
#include "brick/clock.h"
#include "brick/digest.h"
#include "brick/recorded.h"
#include "brick/registry.h"
#include "format/machine_use.h"
#include "trace/lengths.h"

#define RUN_NONE UINT32_MAX

struct run_category {
	char *name;
};

struct run_brick {
	char *name;
	uint32_t category;
	int32_t well_known; /* id of registry.h (built-in ones included), or -1 */
};

/* Parts of a site's samples that are in no row. */
enum run_left_out {
	RUN_LEFT_OUT_TIME = 1,	/* their own time, their work, and themselves */
	RUN_LEFT_OUT_WAITS = 2, /* waiting in them and after them */
	RUN_LEFT_OUT_ALL = 3,
};

struct run_site {
	uint32_t brick;
	int32_t layer;
	uint32_t flags;	   /* BRICK_SITE_* */
	uint32_t left_out; /* RUN_LEFT_OUT_*: was not asked for (src/analysis/accounts/selection.h)
			    */
	uint64_t elements, bytes, flops;
	uint64_t output_tokens;	 /* of a mixed step's `elements` */
	char *operation, *label; /* NULL when unknown */
};

/* One execution. Sorted by begin within its lane, a parent before what it holds. */
struct run_sample {
	uint64_t begin_ns, end_ns;
	uint32_t site;
	uint32_t wait_ns;  /* right after the end; saturates */
	uint32_t inner_ns; /* of waiting inside; saturates */
	uint8_t depth;	   /* 0: outermost on its lane */
	uint8_t source;	   /* enum brick_source */
	uint8_t flags;	   /* enum run_sample_flags */
	uint8_t reserved;
};

enum run_sample_flags {
	RUN_SAMPLE_OPEN = 1,	/* never ended: end_ns is where the recording of its lane ends */
	RUN_SAMPLE_UNWOUND = 2, /* ended by an outer end */
	RUN_SAMPLE_CLAMPED = 4,
};

/* Off a CPU: because the thread waited for something, or another ran in its place. */
struct run_off_times {
	uint64_t blocked_ns, preempted_ns;
};

/* A lane's thread did not run from begin_ns to end_ns. */
struct run_off_cpu {
	uint64_t begin_ns, end_ns;
	struct run_off_times before; /* sums of those before it on its lane */
	int preempted;
};

/* The name of one of a lane's threads; its last name counts. */
struct run_thread_name {
	uint32_t lane;
	uint64_t tid;
	char *name;
};

/* struct brick_stat in ns: a thread's or queue's own counts, whatever became of its records. */
struct run_stat {
	uint64_t count;
	uint64_t total_ns, nested_ns, self_ns, wait_ns;
	uint64_t min_ns, max_ns; /* min_ns is UINT64_MAX while count is 0 */
	uint64_t elements, bytes, bytes_out, flops;
	uint64_t counted, cycles, instructions, cache_misses;
};

struct run_lane {
	uint32_t process;
	uint32_t kind;		 /* enum brick_lane_kind */
	uint64_t tid, first_tid; /* of its last owner, and of its first */
	char *name;
	uint64_t start_ns, end_ns;
	struct run_sample *samples; /* also waits of their own (brick BarrierWait) */
	size_t sample_count;
	size_t spilled; /* of the samples, the first so many lie in a file, mapped for reading */
	struct brick_ledger ledger;
	struct run_stat *stats; /* [brick_count]; NULL when the file holds no statistics of it */
	uint64_t hook_calls, hook_timed, hook_ns;
	struct run_off_cpu *off_cpu; /* none overlaps another; by time */
	size_t off_cpu_count;
	char *backend;	      /* of a queue; NULL: not known */
	uint32_t queue_flags; /* BRICK_QUEUE_* */
};

/* A kernel with one shape, or a kind of transfer. Merged over processes. */
struct run_kernel {
	char *name;
	char *backend;
	uint32_t kind; /* enum brick_kernel_kind */
	uint32_t grid[3], block[3], registers;
	uint64_t shared_bytes;
	uint64_t code; /* hash, see run_code; 0: not known */
};

/* One command of a queue. Sorted by (lane, sample). Times 0: not known. */
struct run_command {
	uint32_t lane, sample; /* its execution: times, brick, layer, elements, bytes, FLOPs */
	uint32_t kernel;
	uint32_t launch_lane, launch_sample; /* the host's call, RUN_NONE: not known */
	uint32_t dependency_first,
		dependency_count; /* in run->dependencies: commands it had to wait for */
	uint32_t reserved;
	uint64_t number; /* as recorded: unique in its process */
	uint64_t launch_ns, launch_end_ns, queued_ns, submitted_ns;
	uint64_t bytes, flops; /* of this execution, 0: not known */
};

/* A synchronisation: this sample of a thread did not end before that command. */
struct run_wait {
	uint32_t lane, sample;
	uint32_t command; /* index in run->commands */
	uint32_t reserved;
};

struct run_code {
	uint64_t hash;
	char *name, *path, *source;
};

/* One execution of a tile: the sample says when. Sorted by (lane, sample). */
struct run_tile {
	uint32_t lane, sample;
	uint32_t level; /* enum brick_tile_level */
	uint32_t row, column;
	uint32_t reserved;
	uint64_t elements, flops;
};

/* The outcome of a step's batch. Refused and aborted steps are in no rate and no percentile. */
enum run_outcome { RUN_EVALUATED, RUN_REFUSED, RUN_ABORTED };

/*
 * A step's tokens of a sequence, or a change of a sequence; as brick_sequence_record. Models have
 * numbers in their process.
 */
struct run_sequence_event {
	uint64_t ns;
	uint32_t lane;
	uint32_t step; /* index; RUN_NONE: between steps */
	int32_t sequence;
	uint32_t tokens, prompt;
	int32_t other;
	int32_t position, end; /* -1: not known, no end */
	uint16_t model;
	uint8_t event; /* enum brick_sequence_event */
	uint8_t reserved[5];
	uint64_t number; /* of BRICK_SEQUENCE_ARRIVED: ns */
};

/*
 * The next sample of MUL_MAT_ID on its lane multiplies so many rows with this expert's weights; as
 * brick_expert_record. Those of one operation have the same time.
 */
struct run_expert {
	uint64_t ns;
	uint32_t lane;
	uint32_t step; /* index; RUN_NONE: in none */
	int32_t expert;
	uint32_t tokens, experts;
	uint32_t reserved;
	uint64_t bytes;
};

/* One evaluation by the engine. */
struct run_step {
	uint32_t lane;
	uint32_t sample;  /* index of its sample on that lane */
	uint32_t phase;	  /* enum brick_phase */
	uint32_t open;	  /* it never ended */
	uint32_t number;  /* from 1 in the whole recording, where steps were left out; else 0 */
	uint32_t outcome; /* enum run_outcome */
	uint64_t tokens;  /* 0 unless RUN_EVALUATED; of RUN_ABORTED they are not known */
	uint64_t output_tokens; /* of a mixed step's tokens; of others 0: their phase says it */
	/* evaluated beside its tokens: all of a model that drafts, and drafts that were refuted */
	uint64_t drafts;
	uint32_t checked;  /* drafts: those among its tokens and the refuted ones */
	uint32_t is_draft; /* a step of a model that drafts for another one */
	uint32_t model;	   /* number in its process; RUN_NONE: not known */
	uint32_t reserved;
	uint64_t begin_ns, end_ns;
};

struct run_process {
	uint32_t pid, parent;
	int32_t rank, world;
	char *host, *executable;
	char **command; /* NULL-terminated */
	uint64_t start_ns, end_ns;
	bool closed;	     /* ended in good order */
	uint64_t unanswered; /* commands that were launched and are not there, at least */
	struct brick_ledger ledger;
	double pair_cost_ns, pair_cost_low_ns, pair_cost_high_ns;
	/* 0 in older recordings: behind 2 MB, in no cache at most; how long the 2 MB took */
	double pair_cost_streamed_ns, pair_cost_cold_ns, pair_stream_ns;
	uint32_t clock_source;
	uint32_t mode;
};

enum run_point_kind {
	RUN_POINT_INSTANT = 0,	/* named by its brick */
	RUN_POINT_COUNTER = 1,	/* a new value of the counter that its brick names */
	RUN_POINT_DROPPED = 2,	/* `value` records were lost here */
	RUN_POINT_THREAD = 3,	/* the lane goes on with thread `value` */
	RUN_POINT_REPORTED = 4, /* an execution of `value` ns, which the program timed itself */
};

/* Something without a length. In the order of the file: by time within a lane. */
struct run_point {
	uint64_t ns;
	uint32_t lane;
	uint32_t kind;	/* enum run_point_kind */
	uint32_t brick; /* RUN_NONE: none */
	uint32_t reserved;
	double value;
};

struct run_note {
	uint32_t process;
	char *key, *value;
};

/* The digest of one result. In the order in which each process made them. */
struct run_digest {
	uint32_t process, brick;
	int32_t layer;
	uint32_t decode;       /* of its step, as far as known */
	uint64_t step, tokens; /* step: from 1 in its process, 0: in none */
	uint64_t ns;
	uint64_t output, inputs[BRICK_DIGEST_INPUTS]; /* numbers of results, 0: not known */
	char *operation, *label;		      /* NULL when unknown */
	struct brick_digest digest;
};

/* A function that was seen in stacks. */
struct run_function {
	char *name;   /* NULL: its file does not tell; then this stands for all such of the file */
	char *object; /* path of its file; NULL: there was no known code */
};

/* A function below its caller: stacks that begin alike share their begin. */
struct run_call {
	uint32_t caller; /* index in run->calls, lower than this one's; RUN_NONE: none is known */
	uint32_t function;
};

/* A thread whose stacks were taken. */
struct run_stack_thread {
	uint32_t pid, tid;
	char *name; /* NULL: not known */
};

/* A thread was in this function, called by those, at that moment, in user space. By time. */
struct run_stack {
	uint64_t ns;
	uint32_t call;	 /* the innermost one */
	uint32_t thread; /* index in run->stack_threads */
	uint32_t lane;	 /* that its bricks are on; RUN_NONE: it has recorded none by then */
	uint32_t reserved;
};

#define RUN_LIVE "live" /* in place of a path: nothing is written */

struct run {
	char *path;
	char *selected;	    /* this part of the recording, in words; NULL: all of it */
	uint32_t all_steps; /* that ended in all of it, where steps were left out; else 0 */
	bool is_scattered;  /* steps between those that are here were left out */
	/* of sessions that keep nothing but statistics: samples are of open bricks only */
	bool has_statistics_only;
	bool is_live;	/* of sessions that run, or of what one held at its end */
	char **command; /* NULL-terminated; of the recorder's command line */
	char *host, *cpu;
	char *version; /* of the Brick that recorded it; NULL: not known */
	uint64_t start_ns, end_ns, start_unix_ns;
	struct brick_clock clock;   /* residual_ns: the most that it was seen off, to the end */
	uint32_t cpus, usable_cpus; /* online; run_usable_cpus() */
	int32_t exit_code;	    /* -1: not known */
	uint64_t consumer_cpu_ns, program_cpu_ns;
	struct off_cpu_account off_cpu;	    /* whether lanes' off_cpu is known at all */
	struct stack_account stack_account; /* how many were taken, and lost, of all of it */
	struct machine_use machine;

	struct run_category *categories;
	size_t category_count;
	struct run_brick *bricks;
	size_t brick_count;
	struct run_site *sites;
	size_t site_count;
	struct run_process *processes;
	size_t process_count;
	struct run_lane *lanes;
	size_t lane_count;
	struct run_step *steps; /* by begin time */
	size_t step_count;
	struct run_sequence_event *sequence_events; /* by time */
	size_t sequence_event_count;
	struct run_expert *experts; /* by lane, then by time */
	size_t expert_count;
	struct run_note *notes;
	size_t note_count;
	struct run_thread_name *thread_names;
	size_t thread_name_count;
	struct run_point *points;
	size_t point_count;
	struct run_kernel *kernels;
	size_t kernel_count;
	struct run_command *commands;
	size_t command_count;
	uint32_t *dependencies; /* indices in commands */
	size_t dependency_count;
	struct run_wait *waits;
	size_t wait_count;
	struct run_code *codes;
	size_t code_count;
	struct run_tile *tiles;
	size_t tile_count;
	struct run_digest *digests;
	size_t digest_count;
	struct run_function *functions;
	size_t function_count;
	struct run_call *calls;
	size_t call_count;
	struct run_stack_thread *stack_threads;
	size_t stack_thread_count;
	struct run_stack *stacks;
	size_t stack_count;
	struct ticks_lengths **histograms; /* [brick_count], each NULL where there is none */

	/* losses of the file */
	bool complete;		  /* false: never finished: cut off, or its writer was killed */
	uint64_t truncated_bytes; /* behind the last whole packet */
	uint64_t lost_processes;
	uint64_t refused_records; /* of processes that could have no session */
	uint64_t open_samples;
	uint64_t bad_packets;		      /* whole packets that could not be used */
	uint64_t truncated_at, bad_packet_at; /* in the file, of the first byte of these */
	uint64_t bad_records; /* that broke the rules of their ring: not in the file */
};

/* Find the run's brick, or its category, by name; RUN_NONE if it has none. */
uint32_t run_brick_find(const struct run *run, const char *name);
uint32_t run_category_find(const struct run *run, const char *name);

/* CPUs that it could run on; 0: not known. */
static inline uint32_t run_usable_cpus(const struct run *run)
{
	return run->usable_cpus ? run->usable_cpus : run->cpus;
}

/*
 * Samples that lie in a file take memory from when they are read until they are released. Loops
 * over many samples call run_lane_passed() for each, so that never more than some megabytes are
 * held.
 */
void run_lane_release(const struct run_lane *lane);
void run_release(const struct run *run); /* of all lanes */

enum { RUN_PASSED_BATCH = 16384 };

/* Called once for so many samples. */
void run_lane_passed_batch(const struct run_lane *lane);

static inline void run_lane_passed(const struct run_lane *lane, size_t i)
{
	if (__builtin_expect(!(i % RUN_PASSED_BATCH), 0))
		run_lane_passed_batch(lane);
}

/*
 * Returns how many samples were passed so far, of all runs, to within a batch of each lane. Any
 * thread.
 */
uint64_t run_samples_passed(void);

/* The first sample of a lane that begins at `ns` or later, by index; sample_count: none does. */
size_t run_sample_from(const struct run_lane *lane, uint64_t ns);

/* Returns how long the threads of a lane were off their CPUs between two moments. */
struct run_off_times run_off_cpu_between(
	const struct run_lane *lane, uint64_t begin_ns, uint64_t end_ns);

/* True if it is known, for all threads and all of that time, when they were off their CPUs. */
bool run_off_cpu_is_known(const struct run *run, uint64_t begin_ns, uint64_t end_ns);

/* A step's time, less the time that its thread was preempted, where that is known. */
uint64_t run_step_running_ns(const struct run *run, const struct run_step *step);

/* The first time off a CPU that ends after `ns`, by index; off_cpu_count: none does. */
size_t run_off_cpu_from(const struct run_lane *lane, uint64_t ns);

/* The first command of that sample or a later one of the lane, or of a later lane, by index in
 * run->commands; command_count: there is none. */
size_t run_command_from(const struct run *run, uint32_t lane, uint32_t sample);

/* A command's execution. */
static inline const struct run_sample *run_command_sample(
	const struct run *run, const struct run_command *command)
{
	return &run->lanes[command->lane].samples[command->sample];
}

/* Lanes that are queues of devices; all others are threads. */
size_t run_queue_count(const struct run *run);

/* Name of a process's model, as a note has it; NULL: it is not known. */
const char *run_model_name(const struct run *run, uint32_t process, uint32_t model);

/* Value of the first note with that key (of any process); NULL if there is none. */
const char *run_note_find(const struct run *run, const char *key);

/* A list of texts with NULL behind the last. */
void run_list_free(char **list);

/* Frees the run's contents, or the run itself, too; NULL is legal there. */
void run_fini(struct run *run);
void run_destroy(struct run *run);
SCOPE_OF(run_destroy, struct run)
