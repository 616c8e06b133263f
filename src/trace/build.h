/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run in the making. The caller says what there is, lane by lane in the order of time;
 * build_finish() makes a run of it. Equal names, sites and kernels of all processes become one. One
 * thread at a time.
 *
 * An int is 0 or a negative error, which is kept in `result`, too; the first one stays there, and
 * nothing more should be added after it. A bool says whether what was said could be used: false is
 * bad input, or an error. A pointer is NULL, and an index RUN_NONE, in the same cases.
 */
#pragma once

#include <stdbool.h>
#include "base/array.h"
#include "base/hash_index.h"
#include "brick/abi/lane.h"
#include "trace/run.h"
#include "trace/sample_store.h"

enum {
	BUILD_MAX_NAMES = 1 << 16, /* bricks, or categories, of all processes together */
	BUILD_MAX_PROCESSES = 1 << 14,
	BUILD_MAX_LANES = 1 << 14,
	BUILD_MAX_DEPTH = 250,	  /* deeper begins and their ends are bad */
	BUILD_MAX_TEXT = 1 << 16, /* of one name or value; longer ones are cut */
};

/* A slice's begin or end, apart from its time. */
struct build_slice {
	uint32_t brick, site; /* site RUN_NONE: nothing is known but the brick */
	uint8_t source;
	bool is_end;
	bool bare; /* a wait that, right behind a sample, belongs to it */
	bool step; /* of the engine */
};

/* A lane, until its samples become the run's; its times in ticks, until the clocks are known. */
struct build_lane {
	struct build *build;
	uint32_t number;
	uint64_t now; /* ns: of the next addition; never runs back */

	struct sample_list samples;
	uint32_t depth, too_deep;
	uint32_t stack[BUILD_MAX_DEPTH]; /* samples */
	uint32_t ended;			 /* the sample that ended last, or RUN_NONE */
	bool in_wait;			 /* inside of the wait that belongs to it */
	uint64_t wait_begin;
	uint64_t last_ns;
	size_t last_command; /* index + 1; 0: none yet */

	size_t off_cpu_capacity;
	struct brick_stat *stats; /* by the run's brick */
	size_t stat_capacity;
	uint64_t start_ticks, end_ticks, hook_ticks;
};

struct build_process {
	struct brick_clock clock;
	struct ticks_lengths **histograms; /* by the run's brick */
	size_t histogram_capacity;
	uint64_t pair_cost, pair_cost_low, pair_cost_high;		/* ticks x 256 */
	uint64_t pair_cost_streamed, pair_cost_cold, pair_stream_ticks; /* the last not x 256 */
	uint64_t end_ticks;
	bool ended;
	uint64_t flow_base; /* a flow's id less this is the number of a command */
};

enum build_link_kind { BUILD_LINK_LAUNCHED, BUILD_LINK_AFTER };

/* A slice's reference to a command by its number, until all commands are known. */
struct build_link {
	uint64_t number, order;
	uint32_t lane, sample;
	uint32_t kind; /* enum build_link_kind */
};

/* Capacities of the run's arrays. */
struct build_capacity {
	size_t kernels, commands, dependencies, waits, codes, tiles, digests;
	size_t categories, bricks, sites, processes, lanes, notes, points, thread_names, steps,
		sequence_events, experts, stacks, stack_threads, functions;
};

struct build {
	struct run *run;
	int result;
	uint64_t format; /* of the recording; 0: it did not say, yet */
	bool has_clock;
	uint64_t last_ns;
	uint32_t wait_brick; /* the run's BarrierWait, or RUN_NONE */
	struct build_capacity capacity;
	struct sample_store store;
	ARRAY(struct build_lane *) lanes;      /* as many as the run has */
	ARRAY(struct build_process) processes; /* as many as the run has */
	ARRAY(uint32_t)
	plain_sites; /* by brick: the site that its last sample without a label had */
	struct hash_index category_index, brick_index, site_index, kernel_index, code_index;
	ARRAY(struct build_link) links;
};

/* 0 or -ENOMEM; either way there is something to fini. path: copied. */
int build_init(struct build *b, const char *path);
/* Hand the run over, or destroy it after an error; returns that. */
int build_fini(struct build *b, struct run **out);

