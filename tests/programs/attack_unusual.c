/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that does what few do. Under `brick record`, or with a recording of its own (embed=FILE
 * as the first argument):
 *
 *   ranges         1000 bricks on each of 16 threads, while another closes all descriptors
 *   user           becomes another user, then 1000 bricks on each of 4 threads
 *   mounts         leaves for mounts of its own, with another /dev/shm, then the same
 *   execs          4 threads with 1000 bricks each, beside 20 children of vfork() that have 10
 *                  bricks each, in their parent's memory, and exec
 *   smallest       64 threads with the smallest stacks that there are, 1000 bricks on each
 *   switches       coroutines on stacks of 16 KiB that begin bricks in one and end them in another
 *   undumpable     may not be looked at, then 1000 bricks on each of 4 threads
 *   altstacks      16 threads whose first brick is in a signal's handler, on a stack of 8 KiB, then
 *                      1000 bricks on each
 *   jumps          leaves 1000 bricks by longjmp(), then 1000 bricks, which are too deep
 *   forks          4 threads with 1000 bricks each, beside one that forks 50 children, which have
 *                      10 bricks each
 *   hurry          200000 bricks, and a signal every 50 us whose handler has one: no such use is
 *                      promised to count, but the program goes on
 *
 * Ends with 0; 9 when something of its own was harmed.
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
#include "brick/brick.h"

enum { BRICKS = 1000, MOST = 64, NOBODY = 65534 };

static int is_over;

static void some_bricks(int count)
{
	for (int i = 0; i < count; i++)
		brick_end(brick_begin(BRICK_RMS_NORM));
}

static void *bricks(void *unused)
{
	some_bricks(BRICKS);
	return unused;
}

/* 0: the C library's own size of stacks. */
static int on_threads(int count, size_t stack, void *(*run)(void *))
{
	pthread_t threads[MOST];
	pthread_attr_t attributes;
	int started = 0;

	pthread_attr_init(&attributes);
	if (stack)
		pthread_attr_setstacksize(&attributes, stack);
	while (started < count && !pthread_create(&threads[started], &attributes, run, NULL))
		started++;
	for (int i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	pthread_attr_destroy(&attributes);
	return started == count ? 0 : 8;
}

static void *close_all(void *unused)
{
	while (!__atomic_load_n(&is_over, __ATOMIC_RELAXED))
		syscall(SYS_close_range, 3u, ~0u, 0u);
	return unused;
}

static int ranges(void)
{
	pthread_t closer;

	if (pthread_create(&closer, NULL, close_all, NULL))
		return 8;
	int code = on_threads(16, 0, bricks);
	__atomic_store_n(&is_over, 1, __ATOMIC_RELAXED);
	pthread_join(closer, NULL);
	return code;
}

static int user(void)
{
	some_bricks(BRICKS);
	return setresuid(NOBODY, NOBODY, NOBODY) ? 8 : on_threads(4, 0, bricks);
}

static int mounts(void)
{
	some_bricks(BRICKS);
	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
		mount("none", "/dev/shm", "tmpfs", 0, NULL))
		return 8;
	return on_threads(4, 0, bricks);
}

static void *start_programs(void *unused)
{
	char *argv[] = {"true", NULL};

	for (int i = 0; i < 20; i++) {
		pid_t child = vfork();
		if (!child) {
			some_bricks(10);
			execvp("true", argv);
			_exit(9);
		}
		int status = 0;
		if (waitpid(child, &status, 0) != child || status)
			__atomic_store_n(&is_over, 9, __ATOMIC_RELAXED);
	}
	return unused;
}

static int execs(void)
{
	pthread_t starter;

	if (pthread_create(&starter, NULL, start_programs, NULL))
		return 8;
	int code = on_threads(4, 0, bricks);
	pthread_join(starter, NULL);
	return code ? code : is_over;
}

static void brick_in_handler(int number)
{
	(void)number;
	some_bricks(1);
}

static ucontext_t contexts[3];
static brick_span spans[2];

static void coroutine(int own)
{
	for (int i = 0; i < BRICKS; i++) {
		spans[own] = brick_begin(BRICK_RMS_NORM);
		swapcontext(&contexts[own], &contexts[!own]);
		brick_end(spans[i % 2 ? own : !own]);
	}
	swapcontext(&contexts[own], &contexts[2]);
}

