/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Timing a brick. Begin and end are a branch when profiling is off, and two clock readings, an
 * indexed update and one 32-byte store when it is on: no lock, allocation, system call, division
 * or format. Any thread, each for itself; not from signal handlers. Three cases take longer: a
 * thread's first brick in a session; in a session without rings the first of a name that was
 * registered after that, so register names at the start; and, in a recorded process, the end of a
 * brick that fills the first 64 kB of its thread's ring before the recorder has seen the thread.
 */
#ifndef BRICK_PROBE_H
#define BRICK_PROBE_H

#include <stdint.h>
#include "brick/export.h"
#include "brick/recorded.h"
#include "brick/registry.h"
#include "brick/abi/session.h"

BRICK_BEGIN_DECLS

/*
 * An open brick, valid on its thread until its end; it holds session, lane and depth. 0: nothing
 * was begun (recording is off, or bricks are nested too deep). All ends accept 0.
 */
typedef uint32_t brick_span;

/* 0 while no session records. Read it through brick_enabled(). */
BRICK_API extern uint32_t brick__on;

/*
 * A program that defines BRICK_INLINE before it includes this compiles the fast half of
 * brick_begin, brick_end, brick_local_* and BRICK_SCOPE into its own code: no call, and fewer
 * instructions, for some 150 bytes of code at each place. On x86-64; elsewhere it changes nothing.
 * The layouts that such code shares with the library are frozen (brick/abi/thread.h).
 */
#if defined(BRICK_INLINE) && defined(__has_builtin)
#if __has_builtin(__builtin_ia32_rdtsc)
#define BRICK__INLINE
#endif
#endif

BRICK_API brick_span brick__begin(uint32_t brick);
BRICK_API brick_span brick__begin_layer(uint32_t brick, int layer);
BRICK_API void brick__end(brick_span span);
BRICK_API void brick__end_read(brick_span span, uint64_t counter);
BRICK_API void brick__end_elements(brick_span span, uint64_t elements);
BRICK_API void brick__end_work(brick_span span, uint64_t elements, uint64_t bytes, uint64_t flops);
BRICK_API void brick__end_traffic(
	brick_span span, uint64_t elements, uint64_t bytes_in, uint64_t bytes_out, uint64_t flops);
BRICK_API void brick__end_site(brick_span span, uint32_t site);
BRICK_API brick_span brick__lap(brick_span span, uint32_t next);
BRICK_API brick_span brick__lap_work(
	brick_span span, uint64_t elements, uint64_t bytes, uint64_t flops, uint32_t next);
BRICK_API brick_span brick__lap_site(brick_span span, uint32_t site, uint32_t next);

/* Returns 1 if something records, else 0. */
static inline int brick_enabled(void)
{
	return __atomic_load_n(&brick__on, __ATOMIC_RELAXED) != 0;
}

/*
 * A span with copies of what the end needs, in the caller's registers: for a brick that begins and
 * ends in one function. Without BRICK_INLINE brick_local_*() do what brick_begin() and brick_end()
 * do.
 */
struct brick_local {
	brick_span span; /* 0: nothing was begun */
	uint64_t begin;	 /* ticks, as in the frame; 0 if the fast half did not begin it */
	uint64_t word;	 /* the frame's 8 bytes from `kind` on; UINT64_MAX: not the fast half's */
};

#ifdef BRICK__INLINE
#include "brick/inline.h"
#else
/* Begin a brick on this thread, in the thread's present layer (brick_layer_set). */
static inline brick_span brick_begin(uint32_t brick)
{
	return BRICK_UNLIKELY(brick_enabled()) ? brick__begin(brick) : 0;
}

/* End what brick_begin() began. Inner bricks still open are closed with it and counted unmatched.
 */
static inline void brick_end(brick_span span)
{
	if (BRICK_UNLIKELY(span))
		brick__end(span);
}

/* Begin a brick that ends in the same function. */
static inline struct brick_local brick_local_begin(uint32_t brick)
{
	struct brick_local local = {brick_begin(brick), 0, 0};
	return local;
}

/* Ends what brick_local_begin() began. */
static inline void brick_local_end(struct brick_local local)
{
	brick_end(local.span);
}
#endif

