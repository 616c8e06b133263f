/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process is stopped, made to do system calls, and let go, again and again, while its threads
 * wait in the kernel in the ways that programs wait: no wait ends early or with EINTR, no signal is
 * lost, registers and masks stay. Frames are followed through a known chain of calls, through a
 * signal's handler on a stack of its own, and to the beginning of each thread. A stack whose frames
 * end early counts as unknown as soon as a word on it looks like the place. A thread that cannot be
 * stopped is waited for. A signal's handler that interrupts system calls of ours returns to them.
 */
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>
#include "lib/sys/tracing.h"
#include "record/enter/system_calls.h"
#include "record/enter/tracee.h"
#include "record/enter/unwind.h"
#include "record/enter/whereabouts.h"

enum { ROUNDS = 200, WAITERS = 5, LOOKS = 60000 };

/* What the child tells; shared. */
static struct told {
	uint32_t ready, over; /* waits that began, and that ended */
	uint32_t wrong;	      /* waits that ended early or with an error */
	uint32_t signals, sent;
	uint32_t is_in_handler;
	uintptr_t inner, inner_end;
} * told;

static int pipes[2], others[2];
static uint32_t word;

static void judge(bool is_right)
{
	if (!is_right)
		__atomic_add_fetch(&told->wrong, 1, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&told->over, 1, __ATOMIC_SEQ_CST);
}

static void *wait_in_read(void *none)
{
	char byte;
	__atomic_add_fetch(&told->ready, 1, __ATOMIC_SEQ_CST);
	judge(read(pipes[0], &byte, 1) == 1);
	return none;
}

static void *wait_in_poll(void *none)
{
	struct pollfd fd = {.fd = others[0], .events = POLLIN};
	__atomic_add_fetch(&told->ready, 1, __ATOMIC_SEQ_CST);
	judge(poll(&fd, 1, 60000) == 1);
	return none;
}

static void *wait_in_sleep(void *none)
{
	const struct timespec time = {.tv_sec = 1};
	struct timespec before, after;
	__atomic_add_fetch(&told->ready, 1, __ATOMIC_SEQ_CST);
	clock_gettime(CLOCK_MONOTONIC, &before);
	int result = nanosleep(&time, NULL);
	clock_gettime(CLOCK_MONOTONIC, &after);
	judge(!result &&
		(after.tv_sec - before.tv_sec) * 1000000000L + after.tv_nsec - before.tv_nsec >=
			1000000000L);
	return none;
}

static void *wait_in_futex(void *none)
{
	__atomic_add_fetch(&told->ready, 1, __ATOMIC_SEQ_CST);
	long result = 0;
	while (!__atomic_load_n(&word, __ATOMIC_SEQ_CST) && !result)
		result = syscall(SYS_futex, &word, 0 /* FUTEX_WAIT */, 0, NULL, NULL, 0);
	judge(!result || errno == EAGAIN);
	return none;
}

/* Numbers that no system call or stop may change. */
static void *wait_in_loop(void *none)
{
	double sum = 0;
	uint64_t steps = 0;
	__atomic_add_fetch(&told->ready, 1, __ATOMIC_SEQ_CST);
	while (!__atomic_load_n(&word, __ATOMIC_RELAXED)) {
		sum += 0.5;
		steps++;
	}
	judge(sum == 0.5 * (double)steps);
	return none;
}

static void count_signal(int number)
{
	(void)number;
	__atomic_add_fetch(&told->signals, 1, __ATOMIC_SEQ_CST);
}

static void __attribute__((noreturn)) be_waited_for(void)
{
	static void *(*const waits[WAITERS])(void *) = {
		wait_in_read, wait_in_poll, wait_in_sleep, wait_in_futex, wait_in_loop};
	pthread_t threads[WAITERS];
	struct sigaction counted = {.sa_handler = count_signal, .sa_flags = SA_RESTART};
	sigset_t usr, none;

	sigemptyset(&none);
	sigemptyset(&usr);
	sigaddset(&usr, SIGUSR1);
	sigaction(SIGUSR1, &counted, NULL);
	pthread_sigmask(SIG_BLOCK, &usr, NULL); /* the first thread alone takes it, below */
	for (int i = 0; i < WAITERS; i++)
		pthread_create(&threads[i], NULL, waits[i], NULL);
	while (__atomic_load_n(&told->over, __ATOMIC_SEQ_CST) < WAITERS)
		sigsuspend(&none);
	for (int i = 0; i < WAITERS; i++)
		pthread_join(threads[i], NULL);
	pthread_sigmask(SIG_BLOCK, NULL, &none);
	_exit(!sigismember(&none, SIGUSR1) || sigismember(&none, SIGUSR2));
}

