/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds causes of lost time in a recording, each with its cost and the numbers that are its
 * evidence. A rule looks at the facts of one phase and finds something or nothing; a cost is a
 * measured time, or follows from measured times. The last rules find an excess over what is
 * expected (expectation.h), less the costs of findings that are names for it. A finding costs at
 * least a fiftieth of its phase (whole_ns), or exactly 0: then it says what limits the
 * phase, and no advice saves time. The costs of all findings of a phase never add up to more than
 * the phase. Warm-ups have no findings. src/ui/text/words_*.c make sentences of findings. One
 * thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "analysis/accounts/memory_accounts.h"
#include "analysis/explain/expectation.h"

/*
 * The rules: name, id, kind, the parts of the time that its advice saves (enum part in finding.c),
 * and the rules that it replaces. A new rule needs a row here, which makes FINDING_NAME; the
 * function rule_NAME() (rules_*.c); and the words of NAME in src/ui/text/words_*.c. At most
 * 128 rules fit, and ids are part of the JSON: they stay.
 *
 * A LOSS is time that buys nothing. A CHOICE of the user has a price in answers or memory, so it
 * ranks as if it cost a quarter. Where a rule finds something, the rules that it replaces are not
 * shown in the same phase, because they say the same less well.
 */
#define EXPLAIN_RULES(X)                                                                           \
	X(affinity, "affinity", LOSS, STEPS, EXPLAIN_OF_CROWDS | R(oversubscribed) | R(cpu_quota)) \
	X(oversubscribed, "oversubscribed", LOSS, STEPS, EXPLAIN_OF_CROWDS | R(cpu_quota))         \
	X(cpu_quota, "cpu-quota", LOSS, PREEMPTED, EXPLAIN_OF_CROWDS)                              \
	X(preempted_by_others, "preempted-by-others", LOSS, PREEMPTED,                             \
		R(preempted) | R(barrier_waits))                                                   \
	X(preempted, "preempted", LOSS, PREEMPTED, R(barrier_waits))                               \
	X(steal, "steal", LOSS, ALL, R(slow_steps))                                                \
	X(memory_limit, "memory-limit", LOSS, PREEMPTED | BLOCKED | COMPUTE,                       \
		R(cold_pages) | R(page_faults) | R(first_touch) | R(blocked) |                     \
			R(preempted_by_others) | R(preempted) | EXPLAIN_OF_SLOW)                   \
	X(cold_pages, "cold-pages", LOSS, BLOCKED | COMPUTE,                                       \
		R(page_faults) | R(first_touch) | R(blocked) | EXPLAIN_OF_SLOW)                    \
	X(blocked, "blocked", LOSS, BLOCKED, 0)                                                    \
	X(threads_anew, "threads-made-anew", LOSS, THREADS,                                        \
		R(preempted) | R(barrier_waits) | R(slow_thread) | R(blocked) | EXPLAIN_OF_SLOW)   \
	X(slow_thread, "slow-thread", LOSS, BARRIERS, R(barrier_waits))                            \
	X(barrier_waits, "barrier-waits", LOSS, BARRIERS, 0)                                       \
	X(software_device, "software-device", LOSS, DEVICE | LAUNCHES, 0)                          \
	X(ran_on_cpu, "ran-on-cpu", LOSS, COMPUTE, 0)                                              \
	X(copies, "copies-between-backends", LOSS, COPIES, 0)                                      \
	X(device_setup, "device-setup", LOSS, LAUNCHES, R(first_step))                             \
	X(exposed_communication, "exposed-communication", LOSS, EXCHANGE, 0)                       \
	X(pageable_copies, "pageable-copies", LOSS, COPIES, 0)                                     \
	X(copies_exposed, "copies-not-overlapped", LOSS, COPIES, 0)                                \
	X(data_loader, "data-loader", LOSS, DEVICE | WORK, EXPLAIN_OF_SLOW)                        \
	X(compilation, "compilation-in-steps", LOSS, DEVICE | GRAPHS,                              \
		R(device_setup) | EXPLAIN_OF_SLOW)                                                 \
	X(host_alone, "host-alone", LOSS, DEVICE | WORK, R(host_works) | EXPLAIN_OF_SLOW)          \
	X(allocation, "allocation-in-steps", LOSS, DEVICE, 0)                                      \
	X(hidden_sync, "hidden-sync", LOSS, DEVICE, 0)                                             \
	X(graphs_unused, "graphs-unused", LOSS, DEVICE | NO_BRICK, R(launch_bound))                \
	X(kernels_apart, "kernels-not-fused", LOSS, REST, 0)                                       \
	X(attention_apart, "attention-not-fused", LOSS, ATTENTION, 0)                              \
	X(products_single, "products-in-f32", LOSS, WEIGHTS, 0)                                    \
	X(optimizer_apart, "optimizer-not-fused", LOSS, REST | DEVICE,                             \
		R(graphs_unused) | R(launch_bound))                                                \
	X(padding, "padding", LOSS, COMPUTE, 0)                                                    \
	X(streams_unbalanced, "streams-unbalanced", LOSS, EXCHANGE, 0)                             \
	X(tensor_copies, "tensor-copies", LOSS, REST, 0)                                           \
	X(launch_bound, "launch-bound", LOSS, DEVICE | NO_BRICK, 0)                                \
	X(host_pauses, "host-pauses", LOSS, PAUSES, 0)                                             \
	X(host_works, "host-works", LOSS, WORK, 0)                                                 \
	X(sampling, "slow-sampling", LOSS, SAMPLING, 0)                                            \
	X(prompt_repeated, "prompt-repeated", LOSS, STEPS, 0)                                      \
	X(mixed, "prefill-in-decode", LOSS, STEPS, 0)                                              \
	X(drafts, "drafts-rejected", LOSS, COMPUTE, 0)                                             \
	X(all_logits, "all-logits", LOSS, LOGITS | COPIES, R(vocabulary))                          \
	X(small_batches, "small-batches", LOSS, COMPUTE | GRAPHS, R(graph_rebuilt))                \
	X(small_ubatch, "small-ubatch", LOSS, COMPUTE | GRAPHS, R(graph_rebuilt))                  \
	X(sequences_apart, "sequences-apart", LOSS, COMPUTE | GRAPHS, R(graph_rebuilt))            \
	X(graph_watched, "graph-watched", LOSS, GRAPHS, R(graph_rebuilt))                          \
	X(graph_rebuilt, "graph-rebuilt", LOSS, GRAPHS, 0)                                         \
	X(state_copied, "state-copied", LOSS, COPIES, 0)                                           \
	X(lesser_build, "lesser-cpu-build", LOSS, WEIGHTS | LOGITS | ATTENTION,                    \
		R(large_weights) | R(vocabulary))                                                  \
	X(kv_type, "kv-type", LOSS, ATTENTION, R(long_context) | R(context_growth))                \
	X(no_flash_attention, "no-flash-attention", LOSS, ATTENTION, 0)                            \
	X(long_context, "long-context", CHOICE, ATTENTION, R(context_growth))                      \
	X(context_growth, "context-growth", CHOICE, ATTENTION, 0)                                  \
	X(vocabulary, "large-vocabulary", CHOICE, LOGITS | COPIES, 0)                              \
	X(large_weights, "large-weights", CHOICE, WEIGHTS | LOGITS, R(at_memory_roof))             \
	X(first_step, "slow-first-step", LOSS, FIRST, 0)                                           \
	X(slow_steps, "slow-steps", LOSS, SLOWEST, 0)                                              \
	X(at_memory_roof, "at-memory-roof", LOSS, NONE, 0)                                         \
	X(memory_growth, "memory-growth", LOSS, NONE, 0)                                           \
	X(unattributed, "in-no-brick", LOSS, NO_BRICK, 0)                                          \
	X(adapter, "adapter-apart", LOSS, ADAPTER, 0)                                              \
	X(cache_moved, "cache-moved", LOSS, CACHE, R(small_ubatch))                                \
	X(page_faults, "page-faults", LOSS, FAULTS, 0)                                             \
	X(fewer_threads, "fewer-threads", LOSS, COMPUTE, 0)                                        \
	X(turns, "threads-in-turns", LOSS, PAUSES, R(host_pauses))                                 \
	X(graph_breaks, "graph-breaks", LOSS, NO_BRICK, 0)                                         \
	X(recomputation, "recomputation", CHOICE, COMPUTE, 0)                                      \
	X(element_reads, "element-reads", LOSS, REST | NO_BRICK, 0)                                \
	X(doubles, "computes-in-float64", CHOICE, COMPUTE, 0)                                      \
	X(halves, "half-without-instructions", LOSS, WEIGHTS | LOGITS, 0)                          \
	X(interpreter_lock, "interpreter-lock", LOSS, BLOCKED | PAUSES,                            \
		R(blocked) | R(host_pauses))                                                       \
	X(late_rank, "late-rank", LOSS, EXCHANGE | BLOCKED, R(blocked))                            \
	X(first_touch, "first-touch", LOSS, FAULTS, 0)                                             \
	X(load_reads, "load-by-reads", LOSS, NONE, 0)                                              \
	X(load_faults, "load-by-faults", LOSS, NONE, 0)                                            \
	X(far_memory, "far-memory", LOSS, NONE, 0)                                                 \
	X(threads_over_nodes, "threads-over-nodes", LOSS, NONE, 0)                                 \
	X(slow_cores, "slow-cores", LOSS, NONE, 0)                                                 \
	X(excess_repeats, "excess", LOSS, HELD_UP, 0)                                              \
	X(excess_work, "excess", LOSS, WEIGHTS, 0)                                                 \
	X(excess_passes, "excess", LOSS, REST, 0)                                                  \
	X(excess_machine, "excess", LOSS, WEIGHTS | LOGITS, R(excess_work))                        \
	X(excess_history, "excess", LOSS, COMPUTE,                                                 \
		R(excess_work) | R(excess_passes) | R(excess_machine))                             \
	X(excess_next, "excess", LOSS, NEXT, 0)