/* Begin a brick on this thread in a given layer; -1: outside of blocks. */
static inline brick_span brick_begin_layer(uint32_t brick, int layer)
{
	return BRICK_UNLIKELY(brick_enabled()) ? brick__begin_layer(brick, layer) : 0;
}

/* End a brick, and say how many elements it produced. */
static inline void brick_end_elements(brick_span span, uint64_t elements)
{
	if (BRICK_UNLIKELY(span))
		brick__end_elements(span, elements);
}

/* End a brick with the elements it produced, the bytes it moved, its floating-point operations. */
static inline void brick_end_work(
	brick_span span, uint64_t elements, uint64_t bytes, uint64_t flops)
{
	if (BRICK_UNLIKELY(span))
		brick__end_work(span, elements, bytes, flops);
}

/* As brick_end_work(), with bytes read and bytes written apart, as a (de)compressor would. */
static inline void brick_end_traffic(
	brick_span span, uint64_t elements, uint64_t bytes_in, uint64_t bytes_out, uint64_t flops)
{
	if (BRICK_UNLIKELY(span))
		brick__end_traffic(span, elements, bytes_in, bytes_out, flops);
}

/* End an execution of a registered site: its layer and work are the site's. */
static inline void brick_end_site(brick_span span, uint32_t site)
{
	if (BRICK_UNLIKELY(span))
		brick__end_site(span, site);
}

/*
 * End a brick and begin the one right behind it, with one reading of the clock for both:
 * span = brick_lap(span, BRICK_ROPE_EMBEDDING). The next begins where the other ends, in the
 * thread's present layer; what recording the end costs (some nanoseconds) lies in the next.
 */
static inline brick_span brick_lap(brick_span span, uint32_t next)
{
	return BRICK_UNLIKELY(span || brick_enabled()) ? brick__lap(span, next) : 0;
}

/* As brick_lap(), and say of the brick that ends what brick_end_work() says. */
static inline brick_span brick_lap_work(
	brick_span span, uint64_t elements, uint64_t bytes, uint64_t flops, uint32_t next)
{
	return BRICK_UNLIKELY(span || brick_enabled())
		       ? brick__lap_work(span, elements, bytes, flops, next)
		       : 0;
}

/* As brick_lap(), and say of the brick that ends what brick_end_site() says. */
static inline brick_span brick_lap_site(brick_span span, uint32_t site, uint32_t next)
{
	return BRICK_UNLIKELY(span || brick_enabled()) ? brick__lap_site(span, site, next) : 0;
}

/*
 * End a brick, and say how many elements it produced (0: not known). Returns its length in ns; 0:
 * nothing was measured.
 */
BRICK_API uint64_t brick_end_ns(brick_span span, uint64_t elements);

/* Returns the ns since an open brick of this thread began; 0: it is not open here. */
BRICK_API uint64_t brick_elapsed_ns(brick_span span);

/*
 * Sets the layer of the bricks that this thread begins from now on without naming one; -1: outside
 * of blocks. Returns the layer until now; -1 also while nothing records.
 */
BRICK_API int brick_layer_set(int layer);

/*
 * A step of the engine: one evaluation of `tokens` tokens in one phase. End it with brick_end(). A
 * phase that is unknown, or mixed, begins nothing and is counted as unmatched.
 */
BRICK_API brick_span brick_step_begin(enum brick_phase phase, uint64_t tokens);

/*
 * Begins a step of a server's batch: tokens of prompts, and tokens from which new ones are made. A
 * batch that lacks one kind is a step of the other phase. At most UINT32_MAX of each.
 */
BRICK_API brick_span brick_step_begin_mixed(uint32_t prompt_tokens, uint32_t output_tokens);

/* One execution that was timed elsewhere, in ticks of brick_ticks(). For engines' interposers. */
struct brick_sample {
	uint64_t begin, end; /* ticks; an end before the begin is clamped and counted */
	uint64_t wait;	     /* ticks of waiting right after the end */
	uint64_t inner;	     /* ticks of waiting between begin and end */
	uint32_t site;	     /* its index; 0: brick, layer and elements below are used instead */
	uint32_t brick;	     /* without a site */
	int32_t layer;	     /* without a site; -1: outside of blocks */
	uint32_t source;     /* enum brick_source */
	uint64_t elements;   /* without a site: produced; 0: not known */
};