static int switches(void)
{
	static char stacks[2][16384] __attribute__((aligned(16)));

	for (int i = 0; i < 2; i++) {
		getcontext(&contexts[i]);
		contexts[i].uc_stack = (stack_t){.ss_sp = stacks[i], .ss_size = sizeof stacks[i]};
		makecontext(&contexts[i], (void (*)(void))coroutine, 1, i);
	}
	swapcontext(&contexts[2], &contexts[0]);
	some_bricks(BRICKS);
	return 0;
}

static int undumpable(void)
{
	return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) ? 8 : on_threads(4, 0, bricks);
}

static void *brick_on_altstack(void *unused)
{
	size_t bytes = 8192; /* as SIGSTKSZ was for long */
	stack_t small = {.ss_sp = malloc(bytes), .ss_size = bytes};

	if (!small.ss_sp || sigaltstack(&small, NULL))
		_exit(8);
	raise(SIGUSR1);
	some_bricks(BRICKS);
	small.ss_flags = SS_DISABLE;
	sigaltstack(&small, NULL);
	free(small.ss_sp);
	return unused;
}

static int altstacks(void)
{
	struct sigaction action = {.sa_handler = brick_in_handler, .sa_flags = SA_ONSTACK};

	sigaction(SIGUSR1, &action, NULL);
	return on_threads(16, 0, brick_on_altstack);
}

static int jumps(void)
{
	static jmp_buf back;

	for (volatile int i = 0; i < BRICKS; i++)
		if (!setjmp(back)) {
			brick_begin(BRICK_ROPE_EMBEDDING);
			brick_begin(BRICK_SAMPLING);
			longjmp(back, 1);
		}
	some_bricks(BRICKS);
	return 0;
}

static void *fork_often(void *unused)
{
	for (int i = 0; i < 50; i++) {
		pid_t child = fork();
		if (!child) {
			some_bricks(10);
			exit(0);
		}
		int status = 0;
		if (waitpid(child, &status, 0) != child || status)
			__atomic_store_n(&is_over, 9, __ATOMIC_RELAXED);
	}
	return unused;
}

static int forks(void)
{
	pthread_t forker;

	if (pthread_create(&forker, NULL, fork_often, NULL))
		return 8;
	int code = on_threads(4, 0, bricks);
	pthread_join(forker, NULL);
	return code ? code : is_over;
}

static int hurry(void)
{
	const struct itimerval timer = {{0, 50}, {0, 50}}, off = {{0, 0}, {0, 0}};
	struct sigaction action = {.sa_handler = brick_in_handler, .sa_flags = SA_RESTART};

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
	some_bricks(200 * BRICKS);
	setitimer(ITIMER_REAL, &off, NULL);
	return 0;
}

static int run(const char *what)
{
	if (!strcmp(what, "ranges"))
		return ranges();
	if (!strcmp(what, "user"))
		return user();
	if (!strcmp(what, "mounts"))
		return mounts();
	if (!strcmp(what, "execs"))
		return execs();
	if (!strcmp(what, "smallest"))
		return on_threads(MOST, (size_t)sysconf(_SC_THREAD_STACK_MIN), bricks);
	if (!strcmp(what, "switches"))
		return switches();
	if (!strcmp(what, "undumpable"))
		return undumpable();
	if (!strcmp(what, "altstacks"))
		return altstacks();
	if (!strcmp(what, "jumps"))
		return jumps();
	if (!strcmp(what, "forks"))
		return forks();
	return strcmp(what, "hurry") ? 2 : hurry();
}

int main(int argc, char **argv)
{
	const char *own = argc > 1 && !strncmp(argv[1], "embed=", 6) ? argv[1] + 6 : NULL;

	argv += own != NULL;
	argc -= own != NULL;
	if (argc < 2)
		return 2;
	if (own) {
		struct brick_session_options options = BRICK_SESSION_OPTIONS_INIT;
		options.output = own;
		options.interval_ms = 20;
		if (brick_session_start(&options))
			return 7;
	}
	int code = run(argv[1]);
	brick_session_stop();
	printf("done\n");
	return code;
}
