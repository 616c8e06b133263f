/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of a thread that runs PyTorch: its open operators, scopes, modules and step. Owner
 * thread. Static TLS of preloaded libraries is short, so large members are on the heap (struct
 * torch_more).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "attach/common/step_parts.h"
#include "attach/common/step_readings.h"
#include "attach/rules/named_sites.h"
#include "attach/torch/torch_inputs.h"
#include "attach/torch/torch_work.h"
#include "base/array.h"
#include "base/hash_index.h"
#include "brick/export.h"
#include "brick/probe.h"

/* A place in a model; never freed. */
struct torch_module {
	const char *path;  /* "layers.3.self_attn.q_proj"; "" is the outermost one */
	const char *class; /* "Linear" */
	uint32_t model;	   /* several models have equal paths: torch_call.number, low digits */
};

/* Lengths of the arrays below; deeper nesting is not recorded. */
enum {
	TORCH_CONTAINERS = 16,
	TORCH_SCOPES = 16,
	TORCH_NESTING = 64,
	TORCH_NUMBERS = 1 << 14,
	TORCH_ASKED = 64
};

/* Kinds of operators, as observers treat them. */
enum torch_kind {
	TORCH_LEAF,	   /* a brick; operators that it calls are a part of it */
	TORCH_CONTAINER,   /* a brick that holds others: it runs code of the program */
	TORCH_TRANSPARENT, /* nothing by itself */
};

/*
 * An operator of a module, known by both addresses, with the work of its executions in a step, in
 * their order. Most steps repeat the step before, so PyTorch need not tell inputs each time.
 */
enum { TORCH_WORKS = 4 };

struct torch_known {
	const struct torch_module *module;
	const char *name; /* PyTorch's text; compared by address, then by letters */
	const struct named_site *site;
	uint8_t kind;	  /* enum torch_kind */
	uint8_t work;	  /* torch_work_kind() */
	uint8_t executed; /* executions so far in `step` */
	const char *type; /* of the site: torch_tensor.type of the first input; NULL: not known */
	uint32_t step;	  /* torch_more.steps */
	struct torch_work works[TORCH_WORKS]; /* by execution in a step */
};

/* Of torch_memory.c. A serial numbers the blocks that the thread has asked for. */
struct torch_memory {
	uint32_t serial;
	uint32_t operator_first; /* the last serial before the open operator */
	uint64_t operator_live;	 /* bytes of blocks since then; peak: at most */
	uint64_t operator_peak;
	uint8_t operator_place;
	bool is_gathering; /* blocks of the forward pass that may be a cache: */
	bool is_full;	   /* of such that are alive */
	uint32_t made_count;
	struct torch_made {
		void *address;
		uint32_t serial;
	} * made;
};

/* The rest of a thread's state, elsewhere. */
struct torch_more {
	struct torch_memory memory;
	ARRAY(struct torch_known) known;
	struct hash_index known_index; /* by module and name's address */
	struct torch_known other;      /* an operator that has no place in the table */
	struct torch_work leaf_work;
	unsigned compiling; /* number of the compilation that is open here; 0: none */
	brick_span compile_span;
	const struct named_site *compilation;
	char compile_id[16];		  /* "0/1": the second compilation of the first function */
	uint32_t steps;			  /* begun, of any kind */
	uint32_t updates, updates_before; /* optimizers' steps: since a step of training began, and
					     in the one before */
	const void *learner;   /* module that was called last to train, in a step of training ... */
	uint32_t lessons;      /* ... and calls of modules without gradients since then */
	uint32_t step_number;  /* torch_call.number of the module that the step began with */
	brick_span serve_step; /* of an engine that says its steps; 0: none is open */
	uint64_t serve_tokens; /* in it */
	bool is_serving;       /* the engine's steps are on this thread */
	bool is_whole;	       /* no module ran before it was recorded */
	struct torch_asked {
		uint64_t tokens;
		uint32_t kind, steps;
	} asked; /* the last step whose operators told inputs; `steps`: steps since then */
	struct torch_asking asking;
	struct step_parts parts;
	struct step_reading reading;	     /* at the begin of the step that is open */
	uint64_t others_ns;		     /* other threads' CPU time by then; 0: not asked */
	uint32_t asked_modules[TORCH_ASKED]; /* by its low digits, torch_call.number + 1 */
	struct torch_length {
		const void *module;
		long long rows, length;
		unsigned grown; /* calls in a row, each one token longer than the one before */
	} lengths[2]; /* of the last input of an outermost module; for models without a cache, and
			 for what guides their answers */
	struct torch_numbers {
		int64_t number;
		const struct torch_module *module;
	} * numbers; /* TORCH_NUMBERS, a ring in rising order; NULL: none yet, or no memory */
	uint64_t number_count; /* ever */
	struct torch_gap {
		uint64_t begin, head;	  /* ticks; 0: none. The lane's records then ... */
		uint32_t open;		  /* ... and its open bricks */
	} python;			  /* since the last operator ended */
	struct torch_function *functions; /* of torch_frames.c; NULL: none yet, or no memory */
};

