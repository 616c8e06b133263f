/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run in the making: who reads a recording (load*.c) or takes records (run_builder.c) says what
 * there is, in the order of its times lane by lane; build_finish() makes a run of it. Equal names,
 * sites and kernels of all processes become one. The first error is kept in `result`; after it
 * nothing more should be added. One thread at a time.
 */
#pragma once

#include "base/hash_index.h"
#include "trace/run.h"
#include "trace/sample_store.h"

enum {
	BUILD_MAX_NAMES = 1 << 16, /* bricks, or categories, of all processes together */
	BUILD_MAX_PROCESSES = 1 << 14,
	BUILD_MAX_LANES = 1 << 14,
	BUILD_MAX_DEPTH = 250,	  /* deeper begins and their ends are bad */
	BUILD_MAX_TEXT = 1 << 16, /* of one name or value; longer ones are cut */
};

/* What a slice's begin or end comes to, apart from its time. */
struct build_slice {
	uint32_t brick, site; /* site RUN_NONE: nothing is known but the brick */
	uint8_t is_end;
	uint8_t source;
	uint8_t bare; /* a wait that, right behind a sample, belongs to it */
	uint8_t step; /* of the engine */
};

/* A lane, until its samples become the run's; its times in ticks, until the clocks are known. */
struct build_lane {
	struct build *build;
	uint32_t number;
	uint64_t now; /* ns: of what is added next; never runs back */

	struct sample_list samples;
	uint32_t depth, too_deep;
	uint32_t stack[BUILD_MAX_DEPTH]; /* samples */
	uint32_t ended;			 /* the sample that ended last, or RUN_NONE */
	int in_wait;			 /* inside of the wait that belongs to it */
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
	uint64_t **histograms; /* by the run's brick */
	size_t histogram_capacity;
	uint64_t pair_cost, pair_cost_low, pair_cost_high;		/* ticks x 256 */
	uint64_t pair_cost_streamed, pair_cost_cold, pair_stream_ticks; /* the last not x 256 */
	uint64_t end_ticks;
	int ended;
};

enum build_link_kind { BUILD_LINK_LAUNCHED, BUILD_LINK_AFTER };

/* What a slice says of a command by its number, until all commands are known. */
struct build_link {
	uint64_t number, order;
	uint32_t lane, sample;
	uint32_t kind; /* enum build_link_kind */
};

struct build_capacity {
	size_t kernels, commands, dependencies, waits, codes, tiles, links;
	size_t categories, bricks, sites, processes, lanes, notes, points, thread_names, steps,
		plain_sites;
	size_t build_processes, build_lanes, digests;
};

struct build {
	struct run *run;
	int result;
	int has_clock;
	uint64_t last_ns;
	uint32_t wait_brick; /* the run's BarrierWait, or RUN_NONE */
	struct build_capacity capacity;
	struct sample_store store;
	struct build_lane **lanes; /* [run->lane_count] */
	struct build_process *processes;
	uint32_t *plain_sites; /* by brick: the site that its last sample without a label had */
	struct hash_index category_index, brick_index, site_index, kernel_index, code_index;
	struct build_link *links;
	size_t link_count;
};

/* One of the lane's, to be changed before anything else is asked for; what has ended, or is open.
 */
static inline struct run_sample *build_sample(struct build_lane *lane, size_t index)
{
	struct sample_list *samples = &lane->samples;

	return __builtin_expect(index >= samples->first, 1)
		       ? &samples->tail[index - samples->first]
		       : sample_list_late(
				 &lane->build->store, samples, index, &lane->build->result);
}

/* build.c: 0 or -ENOMEM. path: copied. */
int build_init(struct build *b, const char *path);
/* Hand the run over, or destroy it after an error; returns that. */
int build_fini(struct build *b, struct run **out);
int build_no_memory(struct build *b); /* returns -ENOMEM */
/* An array has capacity for one more entry of `bytes`; new ones are zeroed. 0: no memory. */
int build_grow(struct build *b, void *array, size_t *capacity, size_t count, size_t bytes);
char *build_text(struct build *b, const char *text, size_t bytes); /* a copy; NULL: failed */
/* The next process, or lane of a process; NULL: failed, or too many. */
struct build_process *build_process(struct build *b);
struct build_lane *build_lane(struct build *b, uint32_t process);
/* "key=value" lines: all of the process's notes. 0: not all of them could be used. */
int build_notes(struct build *b, uint32_t process, const char *text, size_t bytes);
/* Of a brick; NULL: failed. */
struct brick_stat *build_stat(struct build *b, struct build_lane *lane, uint32_t brick);
uint64_t *build_histogram(struct build *b, struct build_process *process, uint32_t brick);
/* Whether it is a whole and possible digest: nobody compares a sketch of zeros. */
int build_digest_possible(const struct brick_digest *digest);
/* Its texts are the run's from here on. 0: failed. */
int build_digest(struct build *b, struct run_digest *digest);

/* build_names.c: the run's index of a name or site, new if need be; RUN_NONE: failed, too many */
uint32_t build_category(struct build *b, const char *name, size_t bytes);
uint32_t build_brick(struct build *b, const char *name, size_t bytes);
uint32_t build_site(struct build *b, const struct run_site *site);
/* The same for sites without texts: most often it is the one that the brick had last. */
uint32_t build_plain_site(struct build *b, const struct run_site *site);
uint32_t build_kernel(struct build *b, const struct run_kernel *kernel);
/* A program's source; its texts are taken. 0: failed. */
int build_code(struct build *b, struct run_code *code);
void build_names_fini(struct build *b);

/* build_slice.c: what happens on a lane at lane->now. 0: it could not be used. */
int build_slice(struct build_lane *lane, const struct build_slice *slice);
int build_can_begin(struct build_lane *lane); /* a begin that cannot goes without its end */
int build_point(struct build_lane *lane, enum run_point_kind kind, uint32_t brick, double value);
int build_thread_name(struct build_lane *lane, uint64_t tid, const char *name, size_t bytes);
void build_seen(struct build_lane *lane); /* something was there at lane->now */
uint32_t build_saturate(uint64_t ns);	  /* as samples hold it */

/* build_command.c: what a sample was, beyond its site */
struct run_command *build_command(struct build_lane *lane, uint32_t sample); /* NULL: failed */
void build_link(
	struct build_lane *lane, uint32_t sample, enum build_link_kind kind, uint64_t number);
/* A time so much before the begin of the sample; 0 when it makes no sense. */
uint64_t build_before(const struct run_sample *sample, uint64_t delta);
void build_tile(struct build_lane *lane, const struct run_tile *tile);

/* build_off_cpu.c: in the order of time, none overlapping another. 0: it could not be used. */
int build_off_cpu(struct build_lane *lane, uint64_t begin_ns, uint64_t end_ns, int preempted);

/* build_links.c: links by number become links by index */
void build_links_finish(struct build *b);

/* build_waits.c: waits lead to what ended last */
void build_waits_finish(struct run *run);

/* The lane's step at that time; steps are in the order of their begins. NULL: there is none. */
struct run_step *build_step_at(struct run *run, uint32_t lane, uint64_t ns);

/* build_drafts.c: which of the steps' tokens are drafts; 0 or -ENOMEM */
int build_drafts_finish(struct run *run);

/* build_finish.c: all has been said */
void build_finish(struct build *b);
