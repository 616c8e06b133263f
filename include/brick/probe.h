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

/* An open brick: session and depth on its thread; 0 when nothing was begun (off, or nested too
 * deep). */
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
 * A span whose begin is kept in the caller's registers, too: for a brick that begins and ends in
 * one function. Without BRICK_INLINE it is as brick_begin() and brick_end().
 */
struct brick_local {
	brick_span span;
	uint64_t begin, word; /* as the fast half stored them */
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

/* End it. */
static inline void brick_local_end(struct brick_local local)
{
	brick_end(local.span);
}
#endif

/* The same in a given layer; -1 is outside of blocks. */
static inline brick_span brick_begin_layer(uint32_t brick, int layer)
{
	return BRICK_UNLIKELY(brick_enabled()) ? brick__begin_layer(brick, layer) : 0;
}

/* End it, and say how many elements it produced. */
static inline void brick_end_elements(brick_span span, uint64_t elements)
{
	if (BRICK_UNLIKELY(span))
		brick__end_elements(span, elements);
}

/* End it, and say the elements, the bytes it moved and the floating-point operations it did. */
static inline void brick_end_work(
	brick_span span, uint64_t elements, uint64_t bytes, uint64_t flops)
{
	if (BRICK_UNLIKELY(span))
		brick__end_work(span, elements, bytes, flops);
}

/* The same with the bytes that it read and those that it wrote apart, as a (de)compressor would. */
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

/* The same, and say of the brick that ends what brick_end_site() says. */
static inline brick_span brick_lap_site(brick_span span, uint32_t site, uint32_t next)
{
	return BRICK_UNLIKELY(span || brick_enabled()) ? brick__lap_site(span, site, next) : 0;
}

/*
 * End it, and say how many elements it produced (0: not known). Returns how long it took, in ns; 0:
 * nothing was measured.
 */
BRICK_API uint64_t brick_end_ns(brick_span span, uint64_t elements);

/* Returns the ns since an open brick of this thread began; 0: it is not open here. */
BRICK_API uint64_t brick_elapsed_ns(brick_span span);

/*
 * Layer of the bricks that this thread begins from now on without naming one; -1 for none. Returns
 * the layer until now, -1 also while nothing records.
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
	uint64_t begin, end; /* ticks */
	uint64_t wait;	     /* ticks of waiting right after the end */
	uint64_t inner;	     /* ticks of waiting between begin and end */
	uint32_t site;	     /* 0: brick, layer and elements below are used instead */
	uint32_t brick;
	int32_t layer;
	uint32_t source; /* enum brick_source */
	uint64_t elements;
};

/* Record it, below whatever this thread has open. Samples of a thread must come in begin order. */
BRICK_API void brick_record_sample(const struct brick_sample *sample);

/*
 * Count an execution that the program timed itself (source "reported"). It has a length but no
 * place on the time line: it appears in statistics, and in the recording as a point. Sums are kept
 * to the ns.
 */
BRICK_API void brick_record_elapsed(uint32_t brick, uint64_t ns, uint64_t elements, uint64_t bytes);

/*
 * Work that lies in no thread's stack: begun here and ended elsewhere, or beside others that begin
 * and end in any order. It goes to the lane "Asynchronous", beside those of queues: there each
 * execution has its own whole length. No self time of a thread is less because of it, and its own
 * self time is its length. Each costs some 200 ns and two locks at its end.
 */
struct brick_async {
	uint64_t begin; /* ticks */
	uint32_t brick;
	int32_t layer;
	uint32_t session; /* 0: nothing was begun */
};

/* Begin it, on any thread. Its session is 0 where nothing records. */
BRICK_API struct brick_async brick_async_begin(uint32_t brick);

/*
 * End it, on any thread, once, and say how many elements it produced (0: not known). Returns how
 * long it took, in ns; 0: nothing was measured.
 */
BRICK_API uint64_t brick_async_end(const struct brick_async *async, uint64_t elements);

/*
 * The same under a name that is known only now. It becomes an execution of the brick `name`, which
 * is registered in `category` unless there is one; NULL: the brick that was begun. `track` names
 * the lane that shows it: NULL is "Asynchronous", and so is any beyond the first 64 names.
 */
BRICK_API uint64_t brick_async_end_as(const struct brick_async *async, const char *name,
	uint32_t category, const char *track, uint64_t elements);

/*
 * The same for work that was not begun: from `begin` (brick_ticks()) until now. -ENOENT: nothing
 * records. -EINVAL: no such brick, or begun in the future. BRICK_EFULL, -ENOMEM: no lane.
 */
BRICK_API int brick_record_deferred(uint32_t brick, uint64_t begin, uint64_t elements);

/* A point in time, and a value over time, both named by a registered brick. */
BRICK_API void brick_instant(uint32_t brick);
BRICK_API void brick_counter(uint32_t brick, double value);

/* Name of this thread in reports; at most 63 bytes are kept. */
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