struct torch_thread {
	uint32_t session; /* of all members below; 0: none */
	uint32_t depth;	  /* nested operators that are open */
	uint32_t leaf;	  /* depth of the open operator that is a brick; 0: none */
	uint32_t container_count, scope_count;
	brick_span leaf_span;
	const struct named_site *leaf_site;
	struct torch_container {
		uint32_t depth;
		brick_span span;
	} * containers; /* [TORCH_CONTAINERS]: open operators of kind TORCH_CONTAINER */
	struct torch_scope {
		const void *function; /* RecordFunction, by which its end is recognised */
		brick_span span;
		const struct named_site *site;
		bool ends_step, loads; /* loads: a data loader makes a batch */
		bool is_late;	       /* its brick has not begun (torch_scope_begin_late()) ... */
		uint32_t open;	       /* ... and the lane's open bricks in front of it */
	} * scopes;		       /* [TORCH_SCOPES] */

	const struct torch_module *module; /* the innermost; &torch_no_module: none */
	uint32_t module_depth;
	uint32_t node;	     /* depth of the outermost open node of autograd; 0: none */
	brick_span backward; /* of the outermost backward() that was called here; 0: none */
	brick_span step;     /* of training; 0: none is open */
	bool saw_backward;   /* since the last forward pass whose tokens the step has */
	bool is_late;	     /* so is the innermost scope */
	uint32_t unseen;     /* modules being called whose begin was not recorded */
	struct torch_more *more;
	void **calling; /* [TORCH_NESTING]: modules being called, the outermost first */
};

/*
 * An optimizer's step outside of a step of training may be step(closure), whose model begins the
 * step that holds it. Its brick begins with its first operator, or else there, so that it is one.
 */
void torch_scope_begin_late(struct torch_thread *t);

/* Bricks that are open on the calling thread's lane. */
uint32_t torch_open_bricks(void);

/*
 * Autograd numbers the operators that a thread runs forward, and a node of backward() has the
 * number of its operator. A module owns the numbers from its first number up to another module's
 * first. Set: the current module owns the numbers from `number` on. Get: the module of a number.
 */
void torch_forward_number(struct torch_thread *t, int64_t number);
const struct torch_module *torch_module_of_number(const struct torch_thread *t, int64_t number);

/* The place outside of all modules, and that of operators which other ones call. */
extern const struct torch_module torch_no_module, torch_inner_module;

extern __thread struct torch_thread torch_thread
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

struct torch_thread *torch_thread_prepare(void);

/* The session that is about to be left: a thread without open bricks begins none; 0: none. Atomic.
 */
extern uint32_t torch_thread_leaving __attribute__((visibility("hidden")));

/*
 * The calling thread's state for the session that records; NULL: nothing is to be recorded here, or
 * there is no memory.
 */
static inline struct torch_thread *torch_thread_get(void)
{
	uint32_t on = __atomic_load_n(&brick__on, __ATOMIC_RELAXED);

	if (BRICK_LIKELY(on && torch_thread.session == on &&
			 !__atomic_load_n(&torch_thread_leaving, __ATOMIC_RELAXED)))
		return &torch_thread;
	return torch_thread_prepare();
}

/* The session that is paused and lives until its bricks have ended; 0: none. Atomic. */
extern uint32_t torch_thread_ending __attribute__((visibility("hidden")));

/* The same for what ends. */
static inline struct torch_thread *torch_thread_get_to_end(void)
{
	uint32_t ending = __atomic_load_n(&torch_thread_ending, __ATOMIC_RELAXED);

	if (BRICK_LIKELY(!ending))
		return torch_thread_get();
	return torch_thread.session == ending ? &torch_thread : NULL;
}

/*
 * Find an operator or scope in a module. Its site is NULL without memory. Valid until
 * the next call on this thread.
 */
struct torch_known *torch_know(
	struct torch_thread *t, const struct torch_module *module, const char *name);

/* Give an operator the site of another type, a constant's address. */
void torch_know_type(struct torch_known *known, const char *type);
