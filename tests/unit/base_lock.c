/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Locks in other people's programs: no handler of a signal runs while a thread holds one, the
 * thread's own mask comes back, and faults are never blocked.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "base/lock.h"
#include "base/scope.h"

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
static int handled;

static void handle(int number)
{
	(void)number;
	handled++;
}

static uint64_t mask(void)
{
	sigset_t now;
	uint64_t bits;

	pthread_sigmask(SIG_BLOCK, NULL, &now);
	memcpy(&bits, &now, sizeof(bits));
	return bits;
}

static void handlers_wait(void **state)
{
	uint64_t before = mask();
	(void)state;

	signal(SIGALRM, handle);
	lock_take(&first);
	raise(SIGALRM);
	assert_int_equal(handled, 0);
	lock_take(&second);
	lock_give(&second);
	assert_int_equal(handled, 0); /* not before the last lock is given */
	lock_give(&first);
	assert_int_equal(handled, 1);
	assert_int_equal(mask(), before);
	assert_int_equal(lock_try(&first), 0);
	raise(SIGALRM);
	assert_true(lock_try(&first) > 0);
	assert_int_equal(handled, 1);
	lock_give(&first);
	assert_int_equal(handled, 2);
	lock_still_begin();
	raise(SIGALRM);
	assert_int_equal(handled, 2);
	lock_still_end();
	assert_int_equal(handled, 3);
	assert_int_equal(mask(), before);
}

/* What the program has blocked stays so. */
static void masks_come_back(void **state)
{
	sigset_t some;
	(void)state;

	sigemptyset(&some);
	sigaddset(&some, SIGUSR1);
	sigaddset(&some, SIGRTMAX);
	pthread_sigmask(SIG_BLOCK, &some, NULL);
	uint64_t before = mask();
	lock_take(&first);
	assert_true(mask() != before);
	lock_give(&first);
	assert_int_equal(mask(), before);
	pthread_sigmask(SIG_UNBLOCK, &some, NULL);
}

static void faults_are_no_signals(void **state)
{
	sigset_t now;
	(void)state;

	lock_take(&first);
	pthread_sigmask(SIG_BLOCK, NULL, &now);
	lock_give(&first);
	assert_false(sigismember(&now, SIGSEGV) || sigismember(&now, SIGBUS) ||
		     sigismember(&now, SIGFPE) || sigismember(&now, SIGSYS));
	assert_true(sigismember(&now, SIGTERM) && sigismember(&now, SIGPROF));
}

/* Once a filter may kill for any system call, masks are left alone; and always by the brief ones.
 */
static void left_alone(void **state)
{
	uint64_t before = mask();
	(void)state;

	lock_take_briefly(&first);
	assert_int_equal(mask(), before);
	assert_true(lock_is_held());
	lock_give_brief(&first);
	assert_false(lock_leave_signals(true));
	lock_take(&first);
	assert_int_equal(mask(), before);
	lock_give(&first);
	assert_false(lock_is_held());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(handlers_wait), cmocka_unit_test(masks_come_back),
		cmocka_unit_test(faults_are_no_signals),
		cmocka_unit_test(left_alone), /* for good: the last */
	};
	lock_leave_signals(false); /* as where something is recorded */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
