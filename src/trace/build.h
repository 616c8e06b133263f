/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run in the making. The caller adds what a recording holds, each lane in the order of time; then
 * build_finish() makes a run of it and build_fini() hands it over. Equal names, sites and kernels
 * of all processes become one. One thread at a time.
 *
 * Functions that return int return 0 or a negative error. The first error stays in `result`; after
 * it nothing more should be added. Functions that return bool return false for bad input and for
 * errors: `result` tells which. Instead of false, others return NULL or RUN_NONE.
 *
 * A new array of the run goes into struct build_capacity, which BUILD_GROW() uses.
 */
#pragma once

#include <stdbool.h>
#include "base/array.h"
#include "base/hash_index.h"
#include "brick/abi/lane.h"
#include "trace/run.h"
#include "trace/sample_store.h"

enum {
	BUILD_MAX_ENERGY_SOURCES = 256,
	BUILD_MAX_NAMES = 1 << 16, /* bricks, or categories, of all processes together */
	BUILD_MAX_PROCESSES = 1 << 14,
	BUILD_MAX_LANES = 1 << 14,
	BUILD_MAX_DEPTH = 250,	  /* deeper slices are bad; must fit run_sample.depth */
	BUILD_MAX_TEXT = 1 << 16, /* of one name or value; longer ones are cut */
};

/* A slice's begin or end, apart from its time. */
struct build_slice {
	uint32_t brick, site; /* site RUN_NONE: nothing is known but the brick */
	uint8_t source;
	bool is_end;
	bool bare; /* has no annotations: a wait like that belongs to the sample right before it */
	bool step; /* it is a step of the engine */
};

/* A brick's statistics as its lane counted them. */
struct build_stat {
	struct brick_stat own;
	uint64_t cycles_min, cycles_max; /* of single executions; valid if own.counted is not 0 */
};

/*
 * A lane until its samples become the run's. Its statistics and *_ticks are in ticks, because the
 * clocks are not known before build_finish(); all other times are in ns.
 */
struct build_lane {
	struct build *build;
	uint32_t number;
	uint64_t now; /* ns: time of the next addition, set by the caller; never runs back */

	struct sample_list samples;
	uint32_t depth;			 /* of open samples */
	uint32_t too_deep;		 /* begins that were left out and have not ended yet */
	uint32_t stack[BUILD_MAX_DEPTH]; /* the open samples, the outermost first */
	uint32_t ended;			 /* the sample that ended last; RUN_NONE: one began since */
	bool in_wait;			 /* the wait that belongs to `ended` is open ... */
	uint64_t wait_begin;		 /* ... since then */
	uint64_t last_ns;		 /* the latest time at which something was added */
	size_t last_command;		 /* index + 1 in run->commands; 0: none yet */

	size_t off_cpu_capacity;
	struct build_stat *stats; /* [stat_capacity] by the run's brick; NULL: none yet */
	size_t stat_capacity;
	uint64_t start_ticks, end_ticks, hook_ticks;
};

struct build_process {
	struct brick_clock clock;
	struct ticks_lengths **histograms; /* [histogram_capacity] by the run's brick */
	size_t histogram_capacity;
	/* Costs in 1/256 ticks, as in the session; see run_process. */
	uint64_t pair_cost, pair_cost_low, pair_cost_high;
	uint64_t pair_cost_streamed, pair_cost_cold;
	uint64_t pair_stream_ticks; /* in whole ticks */
	uint64_t end_ticks;	    /* valid if `ended` */
	bool ended;
	uint64_t flow_base; /* flow id - flow_base is the number of a command */
};

enum build_link_kind { BUILD_LINK_LAUNCHED, BUILD_LINK_AFTER };

/* A slice's reference to a command by its number, kept until all commands are known. */
struct build_link {
	uint64_t number; /* of the command, in the process of `lane` */
	uint64_t order;	 /* in which links were added: keeps the sorting stable */
	uint32_t lane, sample;
	uint32_t kind; /* enum build_link_kind */
};

