/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run: a recording, loaded. It consists of plain arrays whose members refer to each other by
 * index; RUN_NONE is no index. Times are ns of CLOCK_MONOTONIC: subtract run->start_ns to get the
 * time since the recording began. Bricks, categories and sites of all processes are merged by name,
 * so ids here are not those of the processes. The run owns all that it points at. Any thread may
 * read it once it is loaded.
 *
 * A new array needs its capacity in struct build_capacity and its free() in run_fini(). If its
 * members hold indices of samples, steps or commands, run_keep() must number them anew, too.
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
#include "format/mark.h"
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

/* Flags: parts of a site's samples that no row counts. */
enum run_left_out {
	RUN_LEFT_OUT_TIME = 1,	/* their own time, their work and their number */
	RUN_LEFT_OUT_WAITS = 2, /* the waiting inside of them and right after them */
	RUN_LEFT_OUT_ALL = 3,
};

struct run_site {
	uint32_t brick;
	int32_t layer;
	uint32_t flags;	   /* BRICK_SITE_* */
	uint32_t left_out; /* RUN_LEFT_OUT_*, set by src/analysis/accounts/selection.h; 0: none */
	uint64_t elements; /* of one execution, as `bytes` and `flops`; of a step: its tokens */
	uint64_t bytes;	   /* known only with BRICK_SITE_HAS_BYTES in `flags` */
	uint64_t flops;	   /* known only with BRICK_SITE_HAS_FLOPS in `flags` */
	uint64_t output_tokens;	 /* those of a mixed step's `elements` that are no prompt's */
	char *operation, *label; /* NULL when unknown */
};

/*
 * One execution of a brick. Sorted by begin within its lane, a sample before the samples inside of
 * it. Runs hold millions of these, so a new member should fit into what is reserved.
 */
struct run_sample {
	uint64_t begin_ns, end_ns;
	uint32_t site;
	uint32_t wait_ns;  /* waiting right after the end, not in [begin_ns, end_ns]; saturates */
	uint32_t inner_ns; /* waiting inside of the sample; saturates */
	uint8_t depth;	   /* 0: outermost on its lane */
	uint8_t source;	   /* enum brick_source */
	uint8_t flags;	   /* enum run_sample_flags */
	uint8_t reserved;
};

/* True if the sample's times are those of another one that was measured (BRICK_SOURCE_ESTIMATED).
 */
static inline bool run_sample_is_estimated(const struct run_sample *sample)
{
	return sample->source == BRICK_SOURCE_ESTIMATED;
}

enum run_sample_flags {
	RUN_SAMPLE_OPEN = 1,	/* never ended: end_ns is where its thread or its lane ended */
	RUN_SAMPLE_UNWOUND = 2, /* the end of an outer sample ended it */
	RUN_SAMPLE_CLAMPED = 4, /* its time was impossible and was set to a bound */
};

/* Time that a thread spent off its CPU. */
struct run_off_times {
	uint64_t blocked_ns;   /* it waited for something */
	uint64_t preempted_ns; /* another thread ran in its place */
};

/* A lane's thread did not run from begin_ns to end_ns. */
struct run_off_cpu {
	uint64_t begin_ns, end_ns;
	struct run_off_times before; /* sums over all earlier entries of the lane */
	int preempted;		     /* 1: preempted, 0: blocked */
};

/* The name of one of a lane's threads. If a thread has several, the last entry counts. */
struct run_thread_name {
	uint32_t lane;
	uint64_t tid;
	char *name;
};

/*
 * struct brick_stat in ns: what a thread or queue counted itself. It includes executions whose
 * records were dropped.
 */
struct run_stat {
	uint64_t count;
	uint64_t total_ns, nested_ns, self_ns, wait_ns;
	uint64_t min_ns, max_ns; /* min_ns is UINT64_MAX while count is 0 */
	uint64_t elements, bytes, bytes_out, flops;
	uint64_t counted, cycles, instructions, cache_misses;
	uint64_t cycles_min, cycles_max; /* of single counted executions */
};