int build_no_memory(struct build *b); /* returns -ENOMEM */
/* Makes room for one more entry of `bytes` in an array; new ones are zeroed. */
int build_grow(struct build *b, void *array, size_t *capacity, size_t count, size_t bytes);
/* The same for an array of the run, such as (b, lanes, lane). */
#define BUILD_GROW(b, list, entry)                                                     \
	build_grow((b), &(b)->run->list, &(b)->capacity.list, (b)->run->entry##_count, \
		sizeof(*(b)->run->list))
/* Append to an ARRAY. */
#define build_push(b, array, ...) (array_push((array), __VA_ARGS__) ? build_no_memory(b) : 0)
char *build_text(struct build *b, const char *text, size_t bytes); /* a copy */

/* The next process, or the next lane of a process. */
struct build_process *build_process(struct build *b);
struct build_lane *build_lane(struct build *b, uint32_t process);
/* "key=value" lines: all of the process's notes. */
bool build_notes(struct build *b, uint32_t process, const char *text, size_t bytes);
struct brick_stat *build_stat(struct build *b, struct build_lane *lane, uint32_t brick);
/* Makes an empty one, in place of the former. */
struct ticks_lengths **build_histogram(
	struct build *b, struct build_process *process, uint32_t brick);
/* True if the digest is whole and possible: nobody compares a sketch of zeros. */
bool build_digest_possible(const struct brick_digest *digest);
/* Its texts are the run's from here on. */
bool build_digest(struct build *b, struct run_digest *digest);

/* The run's index of a name or site, new if need be. */
uint32_t build_category(struct build *b, const char *name, size_t bytes);
uint32_t build_brick(struct build *b, const char *name, size_t bytes);
uint32_t build_site(struct build *b, const struct run_site *site);
/* The same for sites without texts: most often it is the one that the brick had last. */
uint32_t build_plain_site(struct build *b, const struct run_site *site);
uint32_t build_kernel(struct build *b, const struct run_kernel *kernel);
/* A program's source; its texts are the run's from here on. */
bool build_code(struct build *b, struct run_code *code);

/* Adds a slice's begin or end at lane->now. */
bool build_slice(struct build_lane *lane, const struct build_slice *slice);
bool build_can_begin(struct build_lane *lane); /* a begin that cannot goes without its end */
bool build_point(struct build_lane *lane, enum run_point_kind kind, uint32_t brick, double value);
/* Its lane, time and step are filled in. */
bool build_sequence_event(struct build_lane *lane, const struct run_sequence_event *event);
bool build_expert(struct build_lane *lane, const struct run_expert *expert); /* the same */
bool build_thread_name(struct build_lane *lane, uint64_t tid, const char *name, size_t bytes);
void build_seen(struct build_lane *lane); /* something was there at lane->now */
/* Adds a time off the CPU; they come in the order of time, and none overlaps another. */
bool build_off_cpu(struct build_lane *lane, uint64_t begin_ns, uint64_t end_ns, bool preempted);

/* One of the lane's samples, ended or open, to be changed before anything else is asked for. */
static inline struct run_sample *build_sample(struct build_lane *lane, size_t index)
{
	struct sample_list *samples = &lane->samples;

	return __builtin_expect(index >= samples->first, 1)
		       ? &samples->tail[index - samples->first]
		       : sample_list_late(
				 &lane->build->store, samples, index, &lane->build->result);
}

/* A time as samples hold it. */
static inline uint32_t build_saturate(uint64_t ns)
{
	return ns > UINT32_MAX ? UINT32_MAX : (uint32_t)ns;
}

/*
 * Details of a sample beyond its site: a command of a queue, a tile. Slices name commands by their
 * numbers, which may stand on any lane and in any order; links are kept until all commands are
 * known.
 */
struct run_command *build_command(struct build_lane *lane, uint32_t sample);
void build_link(
	struct build_lane *lane, uint32_t sample, enum build_link_kind kind, uint64_t number);
/* A time so much before the begin of the sample; 0 when it makes no sense. */
uint64_t build_before(const struct run_sample *sample, uint64_t delta);
void build_tile(struct build_lane *lane, const struct run_tile *tile);

/* Everything has been said: b->run becomes a whole run, unless b->result says why not. */
void build_finish(struct build *b);
/* Its links between samples and commands, once the samples are the run's; an error is b->result. */
void build_links_finish(struct build *b);
/* Fills in the steps, once the times of their samples are known. 0 or -ENOMEM. */
int build_steps_finish(struct run *run);