/* Capacities of the run's arrays. */
struct build_capacity {
	size_t kernels, commands, dependencies, waits, codes, tiles, digests;
	size_t categories, bricks, sites, processes, lanes, notes, marks, energies, energy_sources,
		faults, placed_cpus, placed_nodes, placed_threads, points, thread_names, steps,
		sequence_events, experts, memories, messages, stacks, stack_threads, functions;
};

struct build {
	struct run *run;
	int result;	     /* 0, or the first error */
	uint64_t format;     /* version of the recording; 0: not known yet */
	bool has_clock;	     /* run->clock was in the recording */
	uint64_t last_ns;    /* the latest end of a process or lane; set by build_finish() */
	uint32_t wait_brick; /* the run's BarrierWait, or RUN_NONE */
	struct build_capacity capacity;
	struct sample_store store;
	ARRAY(struct build_lane *) lanes;      /* as many as the run has */
	ARRAY(struct build_process) processes; /* as many as the run has */
	ARRAY(uint32_t)
	plain_sites; /* by brick: what build_plain_site() returned last; RUN_NONE: nothing yet */
	struct hash_index category_index, brick_index, site_index, kernel_index, code_index;
	ARRAY(struct build_link) links;
};

/* 0 or -ENOMEM; build_fini() in both cases. path: copied. */
int build_init(struct build *b, const char *path);
/* Hands the run over in *out and returns 0, or destroys it and returns b->result. */
int build_fini(struct build *b, struct run **out);

/* Notes that memory ran out; returns -ENOMEM. */
int build_no_memory(struct build *b);
/* Makes room for one more entry of `bytes`, zeroed. array: the address of the pointer. */
int build_grow(struct build *b, void *array, size_t *capacity, size_t count, size_t bytes);
/* The same for an array of the run, such as (b, lanes, lane). */
#define BUILD_GROW(b, list, entry)                                                     \
	build_grow((b), &(b)->run->list, &(b)->capacity.list, (b)->run->entry##_count, \
		sizeof(*(b)->run->list))
/* Append to an ARRAY. */
#define build_push(b, array, ...) (array_push((array), __VA_ARGS__) ? build_no_memory(b) : 0)
/* Returns a copy of at most BUILD_MAX_TEXT bytes, which the caller frees. */
char *build_text(struct build *b, const char *text, size_t bytes);

/*
 * Add a process, or a lane of a process. A pointer to a process is valid until the next process is
 * added, a pointer to a lane until build_fini().
 */
struct build_process *build_process(struct build *b);
struct build_lane *build_lane(struct build *b, uint32_t process);
/* Replaces the process's notes by those of the text, which consists of "key=value" lines. */
bool build_notes(struct build *b, uint32_t process, const char *text, size_t bytes);

bool build_mark(struct build *b, uint64_t ns, uint32_t kind, const char *text, size_t bytes);
/* False: a counter of this name had more, or was read later. */
bool build_energy(struct build *b, uint64_t ns, uint64_t uj, const char *source, size_t bytes);
/* A thread's fault; lanes are known later (load_stacks_finish()). */
bool build_fault(struct build *b, const struct run_fault *fault);
bool build_cpu(struct build *b, const struct run_cpu *cpu);
bool build_node(struct build *b, const struct run_node *node);
/* thread->cpu: the CPU's own number, which build_cpu() has had. */
bool build_thread_cpu(struct build *b, const struct run_thread_cpu *thread);
/* The lane's statistics of a brick, valid until the next call for the lane. */
struct build_stat *build_stat(struct build *b, struct build_lane *lane, uint32_t brick);
/* Makes the process's histogram of a brick empty; valid until the next call for the process. */
struct ticks_lengths **build_histogram(
	struct build *b, struct build_process *process, uint32_t brick);