static pid_t start(void (*run)(void))
{
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		run();
		_exit(1);
	}
	return pid;
}

static bool has_mapping(const struct tracee *t, const void *at)
{
	return tracee_mapping_at(&t->mappings, *(const uint64_t *)at);
}

static bool has_no_mapping(const struct tracee *t, const void *at)
{
	return !has_mapping(t, at);
}

/* A page comes and goes. */
static void map_and_unmap(struct tracee *t)
{
	static const uint64_t place = 0x10000000000;
	const struct system_call map = {{SYS_mmap, place, 4096, PROT_READ,
					 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, UINT64_MAX, 0}},
				 unmap = {{SYS_munmap, place, 4096}};

	assert_int_equal(system_calls_make(t, &map, 1, has_mapping, &place), 0);
	assert_int_equal(system_calls_make(t, &unmap, 1, has_no_mapping, &place), 0);
}

static void waits_go_on(void **state)
{
	struct tracee t;
	uint32_t sent = 0;
	int status;

	(void)state;
	memset(told, 0, sizeof(*told));
	assert_false(pipe(pipes) || pipe(others));
	pid_t pid = start(be_waited_for);
	while (__atomic_load_n(&told->ready, __ATOMIC_SEQ_CST) < WAITERS)
		usleep(1000);
	assert_int_equal(tracee_open(&t, pid), 0);
	for (int i = 0; i < ROUNDS; i++) {
		assert_int_equal(tracee_stop(&t), 0);
		assert_true(t.threads.count >= WAITERS && t.threads.count <= WAITERS + 1);
		map_and_unmap(&t);
		if (i % 10 == 0) { /* comes while it is stopped, and is taken later */
			kill(pid, SIGUSR1);
			map_and_unmap(&t);
		}
		tracee_go_on(&t);
		if (i % 10 == 0) {
			sent++;
			while (__atomic_load_n(&told->signals, __ATOMIC_SEQ_CST) < sent)
				usleep(100);
		}
	}
	uint64_t memory = 0;
	uint32_t one = 1, zero = 2;
	assert_int_equal(tracee_stop(&t), 0);
	memory = (uint64_t)(uintptr_t)&word;
	assert_true(tracee_read(&t, memory, &zero, sizeof(zero)) && zero == 0);
	assert_true(tracee_write(&t, memory, &one, sizeof(one)));
	static const uint64_t second = 0x10000001000;
	const struct system_call calls[] = {{{SYS_futex, memory, 1 /* FUTEX_WAKE */, INT32_MAX}},
		{{SYS_mmap, second, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
			UINT64_MAX, 0}}};
	assert_int_equal(system_calls_make(&t, calls, 2, has_mapping, &second), 0);
	tracee_go_on(&t);
	assert_int_equal(write(pipes[1], "x", 1) + write(others[1], "x", 1), 2);
	while (__atomic_load_n(&told->over, __ATOMIC_SEQ_CST) < WAITERS)
		usleep(1000);
	kill(pid, SIGUSR1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && !WEXITSTATUS(status));
	assert_int_equal(told->wrong, 0);
	assert_int_equal(tracee_stop(&t), -ESRCH);
	tracee_close(&t);
}

/* A thread waits where it cannot be stopped: for the child of vfork(2). */

static void *wait_in_vfork(void *none)
{
	char byte;

	__atomic_add_fetch(&told->ready, 1, __ATOMIC_SEQ_CST);
	pid_t pid = vfork();
	if (!pid && !prctl(PR_SET_PDEATHSIG, SIGKILL))
		_exit(read(pipes[0], &byte, 1) != 1);
	judge(pid > 0 && waitpid(pid, NULL, 0) == pid);
	return none;
}

static void be_held_up(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, wait_in_vfork, NULL);
	pthread_join(thread, NULL);
	_exit(0);
}

static char thread_state(pid_t pid, pid_t tid)
{
	char path[64], text[512] = "";

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)pid, (int)tid);
	FILE *file = fopen(path, "re");
	size_t n = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
	if (file)
		fclose(file);
	const char *end = n ? strrchr(text, ')') : NULL;
	return end ? end[2] : '\0';
}

static pid_t find_thread_that_is(pid_t pid, char state)
{
	char path[64];
	pid_t found = 0;
	struct dirent *entry;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	DIR *list = opendir(path);
	while (list && (entry = readdir(list)))
		if (thread_state(pid, atoi(entry->d_name)) == state)
			found = atoi(entry->d_name);
	if (list)
		closedir(list);
	return found;
}