struct run_lane {
	uint32_t process;
	uint32_t kind;	    /* enum brick_lane_kind */
	uint64_t tid;	    /* of the last thread that owned it */
	uint64_t first_tid; /* of the first one; see owners.h for those between */
	char *name;
	uint64_t start_ns, end_ns;
	struct run_sample *samples; /* executions, and waits (BarrierWait) that follow none */
	size_t sample_count;
	size_t spilled; /* so many of the first samples lie in a file that is mapped; 0: none do */
	struct brick_ledger ledger;
	struct run_stat *stats; /* [brick_count]; NULL when the file holds no statistics of it */
	uint64_t hook_calls;	/* calls of Brick's hooks on this lane */
	uint64_t hook_timed;	/* those of the calls that were timed */
	uint64_t hook_ns;	/* the time of the timed calls together */
	struct run_off_cpu *off_cpu; /* by time; entries do not overlap */
	size_t off_cpu_count;
	char *backend;	      /* of a queue; NULL: not known */
	uint32_t queue_flags; /* BRICK_QUEUE_* */
	uint32_t gpu; /* of a queue: number of its GPU, which notes "gpu.NUMBER" describe; 0: not
			 known */
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

/* One command of a queue. Sorted by (lane, sample), one for each sample. A time of 0 is unknown. */
struct run_command {
	uint32_t lane, sample; /* its execution: times, brick, layer, elements, bytes, FLOPs */
	uint32_t kernel;
	uint32_t launch_lane, launch_sample; /* the host's call; RUN_NONE: not known */
	uint32_t dependency_first; /* in run->dependencies: the commands that had to end before */
	uint32_t dependency_count;
	uint32_t reserved;
	uint64_t number;		   /* as recorded: unique in its process */
	uint64_t launch_ns, launch_end_ns; /* begin and end of the host's call */
	uint64_t queued_ns;		   /* the driver took it */
	uint64_t submitted_ns;		   /* the driver gave it to the device */
	uint64_t bytes, flops;		   /* of this execution; 0: not known */
};

/* A synchronisation: the sample (lane, sample) of a thread waited for `command` to end. */
struct run_wait {
	uint32_t lane, sample;
	uint32_t command; /* index in run->commands */
	uint32_t reserved;
};

/* The program of kernels: run_kernel.code is its hash. */
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
 * A step's tokens of a sequence, or a change of a sequence; as brick_sequence_record. The numbers
 * of models and sequences are unique in their process only.
 */
struct run_sequence_event {
	uint64_t ns;
	uint32_t lane;
	uint32_t step; /* index; RUN_NONE: between steps */
	int32_t sequence;
	uint32_t tokens;  /* that the step evaluates of it */
	uint32_t prompt;  /* those of `tokens` that are a prompt's */
	int32_t other;	  /* the sequence copied to, the shift, or a block's end: by `event` */
	int32_t position; /* of the first token concerned; -1: not known */
	int32_t end;	/* position behind the last one; -1: no end. BRICK_SEQUENCE_TOKENS: how many
			   tokens' results are wanted */
	uint16_t model; /* BRICK_SEQUENCE_NO_MODEL: not known */
	uint8_t event;	/* enum brick_sequence_event */
	uint8_t reserved[5];
	uint64_t number; /* BLOCK: a hash; BEGIN: the request; ARRIVED: ns at which it arrived */
};

/*
 * The next sample of MUL_MAT_ID on its lane multiplies `tokens` rows with this expert's weights; as
 * brick_expert_record. All entries of one operation have the same time.
 */
struct run_expert {
	uint64_t ns;
	uint32_t lane;
	uint32_t step;	  /* index; RUN_NONE: in no step */
	int32_t expert;	  /* from 0; BRICK_EXPERT_SAME: as in the operation before */
	uint32_t tokens;  /* rows for this expert */
	uint32_t experts; /* how many the layer has */
	uint32_t reserved;
	uint64_t bytes;
};

/*
 * Memory of one kind that operators of a site have asked for, or the process; as
 * brick_memory_record. It stands at the end of the step that it is about.
 */
struct run_memory {
	uint64_t ns;
	uint32_t lane;
	uint32_t step; /* index; RUN_NONE: in no step */
	uint32_t kind; /* enum brick_memory_kind */
	uint32_t gpu;  /* 1 + its number; 0: the host's */
	uint32_t site; /* RUN_NONE: the process, or a site that is not known */
	bool is_of_site;
	uint64_t live_bytes;
	uint64_t peak_bytes; /* since the entry before about the same */
};

/*
 * A message between ranks that a call sent or received, or a collective in which it took part; as
 * brick_message_record. SENT and COLLECTIVE: the rank was there when the sample began; RECEIVED:
 * the message was there when the sample ended.
 */
struct run_message {
	uint32_t lane, sample; /* the call; sample RUN_NONE: not known */
	uint32_t event;	       /* enum brick_message_event, never RECEIVED_ANY */
	int32_t peer;	       /* rank; BRICK_MESSAGE_NO_PEER: none */
	int32_t tag;
	uint32_t communicator, number; /* number 0: not known */
	uint32_t is_uncertain;	       /* maybe another message of the same ends: RECEIVED_ANY */
	uint64_t bytes;
};

/* One evaluation by the engine. */
struct run_step {
	uint32_t lane;
	uint32_t sample;	/* index of its sample on that lane */
	uint32_t phase;		/* enum brick_phase */
	uint32_t open;		/* nonzero: it never ended */
	uint32_t number;	/* from 1 in the whole recording, if steps were left out; else 0 */
	uint32_t outcome;	/* enum run_outcome */
	uint64_t tokens;	/* 0 unless RUN_EVALUATED */
	uint64_t output_tokens; /* those of a mixed step's tokens that are no prompt's; else 0 */
	/* evaluated and not in `tokens`: all of a step that drafts, refuted drafts of others */
	uint64_t drafts;
	uint32_t checked;  /* drafts that it checked, held or refuted */
	uint32_t is_draft; /* a step of a model that drafts for another one */
	uint32_t model;	   /* number in its process; RUN_NONE: not known */
	uint32_t reserved;
	uint64_t begin_ns, end_ns;
};

/* A step that was recorded as one piece to limit the cost, and left out of the run. */
struct run_left_step {
	uint32_t lane, phase;
	uint64_t tokens;
	uint64_t begin_ns, end_ns;
	uint64_t preempted_ns;
};

struct run_process {
	uint32_t pid, parent;
	int32_t rank, world;
	char *host, *executable;
	char **command; /* NULL-terminated */
	uint64_t start_ns, end_ns;
	bool closed;	     /* ended in good order */
	uint64_t unanswered; /* at least so many launched commands are not in the recording */
	struct brick_ledger ledger;
	/* Cost of one begin/end pair: an estimate and its bounds; 0: not known. */
	double pair_cost_ns, pair_cost_low_ns, pair_cost_high_ns;
	/* 0 in older recordings. */
	double pair_cost_streamed_ns; /* of a pair after 2 MB of other data */
	double pair_cost_cold_ns;     /* of a pair with nothing in any cache, at most */
	double pair_stream_ns;	      /* the least time in which these 2 MB went through */
	uint32_t clock_source;
	uint32_t mode;
};

enum run_point_kind {
	RUN_POINT_INSTANT = 0,	/* named by its brick */
	RUN_POINT_COUNTER = 1,	/* a new value of the counter that its brick names */
	RUN_POINT_DROPPED = 2,	/* `value` records were lost here */
	RUN_POINT_THREAD = 3,	/* thread `value` owns the lane from here on */
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

/* A moment of the recording as a whole. */
struct run_mark {
	uint64_t ns;
	uint32_t kind; /* enum mark_kind */
	char *text;    /* "": none */
};

/* A counter of energy, such as "rapl package-0". Several may count the same energy. */
struct run_energy_source {
	char *name;
	uint64_t last_ns, last_uj; /* of its last reading */
};

/* A reading of a counter. Each counter's are in the order of time. */
struct run_energy {
	uint64_t ns, uj; /* since its first reading */
	uint32_t source; /* index in run->energy_sources */
};

/*
 * A page fault of a thread, until the kernel had served it. Sorted by lane, then by time; faults of
 * threads without a lane are last.
 */
struct run_fault {
	uint64_t begin_ns, end_ns;
	uint32_t pid, tid;
	uint32_t lane; /* RUN_NONE: the thread had recorded nothing by then */
	uint32_t is_major;
};

/* A CPU: its NUMA node, and its speed, 1024 of the machine's fastest kind. */
struct run_cpu {
	uint32_t cpu, node, capacity;
};

/* Memory that a process had on a NUMA node: pages of files, and of its own. */
struct run_node {
	uint32_t node, pid;
	uint64_t file_bytes, anonymous_bytes;
};

/* How often a thread was seen to run on a CPU. */
struct run_thread_cpu {
	uint32_t pid, tid;
	uint32_t cpu; /* index in run->placed_cpus */
	uint64_t times;
};

/* The digest of one result. In the order in which each process made them. */
struct run_digest {
	uint32_t process, brick;
	int32_t layer;
	uint32_t decode; /* 1: its step decodes, as far as known */
	uint64_t step;	 /* from 1 in its process; 0: in none */
	uint64_t tokens; /* of its step */
	uint64_t ns;
	uint64_t output, inputs[BRICK_DIGEST_INPUTS]; /* numbers of results, 0: not known */
	char *operation, *label;		      /* NULL when unknown */
	struct brick_digest digest;
};

/* A function that was seen in stacks. */
struct run_function {
	char *name;   /* NULL: all functions of `object` whose names are not known */
	char *object; /* path of its file; NULL: there was no known code */
};

/* A function below its caller: stacks that begin alike share their begin. */
struct run_call {
	uint32_t caller; /* index in run->calls, lower than this call's; RUN_NONE: not known */
	uint32_t function;
};

/* A thread whose stacks were taken. */
struct run_stack_thread {
	uint32_t pid, tid;
	char *name; /* NULL: not known */
};

/* The stack of a thread in user space at one moment. Sorted by time. */
struct run_stack {
	uint64_t ns;
	uint32_t call;	 /* the innermost, index in run->calls */
	uint32_t thread; /* index in run->stack_threads */
	uint32_t lane;	 /* of the thread's bricks; RUN_NONE: it had recorded none by then */
	uint32_t reserved;
};

enum { RUN_ENERGY_REFUSED = 256 };

#define RUN_LIVE "live" /* in place of a path: nothing is written */

struct run {
	char *path;
	char *selected;	    /* the part of the recording that is here, in words; NULL: all of it */
	bool is_narrowed;   /* so that other things are left out than steps without bricks */
	uint32_t all_steps; /* steps that ended in the recording, if steps were left out; else 0 */
	bool is_scattered;  /* some left-out steps lie between steps that are here */
	/* The sessions kept statistics and no samples; samples here are of open bricks only. */
	bool has_statistics_only;
	bool is_live;	/* read from sessions' memory (running, or as one held it at its end) */
	char **command; /* NULL-terminated; of the recorder's command line */
	char *host, *cpu, *isa; /* isa: vector instructions of the CPU, as brick_cpu_isa() */
	char *version;		/* of the Brick that recorded it; NULL: not known */
	uint32_t recorder;	/* its process; 0: not known, or none */
	uint64_t start_ns, end_ns, start_unix_ns;
	struct brick_clock clock; /* residual_ns: its largest error seen in the recording */
	uint32_t cpus;		  /* online */
	uint32_t usable_cpus;	  /* 0: not known; ask run_usable_cpus() */
	int32_t exit_code;	  /* -1: not known */
	uint64_t consumer_cpu_ns, program_cpu_ns;
	struct off_cpu_account off_cpu;	    /* whether lanes' off_cpu is known at all */
	struct fault_account fault_account; /* whether `faults` are known at all */
	struct stack_account stack_account; /* stacks taken and lost in the whole recording */
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
	struct run_left_step *left_steps; /* by begin time */
	size_t left_step_count;
	struct run_sequence_event *sequence_events; /* by time */
	size_t sequence_event_count;
	struct run_expert *experts; /* by lane, then by time */
	size_t expert_count;
	struct run_memory *memories; /* by time */
	size_t memory_count;
	struct run_message *messages; /* as the file has them: in the order of a lane's calls */
	size_t message_count;
	struct run_note *notes;
	size_t note_count;
	struct run_mark *marks; /* by time */
	size_t mark_count;
	struct run_energy_source *energy_sources;
	size_t energy_source_count;
	struct run_energy *energies;
	size_t energy_count;
	/* where memory and threads were, on machines with several nodes or kinds of cores */
	struct run_cpu *placed_cpus;
	size_t placed_cpu_count;
	struct run_node *placed_nodes;
	size_t placed_node_count;
	struct run_thread_cpu *placed_threads;
	size_t placed_thread_count;
	struct run_fault *faults;
	size_t fault_count;
	int32_t energy_error; /* why no energy is known: -errno; 0: it is, or nobody tried */
	char energy_refused[RUN_ENERGY_REFUSED]; /* counters that the user may not read; "": none */
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