/* True if the digest's values are finite and its counts are possible. */
bool build_digest_possible(const struct brick_digest *digest);
/* Takes the digest's texts, also on failure. */
bool build_digest(struct build *b, struct run_digest *digest);

/* The run's index of a category, brick or site, added if it is new; texts are copied. */
uint32_t build_category(struct build *b, const char *name, size_t bytes);
uint32_t build_brick(struct build *b, const char *name, size_t bytes);
uint32_t build_site(struct build *b, const struct run_site *site);
/* As build_site(), for sites without texts. It is quick if the brick's last site was the same. */
uint32_t build_plain_site(struct build *b, const struct run_site *site);
uint32_t build_kernel(struct build *b, const struct run_kernel *kernel);
/* Takes the code's texts, also on failure and if its hash is known already. */
bool build_code(struct build *b, struct run_code *code);

/* Adds a slice's begin or end at lane->now. */
bool build_slice(struct build_lane *lane, const struct build_slice *slice);
/* False: a begin is not possible here; its end, and all in between, will be left out, too. */
bool build_can_begin(struct build_lane *lane);
bool build_point(struct build_lane *lane, enum run_point_kind kind, uint32_t brick, double value);
/* Adds a copy of the event at lane->now; build_finish() finds its step. */
bool build_sequence_event(struct build_lane *lane, const struct run_sequence_event *event);
/* Both as build_sequence_event(). */
bool build_expert(struct build_lane *lane, const struct run_expert *expert);
bool build_memory(struct build_lane *lane, const struct run_memory *memory);
/* Of the sample that ended last on the lane. */
bool build_message(struct build_lane *lane, const struct run_message *message);
bool build_thread_name(struct build_lane *lane, uint64_t tid, const char *name, size_t bytes);
/* Extends the lane to lane->now, if it ended before. */
void build_seen(struct build_lane *lane);
/* Adds a time off the CPU; they come in the order of time, and none overlaps another. */
bool build_off_cpu(struct build_lane *lane, uint64_t begin_ns, uint64_t end_ns, bool preempted);

/* One of the lane's samples, ended or open. Valid until the next call for the lane. */
static inline struct run_sample *build_sample(struct build_lane *lane, size_t index)
{
	struct sample_list *samples = &lane->samples;

	return __builtin_expect(index >= samples->first, 1)
		       ? &samples->tail[index - samples->first]
		       : sample_list_late(
				 &lane->build->store, samples, index, &lane->build->result);
}

/* ns as a sample's 32 bits hold it: UINT32_MAX stands for that and more. */
static inline uint32_t build_saturate(uint64_t ns)
{
	return ns > UINT32_MAX ? UINT32_MAX : (uint32_t)ns;
}

/*
 * Details of a sample beyond its site. build_command() returns the sample's command, valid until
 * the next one is added. build_link() says that the sample launched the command `number`, or waited
 * for it; the command may be added later and on any lane of the process. A number of 0 is no
 * command.
 */
struct run_command *build_command(struct build_lane *lane, uint32_t sample);
void build_link(
	struct build_lane *lane, uint32_t sample, enum build_link_kind kind, uint64_t number);
/*
 * The time `delta` ns before the sample's begin. A delta that is negative as int64_t gives a later
 * time. 0: out of range.
 */
uint64_t build_before(const struct run_sample *sample, uint64_t delta);
void build_tile(struct build_lane *lane, const struct run_tile *tile);

/* Called when all was added: makes b->run whole, unless b->result says why not. */
void build_finish(struct build *b);
/*
 * Parts of build_finish(). build_links_finish() resolves links, and sorts commands, tiles and
 * waits; it needs the lanes' final samples. An error is in b->result.
 */
void build_links_finish(struct build *b);
/* Fills in the steps and sorts them; needs the lanes' final samples, too. 0 or -ENOMEM. */
int build_steps_finish(struct run *run);
