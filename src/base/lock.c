/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread's cancel state and type, and its mask of signals, are kept from the first lock that it
 * takes to the last that it gives. The type is deferred meanwhile: glibc's handler of a
 * cancellation that is under way looks at the type alone, and the end of a disabled state would let
 * pthread_join() return NULL. What counts locks changes while signals are blocked.
 */
#include "base/lock.h"

#include <signal.h>
#include <stdint.h>
#include <string.h>

static __thread unsigned lock_depth __attribute__((tls_model("initial-exec")));
static __thread unsigned blocked __attribute__((tls_model("initial-exec"))); /* pairs around it */
static __thread unsigned held __attribute__((tls_model("initial-exec"))); /* locks, or about to */
static __thread struct {
	int state, type;
	uint64_t signals; /* the mask as the kernel has it: that of the C library is larger */
} kept __attribute__((tls_model("initial-exec")));
static bool is_seizing, leaves_signals;

static void cancel_off(void)
{
	int state, type;

	if (lock_depth)
		lock_depth++;
	else if (!pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state) &&
		 !pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type)) {
		kept.state = state;
		kept.type = type;
		lock_depth = 1;
	}
}

static void cancel_on(void)
{
	if (!lock_depth || --lock_depth)
		return;
	const int state = kept.state, type = kept.type; /* a handler may come in between */
	pthread_setcancelstate(state, NULL);
	if (type != PTHREAD_CANCEL_DEFERRED)
		pthread_setcanceltype(type, NULL);
}

/* Signals of faults stay unblocked: a blocked one would end a program that has a handler for it. */
static void signals_off(void)
{
	static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};
	sigset_t all, before;

	if (!blocked && __atomic_load_n(&leaves_signals, __ATOMIC_RELAXED))
		return;
	if (!blocked) {
		sigfillset(&all);
		for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++)
			sigdelset(&all, faults[i]);
		pthread_sigmask(SIG_BLOCK, &all, &before);
		memcpy(&kept.signals, &before, sizeof(kept.signals));
	}
	blocked++;
}

static void signals_on(void)
{
	sigset_t before;

	if (!blocked || --blocked)
		return;
	sigemptyset(&before);
	memcpy(&before, &kept.signals, sizeof(kept.signals));
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void lock_still_begin(void)
{
	signals_off();
	cancel_off();
}

void lock_still_end(void)
{
	cancel_on();
	signals_on();
}

bool lock_leave_signals(bool leaves)
{
	return __atomic_exchange_n(&leaves_signals, leaves, __ATOMIC_RELAXED);
}

void lock_take_briefly(pthread_mutex_t *mutex)
{
	cancel_off();
	held++;
	if (is_seizing)
		(void)pthread_mutex_trylock(mutex);
	else
		pthread_mutex_lock(mutex);
}

void lock_give_brief(pthread_mutex_t *mutex)
{
	pthread_mutex_unlock(mutex);
	held--;
	cancel_on();
}

void lock_take(pthread_mutex_t *mutex)
{
	signals_off();
	lock_take_briefly(mutex);
}

bool lock_is_held(void)
{
	return held > 0;
}

void lock_seize_begin(void)
{
	is_seizing = true;
}

void lock_seize_end(void)
{
	is_seizing = false;
}

int lock_try(pthread_mutex_t *mutex)
{
	lock_still_begin();
	held++;
	int error = pthread_mutex_trylock(mutex);
	if (error) {
		held--;
		lock_still_end();
	}
	return error;
}

void lock_give(pthread_mutex_t *mutex)
{
	lock_give_brief(mutex);
	signals_on();
}