	/* losses of the file; the ledgers of processes and lanes count those of the program */
	bool complete;		  /* false: never finished: cut off, or its writer was killed */
	uint64_t truncated_bytes; /* behind the last whole packet */
	uint64_t lost_processes;
	uint64_t refused_records; /* of processes that could have no session */
	uint64_t open_samples;
	uint64_t bad_packets;	/* whole packets that could not be used */
	uint64_t truncated_at;	/* offset in the file of the first of truncated_bytes */
	uint64_t bad_packet_at; /* offset in the file of the first bad packet */
	uint64_t bad_records;	/* that broke the rules of their ring: not in the file */
};

/* Find the run's brick, or its category, by name; RUN_NONE if it has none. */
uint32_t run_brick_find(const struct run *run, const char *name);
uint32_t run_category_find(const struct run *run, const char *name);

/* True if recording was switched off at some time between the two. */
bool run_was_off(const struct run *run, uint64_t begin_ns, uint64_t end_ns);

bool run_has_mark(const struct run *run, enum mark_kind kind);

/* Scales the calls of hooks, which are of all executions, to the samples that are here. */
void run_hook_calls_scale(struct run *run);

/* Frees a lane's samples. Nothing in the run may refer to them any more. */
void run_samples_drop(struct run_lane *lane);

/* Forgets statistics of whole lanes: they do not know when and where their samples were. */
void run_statistics_drop(struct run *run);

/* CPUs that the program could run on; 0: not known. */
static inline uint32_t run_usable_cpus(const struct run *run)
{
	return run->usable_cpus ? run->usable_cpus : run->cpus;
}

/*
 * Spilled samples (run_lane.spilled) take memory from when they are read until they are released;
 * they can be read again after that. A loop over many samples calls run_lane_passed() for each of
 * them, so that it holds some megabytes at most.
 */
void run_lane_release(const struct run_lane *lane);
void run_release(const struct run *run); /* of all lanes */

enum { RUN_PASSED_BATCH = 16384 };

/* Use run_lane_passed(). */
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

/* Are these lanes queues of one process's device? And are they one queue of it? */
bool run_is_same_device(const struct run_lane *a, const struct run_lane *b);
bool run_is_same_queue(const struct run_lane *a, const struct run_lane *b);

/* Name of a process's model, from its notes; borrowed from the run. NULL: not known. */
const char *run_model_name(const struct run *run, uint32_t process, uint32_t model);

/* Value of the first note with that key, of any process; borrowed. NULL: there is none. */
const char *run_note_find(const struct run *run, const char *key);

/* Frees a list of texts that ends with NULL, and the texts. list: NULL is legal. */
void run_list_free(char **list);

/* Frees the run's contents. */
void run_fini(struct run *run);
/* Frees the contents and the run; NULL is legal. */
void run_destroy(struct run *run);
SCOPE_OF(run_destroy, struct run)