/* It is never taken for one that has ended, and goes on when it comes out. */
static void waits_for_thread_that_does_not_stop(void **state)
{
	struct tracee t;
	pid_t held;
	int status;

	(void)state;
	memset(told, 0, sizeof(*told));
	assert_false(pipe(pipes));
	pid_t pid = start(be_held_up);
	while (!(held = find_thread_that_is(pid, 'D')))
		usleep(1000);
	assert_int_equal(tracee_open(&t, pid), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(tracee_stop(&t), -ETIMEDOUT);
		assert_int_not_equal(thread_state(pid, pid), 't');
	}
	assert_int_equal(write(pipes[1], "x", 1), 1);
	while (thread_state(pid, held) == 'D')
		usleep(1000);
	assert_int_equal(tracee_stop(&t), 0);
	assert_int_equal(t.threads.count, 2);
	tracee_go_on(&t);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && !WEXITSTATUS(status) && !told->wrong);
	tracee_close(&t);
}

/* System calls that a signal's handler interrupts. */

static void handle_slowly(int number)
{
	(void)number;
	for (int i = 0; i < 5; i++)
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	__atomic_add_fetch(&told->signals, 1, __ATOMIC_SEQ_CST);
}

static void be_interrupted(void)
{
	struct sigaction slow = {.sa_handler = handle_slowly};

	sigaction(SIGUSR1, &slow, NULL);
	__atomic_store_n(&told->ready, 1, __ATOMIC_SEQ_CST);
	for (;;)
		pause();
}

/* The handler begins in our code when all is done, and returns there. */
static void handlers_return_to_calls(void **state)
{
	static const uint64_t place = 0x10000000000;
	struct tracee t;
	int status, error = 0;

	(void)state;
	memset(told, 0, sizeof(*told));
	pid_t pid = start(be_interrupted);
	while (!__atomic_load_n(&told->ready, __ATOMIC_SEQ_CST))
		usleep(1000);
	const struct system_call calls[] = {
		{{SYS_mmap, place, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
			UINT64_MAX, 0}},
		{{SYS_kill, (uint64_t)pid, SIGUSR1}}};
	assert_int_equal(tracee_open(&t, pid), 0);
	for (int i = 0; i < 20; i++) {
		assert_int_equal(tracee_stop(&t), 0);
		error |= system_calls_make(&t, calls, 2, has_mapping, &place);
		tracee_go_on(&t);
		while (__atomic_load_n(&told->signals, __ATOMIC_SEQ_CST) < (uint32_t)i + 1) {
			assert_int_equal(waitpid(pid, &status, WNOHANG), 0);
			usleep(1000);
		}
		assert_int_equal(tracee_stop(&t), 0);
		assert_true(system_calls_give_back(&t));
		tracee_go_on(&t);
	}
	assert_true(!error || error == -EIO); /* a busy machine: no time was left */
	tracee_close(&t);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Frames. */

/* Code of the length that the ranges below expect, also where sanitizers add theirs. */
#ifdef __clang__
#define PLAIN __attribute__((noinline, no_sanitize("address", "undefined", "coverage")))
#else
#define PLAIN __attribute__((noinline, no_sanitize("address", "undefined", "thread")))
#endif

static void PLAIN innermost(void)
{
	__atomic_store_n(&told->ready, 1, __ATOMIC_SEQ_CST);
	for (;;)
		pause();
}

static int PLAIN middle(int n)
{
	volatile char room[256];

	room[n] = 1;
	innermost();
	return room[n];
}

static void on_signal(int number)
{
	(void)number;
	told->is_in_handler = 1;
	middle(3);
}

static int PLAIN loops_until_signal(int n)
{
	kill(getpid(), SIGUSR2);
	return n + 1;
}

static void PLAIN be_deep(void)
{
	middle(2);
}

static void be_in_handler(void)
{
	static char room[65536];
	const stack_t stack = {.ss_sp = room, .ss_size = sizeof(room)};
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};

	sigaltstack(&stack, NULL);
	sigaction(SIGUSR2, &action, NULL);
	loops_until_signal(1);
}

static struct code_range range_of(void *function, uint64_t bytes)
{
	return (struct code_range){(uintptr_t)function, (uintptr_t)function + bytes};
}

static void *PLAIN be_in_thread(void *none)
{
	middle(2);
	return none;
}

static void be_threaded(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, be_in_thread, NULL);
	pthread_join(thread, NULL);
}