/*
 * The rules whose findings are names for an excess of each source of expectations: they explain the
 * same time, so their costs are taken out of the excess.
 */
#define EXPLAIN_NAMES_OF_REPEATS (EXPLAIN_NAMES_OF_ALL | EXPLAIN_NAMES_OF_TIMES)
#define EXPLAIN_NAMES_OF_TIMES \
	(R(slow_thread) | R(barrier_waits) | R(threads_anew) | EXPLAIN_OF_SLOW)
#define EXPLAIN_NAMES_OF_WORK (EXPLAIN_NAMES_OF_ALL | R(adapter) | R(vocabulary))
#define EXPLAIN_NAMES_OF_PASSES (EXPLAIN_NAMES_OF_ALL | R(cache_moved) | R(kv_type))
#define EXPLAIN_NAMES_OF_MACHINE (EXPLAIN_NAMES_OF_ALL | R(lesser_build))
/* Findings that change a setting which was there in earlier recordings, too, are no names. */
#define EXPLAIN_NAMES_OF_HISTORY                                                            \
	(EXPLAIN_NAMES_OF_CHANGES | EXPLAIN_NAMES_OF_TIMES | R(lesser_build) | R(adapter) | \
		R(cache_moved) | R(drafts) | R(prompt_repeated) | R(graph_rebuilt) |        \
		R(graph_watched) | R(state_copied) | R(sampling) | R(fewer_threads) |       \
		R(small_ubatch) | R(small_batches) | R(sequences_apart) | R(all_logits) |   \
		R(no_flash_attention) | R(kv_type))