/*
 * Record a sample inside of whatever this thread has open. Samples of a thread must come in begin
 * order. NULL is not checked for.
 */
BRICK_API void brick_record_sample(const struct brick_sample *sample);

/*
 * Count an execution that the program timed itself (source "reported"). It has a length but no
 * place on the time line: it appears in statistics, and in the recording as a point. Sums are kept
 * to the ns.
 */
BRICK_API void brick_record_elapsed(uint32_t brick, uint64_t ns, uint64_t elements, uint64_t bytes);

/*
 * Asynchronous work: it begins on one thread and may end on another, or overlaps other such work.
 * It is recorded on the lane "Asynchronous", beside the queues' lanes, where each execution has its
 * own whole length. It takes no self time from a thread's bricks, and its self time is its length.
 * Each execution costs some 200 ns and two locks at its end.
 */
struct brick_async {
	uint64_t begin; /* ticks */
	uint32_t brick;
	int32_t layer;
	uint32_t session; /* serial number of the session that records it; 0: nothing was begun */
};

/* Begin asynchronous work, on any thread. The result's `session` is 0 where nothing records. */
BRICK_API struct brick_async brick_async_begin(uint32_t brick);

/*
 * End asynchronous work once, on any thread, and say how many elements it produced (0: not known).
 * Returns its length in ns; 0: nothing was measured, or less than the clock tells apart.
 */
BRICK_API uint64_t brick_async_end(const struct brick_async *async, uint64_t elements);

/*
 * As brick_async_end(), under a name that is known only now: the work becomes an execution of the
 * brick `name`, which is registered in `category` if it does not exist. name NULL: the brick that
 * was begun. `track` names the lane; NULL, or a name beyond the first 64: "Asynchronous".
 */
BRICK_API uint64_t brick_async_end_as(const struct brick_async *async, const char *name,
	uint32_t category, const char *track, uint64_t elements);

/*
 * Record asynchronous work without brick_async_begin(): from `begin` (brick_ticks()) until now.
 * -ENOENT: nothing records. -EINVAL: no such brick, or `begin` lies in the future. BRICK_EFULL,
 * -ENOMEM: no lane.
 */
BRICK_API int brick_record_deferred(uint32_t brick, uint64_t begin, uint64_t elements);

/* Record a point in time (now), or the value of a counter from now on; a brick gives the name. */
BRICK_API void brick_instant(uint32_t brick);
BRICK_API void brick_counter(uint32_t brick, double value);

/* Name this thread for reports; at most 63 bytes are kept. */
BRICK_API void brick_thread_name(const char *name);

BRICK_END_DECLS

/* BRICK_SCOPE(BRICK_RMS_NORM); times the rest of the enclosing block, in C and C++. */
#define BRICK__JOIN2(a, b) a##b
#define BRICK__JOIN(a, b) BRICK__JOIN2(a, b)
#ifdef __cplusplus
namespace brick
{
class scope
{
	brick_local local_;

      public:
	explicit scope(uint32_t brick) : local_(brick_local_begin(brick))
	{
	}
	scope(uint32_t brick, int layer) : local_{brick_begin_layer(brick, layer), 0, UINT64_MAX}
	{
	}
	~scope()
	{
		brick_local_end(local_);
	}
	scope(const scope &) = delete;
	scope &operator=(const scope &) = delete;
};
} // namespace brick
#define BRICK_SCOPE(id) ::brick::scope BRICK__JOIN(brick__scope_, __LINE__)(id)
#else
static inline void brick__scope_end(struct brick_local *local)
{
	brick_local_end(*local);
}
#define BRICK_SCOPE(id)                                         \
	struct brick_local BRICK__JOIN(brick__scope_, __LINE__) \
		__attribute__((cleanup(brick__scope_end), unused)) = brick_local_begin(id)
#endif

/* BRICK_TIMED(id, expression): the value of the expression, timed. */
#define BRICK_TIMED(id, ...)     \
	__extension__({          \
		BRICK_SCOPE(id); \
		__VA_ARGS__;     \
	})

#endif
