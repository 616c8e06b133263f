/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waiting for other ranks: c10d::Work::wait(), and the end of DistributedDataParallel's backward
 * pass, which waits for the sums of gradients and copies them. libtorch calls both by name, so they
 * pass by us. An exception of C++ may leave a hook without coming by its end; the brick then ends
 * with an outer one.
 */
#include <errno.h>
#include <stdint.h>
#include "attach/torch/torch_library.h"
#include "attach/torch/torch_steps.h"
#include "brick/brick.h"

#define WORK_WAIT _ZN4c10d4Work4waitENSt6chrono8durationIlSt5ratioILl1ELl1000EEEE
#define FINALIZE_BACKWARD _ZN4c10d7Reducer17finalize_backwardEv
#define TEXT_OF(name) #name
#define NAME_OF(name) TEXT_OF(name)

/* milliseconds: std::chrono::milliseconds, which is one number. */
BRICK_API _Bool WORK_WAIT(void *work, int64_t milliseconds);
BRICK_API void FINALIZE_BACKWARD(void *reducer);

static void *collectives_next(void **next, const char *name, const void *ours)
{
	void *found = __atomic_load_n(next, __ATOMIC_RELAXED);

	if (!found) {
		torch_library_next(name, ours, &found);
		__atomic_store_n(next, found, __ATOMIC_RELAXED);
	}
	return found;
}

static bool collectives_is_recorded(void)
{
	return torch_observed() && torch_thread_get();
}

static brick_span collectives_wait_begin(void)
{
	static int brick;
	int known = __atomic_load_n(&brick, __ATOMIC_RELAXED);

	if (known <= 0) {
		known = brick_register("CollectiveWait", BRICK_CATEGORY_WAIT);
		__atomic_store_n(&brick, known, __ATOMIC_RELAXED);
	}
	return brick_begin(known > 0 ? (uint32_t)known : BRICK_SYNCHRONIZE);
}

BRICK_API _Bool WORK_WAIT(void *work, int64_t milliseconds)
{
	static void *next;
	int saved = errno;
	_Bool (*wait)(void *, int64_t) = (_Bool(*)(void *, int64_t))collectives_next(
		&next, NAME_OF(WORK_WAIT), (const void *)WORK_WAIT);
	brick_span span = collectives_is_recorded() ? collectives_wait_begin() : 0;

	errno = saved;
	_Bool result = wait(work, milliseconds);
	saved = errno;
	brick_end(span);
	errno = saved;
	return result;
}

BRICK_API void FINALIZE_BACKWARD(void *reducer)
{
	static void *next;
	static int brick;
	int saved = errno;
	void (*finalize)(void *) = (void (*)(void *))collectives_next(
		&next, NAME_OF(FINALIZE_BACKWARD), (const void *)FINALIZE_BACKWARD);
	brick_span span = collectives_is_recorded()
				  ? brick_begin(torch_engine_brick(&brick, "GradientReduction"))
				  : 0;

	errno = saved;
	finalize(reducer);
	saved = errno;
	brick_end(span);
	errno = saved;
}