#define EXPLAIN_NAMES_OF_ALL \
	(EXPLAIN_NAMES_OF_CHANGES | R(data_loader) | R(recomputation) | R(interpreter_lock))
#define EXPLAIN_NAMES_OF_CHANGES                                                              \
	(R(page_faults) | R(first_touch) | R(compilation) | R(affinity) | R(oversubscribed) | \
		R(steal) | R(memory_limit) | R(cold_pages))

/* Rules for effects that a lack of CPUs has, too. */
#define EXPLAIN_OF_CROWDS                                                                         \
	(R(preempted_by_others) | R(preempted) | R(barrier_waits) | R(slow_thread) | R(blocked) | \
		EXPLAIN_OF_SLOW)
#define EXPLAIN_OF_CPUS                                                                  \
	(EXPLAIN_OF_CROWDS | R(affinity) | R(oversubscribed) | R(cpu_quota) | R(steal) | \
		R(memory_limit) | R(threads_anew) | R(fewer_threads) | R(page_faults) |  \
		R(first_touch))
/* Rules that only say that some steps are slow, and not why. */
#define EXPLAIN_OF_SLOW (R(first_step) | R(slow_steps))

enum finding_rule {
#define EXPLAIN_NUMBER(name, ...) FINDING_##name,
	EXPLAIN_RULES(EXPLAIN_NUMBER)
#undef EXPLAIN_NUMBER
		FINDING_RULES
};

