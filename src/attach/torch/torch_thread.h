/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of a thread that runs PyTorch: its open operators, scopes, modules and step. The
 * owner's thread only.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "attach/common/step_parts.h"
#include "attach/rules/named_sites.h"
#include "attach/torch/torch_work.h"
#include "brick/export.h"
#include "brick/probe.h"

/* A place in a model, as long as the process lives. */
struct torch_module {
	const char *path;  /* "layers.3.self_attn.q_proj"; "" is the outermost one */
	const char *class; /* "Linear" */
};

enum { TORCH_CONTAINERS = 16, TORCH_SCOPES = 16, TORCH_NESTING = 64, TORCH_NUMBERS = 1 << 14 };

/* Kinds of operators, as observers treat them. */
enum torch_kind {
	TORCH_LEAF,	   /* a brick; operators that it calls are a part of it */
	TORCH_CONTAINER,   /* a brick that holds others: it runs code of the program */
	TORCH_TRANSPARENT, /* nothing by itself */
};

/*
 * An operator of a module, by both addresses, and what its executions of a step did, in their
 * order: most steps do what the one before did, and PyTorch need not tell inputs each time.
 */
enum { TORCH_WORKS = 4 };

struct torch_known {
	const struct torch_module *module;
	const char *name; /* of PyTorch; compared by its letters, too */
	const struct named_site *site;
	uint8_t kind; /* enum torch_kind */
	uint8_t work; /* torch_work_kind() */
	uint8_t executed;
	uint32_t step; /* that `executed` counts for */
	struct torch_work works[TORCH_WORKS];
};

/* The rest of a thread's state, elsewhere. */
struct torch_more {
	struct torch_known other; /* an operator that has no place in the table */
	struct torch_work leaf_work;
	unsigned compiling; /* number of the compilation that is open here; 0: none */
	brick_span compile_span;
	const struct named_site *compilation;
	uint32_t steps; /* begun, of any kind */
	struct torch_asked {
		uint64_t tokens;
		uint32_t kind, steps;
	} asked; /* the last step whose operators told inputs, and how many came behind it */
	struct torch_length {
		const void *module;
		long long rows, length;
	} length; /* of the last input of an outermost module without a cache */
	struct torch_numbers {
		int64_t number;
		const struct torch_module *module;
	} * numbers; /* TORCH_NUMBERS, a ring in rising order; NULL: none yet, or no memory */
	uint64_t number_count; /* ever */
};

/* Static TLS of libraries that are preloaded is short: what is large is elsewhere. */
struct torch_thread {
	uint32_t session; /* all below belongs to it */
	uint32_t depth;	  /* operators that are open, each in the one before */
	uint32_t leaf;	  /* depth of the one that is a brick; 0: none */
	uint32_t container_count, scope_count;
	brick_span leaf_span;
	const struct named_site *leaf_site;
	struct torch_container {
		uint32_t depth;
		brick_span span;
	} * containers; /* TORCH_CONTAINERS: operators that run others which are bricks */
	struct torch_scope {
		const void *function; /* its end is known by this */
		brick_span span;
		bool ends_step;
	} * scopes; /* TORCH_SCOPES */

	const struct torch_module *module; /* the innermost, or no_module */
	uint32_t module_depth;
	const char *backward; /* frame of the outermost backward(); NULL: none */
	brick_span step;      /* of training; 0: none is open */
	bool saw_backward;    /* since it began */
	struct step_parts parts;
	struct torch_known *known;
	struct torch_more *more;
	void **calling; /* TORCH_NESTING: modules being called, the outermost first */
};

/*
 * Autograd numbers what a thread does forward, and a node of backward() has the number of what made
 * it: a module owns the numbers from its place's first until another one's.
 */
void torch_forward_number(struct torch_thread *t, int64_t number);
const struct torch_module *torch_module_of_number(const struct torch_thread *t, int64_t number);

/* The place outside of all modules. */
extern const struct torch_module torch_no_module;

extern __thread struct torch_thread torch_thread
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

struct torch_thread *torch_thread_prepare(void);

/* The calling thread's, belonging to the session that records; NULL while none does. */
static inline struct torch_thread *torch_thread_get(void)
{
	uint32_t on = __atomic_load_n(&brick__on, __ATOMIC_RELAXED);

	if (BRICK_LIKELY(on && torch_thread.session == on))
		return &torch_thread;
	return torch_thread_prepare();
}

/* An operator or scope in the innermost module; its site is NULL without memory. Until the next. */
struct torch_known *torch_know(struct torch_thread *t, const char *name);