/* The process waits in innermost(), called by middle(), called by `from`. */
static void follow_frames(void (*run)(void), void *from, bool has_handler)
{
	const struct code_range wanted[] = {
		range_of((void *)innermost, 16), range_of((void *)middle, 24), range_of(from, 64)};
	static const struct code_range nowhere = {0x5a5a5a5a5a50, 0x5a5a5a5a5a60};
	struct tracee t;
	int found[3] = {0};

	memset(told, 0, sizeof(*told));
	pid_t pid = start(run);
	while (!__atomic_load_n(&told->ready, __ATOMIC_SEQ_CST))
		usleep(1000);
	assert_int_equal(tracee_open(&t, pid), 0);
	assert_int_equal(tracee_stop(&t), 0);
	for (size_t i = 0; i < t.threads.count; i++) {
		struct unwind u;
		unwind_begin(&u, &t, &t.threads.items[i]);
		for (; u.state == UNWIND_FRAME; unwind_next(&u))
			for (int k = 0; k < 3; k++)
				found[k] += u.pc >= wanted[k].low && u.pc <= wanted[k].end + 64;
		assert_int_equal(u.state, UNWIND_END);
	}
	assert_true(found[0] && found[1] && found[2]);
	assert_int_equal(told->is_in_handler, has_handler);
	assert_int_equal(any_thread_is_in(&t, &nowhere, 1, NULL), 0);
	const struct code_range middle_only = range_of((void *)middle, 80);
	assert_int_equal(any_thread_is_in(&t, &middle_only, 1, NULL), 1);
	tracee_go_on(&t);
	tracee_close(&t);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void frames_are_followed(void **state)
{
	(void)state;
	follow_frames(be_deep, (void *)be_deep, false);
	follow_frames(be_threaded, (void *)be_in_thread, false);
	follow_frames(be_in_handler, (void *)loops_until_signal, true);
}

/* Code without tables calls middle(). */
static void PLAIN be_generated(void)
{
	static const uint8_t code[] = {0x48, 0x83, 0xec, 0x08, /* sub $8, %rsp */
		0xff, 0xd0, /* call *%rax */ 0x48, 0x83, 0xc4, 0x08, 0xc3};
	uint8_t *place = mmap(
		NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memcpy(place, code, sizeof(code));
	__asm__ volatile("call *%%rbx"
			 :
			 : "a"(be_deep), "b"(place)
			 : "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory");
}

static void unknown_frames_are_searched(void **state)
{
	static const struct code_range nowhere = {0x5a5a5a5a5a50, 0x5a5a5a5a5a60};
	struct tracee t;

	(void)state;
	memset(told, 0, sizeof(*told));
	pid_t pid = start(be_generated);
	while (!__atomic_load_n(&told->ready, __ATOMIC_SEQ_CST))
		usleep(1000);
	assert_int_equal(tracee_open(&t, pid), 0);
	assert_int_equal(tracee_stop(&t), 0);
	assert_int_equal(any_thread_is_in(&t, &nowhere, 1, NULL), 0);
	/* made only now: the child's stack is a copy of ours */
	const struct code_range behind = range_of((void *)be_generated, 80);
	assert_int_equal(any_thread_is_in(&t, &behind, 1, NULL), -EAGAIN);
	tracee_close(&t);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/*
 * Threads that are killed while they are stopped, as exec(2) kills those beside the caller, are
 * taken notice of: else the caller of exec(2) waits for them until the recorder ends.
 */
static void killed_threads_are_taken_notice_of(void **state)
{
	struct tracee t;

	(void)state;
	memset(told, 0, sizeof(*told));
	pid_t pid = start(be_waited_for);
	for (int i = 0; i < LOOKS && __atomic_load_n(&told->ready, __ATOMIC_SEQ_CST) < WAITERS; i++)
		usleep(1000);
	assert_int_equal(told->ready, WAITERS);
	assert_int_equal(tracee_open(&t, pid), 0);
	assert_int_equal(tracee_stop(&t), 0);
	kill(pid, SIGKILL);
	tracee_go_on(&t);
	for (int i = 0; i < LOOKS && t.threads.count; i++) {
		tracee_look(&t);
		usleep(1000);
	}
	assert_int_equal(t.threads.count, 0);
	tracee_close(&t);
	assert_int_equal(kill(pid, 0), -1); /* nothing is left for its parent to wait for */
	assert_int_equal(errno, ESRCH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(waits_go_on),
		cmocka_unit_test(waits_for_thread_that_does_not_stop),
		cmocka_unit_test(handlers_return_to_calls), cmocka_unit_test(frames_are_followed),
		cmocka_unit_test(unknown_frames_are_searched),
		cmocka_unit_test(killed_threads_are_taken_notice_of)};

	if (!sys_tracing_is_known()) {
		printf("processes cannot be traced on this kind of CPU\n");
		return 77;
	}
	told = mmap(NULL, sizeof(*told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