enum finding_kind { FINDING_LOSS, FINDING_CHOICE };

enum finding_certainty {
	FINDING_MEASURED, /* the cost itself was measured */
	FINDING_LIKELY,	  /* the cause or the cost follows from measured times */
};

/*
 * The evidence: the member of a finding's rule is valid. A member that serves other rules names
 * them. Rows and names are borrowed from the facts and the run.
 */
union finding_evidence {
	struct {
		size_t threads;	 /* of the team */
		uint32_t cpus;	 /* that the program may use */
		uint32_t online; /* CPUs of the machine */
		uint32_t left;	 /* that the team could use, as other programs leave them */
	} crowd;		 /* of affinity and oversubscribed */
	struct {
		const struct summary_row *most; /* the brick that slept most */
		const struct summary_row *next; /* with a tenth of all sleep or more; or NULL */
		bool is_everywhere;		/* `most` has less than half of the sleep */
		uint64_t all_ns;		/* of all bricks, on all threads */
		uint64_t times;			/* that threads which run steps blocked */
	} blocked;
	struct {
		uint64_t bytes;	    /* read from disk in the phase's steps */
		uint64_t faults;    /* major page faults of the whole run */
		uint64_t slept_ns;  /* threads waited for the disk */
		uint64_t kernel_ns; /* the kernel worked for the pages */
		bool is_few;	    /* they came once, and are no cost of each token */
	} cold_pages;		    /* and of memory_limit */
	struct {
		uint64_t faults, steps; /* in so many steps */
		uint64_t kernel_ns;	/* of all threads */
		uint32_t brick; /* that takes longer than in earlier recordings; or RUN_NONE */
	} page_faults;
	struct {
		size_t threads;
		/*
		 * By all threads together: on the CPU in bricks or in none, and in waits while no
		 * thread of the team was off its CPU, but for the longest wait of each.
		 */
		uint64_t work_ns, waited_ns;
		uint64_t fewer_ns; /* that one thread less would need without waiting */
		const struct summary_row *most; /* the brick behind which they waited longest */
	} barrier_waits;
	struct {
		uint64_t tid;
		size_t threads;	    /* of the team */
		uint64_t waited_ns; /* by this thread */
		uint64_t others_ns; /* by each other thread of the team, on average */
	} slow_thread;
	struct {
		uint64_t start_ns, join_ns; /* beginning threads, and waiting for their end */
		uint64_t preempted_ns;
		uint64_t made; /* threads that took over a lane in the phase's steps */
	} threads_anew;
	struct {
		const char *device;
		uint64_t busy_ns;
	} software_device;
	struct {
		const struct summary_row *most;
		uint64_t executions;
	} ran_on_cpu;
	struct {
		uint64_t between_ns; /* copying between backends */
		uint64_t in_ns;	     /* copying inputs to the device */
		uint64_t out_ns;     /* copying results from the device */
		uint64_t transfers, bytes;
	} copies;
	struct {
		uint64_t executions, longest_ns; /* launches of a millisecond and more */
	} device_setup;
	struct {
		uint64_t record_ns; /* the host recorded commands */
	} launch_bound;
	struct {
		uint64_t tokens; /* evaluated though they had been evaluated before */
		uint64_t steps;	 /* of which at least half the tokens were such */
	} prompt_repeated;
	struct {
		uint64_t calls;
	} sampling;
	struct {
		uint64_t prompt_tokens, output_tokens, steps;
	} mixed;
	struct {
		uint64_t checked, held;
		uint64_t draft_ns;   /* of the model that drafts */
		uint64_t refuted_ns; /* of checking drafts that did not hold */
		uint64_t saved_ns;   /* by drafts that held */
	} drafts;
	struct {
		double rows; /* of logits, in each evaluation */
		uint64_t copy_ns;
	} all_logits;
	struct {
		double batch;	  /* tokens of an evaluation, on average */
		double sequences; /* of sequences_apart */
		struct explain_batching model;
		/* of pieces: all evaluations as they were, and with 512 tokens in each */
		uint64_t took_ns, would_ns;
	} batches; /* of small_batches, small_ubatch and sequences_apart */
	struct {
		/* median time of attention in a step, in the first and in the last eighth of the
		 * steps */
		uint64_t first_ns, last_ns;
	} context_growth;
	struct {
		uint64_t attention_ns;
		double bytes; /* of a value in the cache */
	} attention;	      /* of long_context, kv_type and no_flash_attention */
	struct {
		uint32_t step;	    /* index in the run: the first one, or the slowest one */
		uint64_t count;	    /* slow steps; 0 for first_step */
		uint64_t took_ns;   /* by `step` */
		uint64_t median_ns; /* of the phase's steps; of first_step: of the others */
		const char *more;   /* where most of the additional time of `step` went */
		uint64_t more_ns;
	} first_step, slow_steps;
	struct {
		uint64_t build_ns, alloc_ns, plan_ns;
	} graph_rebuilt;
	struct {
		uint64_t parts; /* of the graph of one step */
	} graph_watched;
	struct {
		uint64_t copies;
	} state_copied;
	struct {
		uint64_t executions;
		double flops_share; /* of the FLOPs of all products; negative: not known */
	} adapter;
	struct {
		const struct summary_row *most; /* the brick that moves it */
		uint64_t graphs, most_ns;
	} cache_moved;
	struct {
		size_t threads, others; /* of this phase, and of the one with the largest team */
		enum step_phase phase;	/* that one */
	} fewer_threads;
	struct {
		const char *library, *better; /* builds, as the engine names them: "haswell" */
		uint64_t products_ns;	      /* of products with weights, and of attention */
	} lesser_build;
	struct {
		uint64_t ns, copy_ns;
	} vocabulary;
	struct {
		const struct roofline_row *most;
		double share;	 /* of the phase's wall time, of all rows at the roof */
		double distance; /* of these rows from their roof, 0 to 1 */
		size_t rows;
	} roof; /* of at_memory_roof */
	struct {
		double seen; /* part of the steps in which switches were recorded */
	} interpreter_lock;
	const struct rank_row *late_rank;
	struct {
		uint64_t faults; /* of threads that run the phase's steps */
		uint64_t off_ns; /* within them, without a CPU: not in the cost */
		uint32_t brick;	 /* with most of their time; RUN_NONE: in none */
	} first_touch;
	struct {
		uint64_t start_up_ns, ns; /* before the first step, and this part of it */
		uint64_t bytes, faults;	  /* from disks; by the system's count */
		uint64_t lock_ns;	  /* of ns, for mlock() */
	} loading;			  /* of load_reads and load_faults */
	struct memory_growth memory_growth;
	struct excess excess; /* of all rules excess_* */
};

