/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread's cancel state and type are kept from the first lock that it takes to the last that it
 * gives. The type is deferred meanwhile: glibc's handler of a cancellation that is under way looks
 * at the type alone, and the end of a disabled state would let pthread_join() return NULL.
 */
#include "base/lock.h"

static __thread unsigned depth __attribute__((tls_model("initial-exec")));
static __thread unsigned held __attribute__((tls_model("initial-exec"))); /* locks, or about to */
static __thread struct {
	int state, type;
} kept __attribute__((tls_model("initial-exec")));
static bool is_seizing;

void lock_cancel_off(void)
{
	int state, type;

	if (depth)
		depth++;
	else if (!pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state) &&
		 !pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type)) {
		kept.state = state;
		kept.type = type;
		depth = 1;
	}
}

void lock_cancel_on(void)
{
	if (!depth || --depth)
		return;
	const int state = kept.state, type = kept.type; /* a handler may come in between */
	pthread_setcancelstate(state, NULL);
	if (type != PTHREAD_CANCEL_DEFERRED)
		pthread_setcanceltype(type, NULL);
}

void lock_take(pthread_mutex_t *mutex)
{
	lock_cancel_off();
	held++;
	if (is_seizing)
		(void)pthread_mutex_trylock(mutex);
	else
		pthread_mutex_lock(mutex);
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
	lock_cancel_off();
	held++;
	int error = pthread_mutex_trylock(mutex);
	if (error) {
		held--;
		lock_cancel_on();
	}
	return error;
}

void lock_give(pthread_mutex_t *mutex)
{
	pthread_mutex_unlock(mutex);
	held--;
	lock_cancel_on();
}