struct finding {
	enum finding_rule rule;
	enum step_phase phase;
	enum finding_certainty certainty;
	uint64_t cost_ns; /* that the advice should save in all steps of the phase; 0: nothing */
	/*
	 * The time that it costs a share of: the phase's, without the time for which threads on the
	 * critical path had no CPU. Rules for effects that a lack of CPUs has, too, have all of it.
	 */
	uint64_t whole_ns;
	/*
	 * Number (from 1, in findings.list) of the first finding of the phase that saves time of
	 * the same parts, even if that one overlaps another itself; 0: none does.
	 */
	size_t overlaps;
	/* The phase's time, less the costs of the findings up to this one that overlap none. */
	uint64_t left_ns;
	union finding_evidence of;
};

enum { FINDING_LEAST_PART = 50 }; /* a finding costs at least 1/50 of its phase */
enum { EXCESS_PART = 20 }; /* an excess costs at least 1/20 of its phase, without its names */

static inline double finding_share(const struct finding *finding)
{
	double share = explain_share(finding->cost_ns, finding->whole_ns);

	return share < 1 ? share : 1;
}

/* True if the cost is at least a share of 1 / `parts`. False for a cost of 0. */
static inline bool finding_costs(const struct finding *finding, uint64_t parts)
{
	return finding->cost_ns && finding->cost_ns >= finding->whole_ns / parts;
}

/* The same of an excess, whose phase has `wall_ns`. */
static inline bool finding_excess_costs(const struct finding *finding, uint64_t wall_ns)
{
	return finding->cost_ns && finding->cost_ns >= wall_ns / EXCESS_PART;
}

/*
 * True: found. The caller has zeroed *out and set its rule, phase and whole_ns; the rule fills in
 * the rest. On false *out may be half filled in.
 */
#define EXPLAIN_DECLARE(name, ...) \
	bool rule_##name(          \
		const struct explain_facts *facts, enum step_phase phase, struct finding *out);
EXPLAIN_RULES(EXPLAIN_DECLARE)
#undef EXPLAIN_DECLARE

struct findings {
	struct finding *list; /* the costliest first; a CHOICE as if it cost a quarter */
	size_t count;
	/* By phase: the costs of findings that overlap none, added up; at most the phase's time. */
	uint64_t explained_ns[STEP_PHASES];
};

/* -ENOMEM; *findings is then empty. */
int findings_init(struct findings *findings, const struct explain_facts *facts);
void findings_fini(struct findings *findings);

/*
 * The time in which a GPU waited because the host launched its commands too slowly, and nothing
 * else held the host up; 0: less than a tenth of the time.
 */
uint64_t explain_late_ns(const struct explain_gpu *gpu);

/* The id of a rule: "cpu-quota". */
const char *finding_rule_id(enum finding_rule rule);
enum finding_kind finding_rule_kind(enum finding_rule rule);
const char *finding_certainty_name(enum finding_certainty certainty);

/*
 * The row of a report whose time the finding is about: a brick's name, "gap" (between steps),
 * "wait" (barriers), "preempted", "blocked" or "unattributed"; NULL: no single row. Borrowed from
 * the facts.
 */
const char *finding_row(const struct explain_facts *facts, const struct finding *finding);

/* The tokens over which a phase's costs are spread; of mixed steps only their output tokens. */
uint64_t explain_tokens(const struct explain_facts *facts, enum step_phase phase);
/* The cost divided by explain_tokens(); negative: there are no tokens. */
double finding_cost_per_token_ns(const struct explain_facts *facts, const struct finding *finding);
