/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program in a state, or with descriptors and children, that few have. Under `brick record`, or
 * with a recording of its own (embed=FILE as the first argument):
 *
 *   bricks             1000 bricks on each of 4 threads
 *   child HOW          1000 bricks, a child in its memory with 10, then 1000 more; HOW: vfork or
 *                      clone, whose child ends with _exit(), or vfork-exit, clone-exit: with exit()
 *   beside HOW         a child that has 1000 bricks while its parent has 1000; HOW: fork, _Fork,
 *                      clone
 *   choosing HOW       a child of the same kinds, with 10 bricks, while another thread is in the
 * middle of its first one; then 1000 there often HOW          50 children, made by _Fork or clone
 * beside threads that come and go, which have 10 bricks each; 500 threads with 1000 each exec HOW
 * FILE      1000 bricks, then becomes a copy of FILE that has no name, with "bricks" as its
 * argument; HOW: fexecve, execveat, or syscall-execveat, syscall-execve streams            closes
 * its streams; one thread writes to their numbers all the same, while 160 others have 1000 bricks
 * each steps FILE         a step, then closes all descriptors and opens FILE 64 times, then 10
 * steps and 1000 bricks on each of 4 threads reuse FILE         closes all descriptors and opens
 * FILE, again and again, and looks at it, while 160 threads have 1000 bricks each numbers 1000
 * bricks, then all descriptors are its standard output, then 1000 on each of 4 threads and in a
 * child signals            blocks all signals and ignores its children's ends, then 1000 bricks in
 * a child and on each of 4 threads churn              500 threads that come and go, with 1000
 * bricks each locked             locks its memory, with what is still to come, then 1000 bricks
 *
 *   addresses MB       1000 bricks while it may have so many more addresses, then needs most of
 * them daemon MS          1000 bricks, then ends and leaves a process behind, which has 1000 after
 * MS timeout [FILE]     a handler leaves its first brick, or the start of a recording in FILE, by
 *                      siglongjmp(); then 1000 bricks on each of 4 threads
 *   without HOW        1000 bricks, then the kernel stops it where it reads the CPU's counter, or
 *                      CPUID, then 1000 bricks; HOW: tsc, tsc-by-number, strict, strict-by-number,
 *                      tsc-first (before the first), cpuid (the same)
 *
 * Ends with 0; 9 when something of its own was harmed.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "brick/brick.h"

enum { BRICKS = 1000, FEW = 10, MOST = 16 };

static const char own_text[] = "twenty-five bytes of text";
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

static int on_threads(int count)
{
	pthread_t threads[MOST];
	int started = 0;

	while (started < count && !pthread_create(&threads[started], NULL, bricks, NULL))
		started++;
	for (int i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	return started == count ? 0 : 8;
}

static int ended_well(pid_t child)
{
	int status = 0;

	return child > 0 && waitpid(child, &status, 0) == child && !status;
}

static int in_parents_memory(void *ends_with_exit)
{
	some_bricks(FEW);
	if (ends_with_exit)
		exit(0);
	_exit(0);
}

static pid_t child_in_memory(int is_clone, void *ends_with_exit)
{
	static char stack[1 << 18] __attribute__((aligned(16)));

	if (is_clone)
		return clone(in_parents_memory, stack + sizeof stack,
			CLONE_VM | CLONE_VFORK | SIGCHLD, ends_with_exit);
	pid_t child = vfork();
	if (!child)
		in_parents_memory(ends_with_exit);
	return child;
}

static int child(const char *how)
{
	some_bricks(BRICKS);
	pid_t pid = child_in_memory(!strncmp(how, "clone", 5), strstr(how, "-exit"));
	int code = ended_well(pid) ? 0 : 9;
	usleep(400000); /* whoever thinks that the process has ended looks no more */
	some_bricks(BRICKS);
	return code;
}

static pid_t fork_by(const char *how)
{
	if (!strcmp(how, "clone"))
		return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	pid_t (*function)(void) = (pid_t(*)(void))dlsym(RTLD_DEFAULT, how);
	return function ? function() : fork();
}

static int beside(const char *how)
{
	some_bricks(1);
	pid_t pid = fork_by(how);
	some_bricks(BRICKS);
	if (!pid)
		exit(0);
	return ended_well(pid) ? 0 : 9;
}

/* What the library finds first: its choice of a clock looks at a file of one of these names. */
static __thread int is_first;
static int is_waiting;

BRICK_API int open(const char *path, int flags, ...)
{
	va_list rest;

	va_start(rest, flags);
	mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
	va_end(rest);
	if (is_first && (strstr(path, "clocksource") || strstr(path, "timens_offsets"))) {
		is_first = 0;
		__atomic_store_n(&is_waiting, 1, __ATOMIC_RELEASE);
		while (__atomic_load_n(&is_waiting, __ATOMIC_ACQUIRE))
			usleep(1000);
	}
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

static void *first_brick(void *unused)
{
	is_first = 1;
	some_bricks(1);
	is_first = 0;
	__atomic_store_n(&is_over, 1, __ATOMIC_RELEASE);
	some_bricks(BRICKS - 1);
	return unused;
}

static int choosing(const char *how)
{
	pthread_t first;

	if (pthread_create(&first, NULL, first_brick, NULL))
		return 8;
	while (!__atomic_load_n(&is_waiting, __ATOMIC_ACQUIRE) &&
		!__atomic_load_n(&is_over, __ATOMIC_ACQUIRE))
		usleep(1000);
	pid_t pid = fork_by(how);
	if (!pid) {
		some_bricks(FEW);
		_exit(0);
	}
	int code = ended_well(pid) ? 0 : 9;
	__atomic_store_n(&is_waiting, 0, __ATOMIC_RELEASE);
	pthread_join(first, NULL);
	return code;
}

/* A child of these finds every lock as it was, and is to take none but ours. */
static void *fork_often(void *how)
{
	for (int i = 0; i < 50; i++) {
		pid_t pid = fork_by(how);
		if (!pid) {
			some_bricks(FEW);
			_exit(0);
		}
		if (!ended_well(pid))
			__atomic_store_n(&is_over, 9, __ATOMIC_RELAXED);
	}
	return how;
}

static int churn(void)
{
	int code = 0;

	for (int i = 0; i < 50; i++)
		code |= on_threads(10);
	return code;
}

static int often(const char *how)
{
	pthread_t forker;

	if (pthread_create(&forker, NULL, fork_often, (void *)how))
		return 8;
	int code = churn();
	pthread_join(forker, NULL);
	return code ? code : is_over;
}

static int copy_of(const char *path)
{
	char part[1 << 16];
	ssize_t n;
	int from = open(path, O_RDONLY | O_CLOEXEC), to = memfd_create("attack", MFD_CLOEXEC);

	while ((n = read(from, part, sizeof part)) > 0)
		if (write(to, part, (size_t)n) != n)
			return -1;
	close(from);
	return to;
}

static int become(const char *how, const char *path)
{
	char *argv[] = {"attack", "bricks", NULL}, name[64];
	int fd = copy_of(path);

	some_bricks(BRICKS);
	snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
	if (!strcmp(how, "fexecve"))
		fexecve(fd, argv, environ);
	else if (!strcmp(how, "execveat"))
		execveat(fd, "", argv, environ, AT_EMPTY_PATH);
	else if (!strcmp(how, "syscall-execveat"))
		syscall(SYS_execveat, fd, "", argv, environ, AT_EMPTY_PATH);
	else
		syscall(SYS_execve, name, argv, environ);
	return 8;
}

static void *write_to_streams(void *hits)
{
	while (!__atomic_load_n(&is_over, __ATOMIC_RELAXED))
		for (int fd = 0; fd < 3; fd++)
			*(int *)hits += write(fd, own_text, 25) > 0;
	return hits;
}

static int streams(void)
{
	pthread_t writer;
	int hits = 0, code = 0;

	for (int fd = 0; fd < 3; fd++)
		close(fd);
	if (pthread_create(&writer, NULL, write_to_streams, &hits))
		return 8;
	for (int i = 0; i < 10; i++)
		code |= on_threads(MOST);
	__atomic_store_n(&is_over, 1, __ATOMIC_RELAXED);
	pthread_join(writer, NULL);
	return hits ? 9 : code;
}

static int steps(const char *path)
{
	enum { FILES = 64 };
	int own[FILES], harmed = 0;

	brick_end(brick_step_begin(BRICK_PHASE_DECODE, 1));
	for (int fd = 3; fd < 1024; fd++)
		close(fd);
	for (int i = 0; i < FILES; i++) {
		own[i] = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		if (write(own[i], own_text, 25) != 25 || lseek(own[i], 0, SEEK_SET))
			return 8;
	}
	for (int i = 0; i < 10; i++)
		brick_end(brick_step_begin(BRICK_PHASE_DECODE, 1));
	int code = on_threads(4);
	for (int i = 0; i < FILES; i++)
		harmed |= lseek(own[i], 0, SEEK_CUR) != 0;
	return harmed ? 9 : code;
}

static void *close_and_open(void *path)
{
	while (!__atomic_load_n(&is_over, __ATOMIC_RELAXED)) {
		syscall(SYS_close_range, 3u, ~0u, 0u);
		open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	}
	return path;
}

static pthread_barrier_t all_are_here;

static void *bricks_together(void *unused)
{
	some_bricks(BRICKS);
	pthread_barrier_wait(&all_are_here); /* so that each has a ring of its own */
	return unused;
}

static int reuse(const char *path)
{
	enum { MANY = 200 };
	pthread_t other, threads[MANY];

	pthread_barrier_init(&all_are_here, NULL, MANY);
	if (pthread_create(&other, NULL, close_and_open, (void *)path))
		return 8;
	for (int i = 0; i < MANY; i++)
		if (pthread_create(&threads[i], NULL, bricks_together, NULL))
			return 8;
	for (int i = 0; i < MANY; i++)
		pthread_join(threads[i], NULL);
	__atomic_store_n(&is_over, 1, __ATOMIC_RELAXED);
	pthread_join(other, NULL);
	return 0;
}

static int numbers(void)
{
	some_bricks(BRICKS);
	for (int fd = 3; fd < 1024; fd++)
		dup2(1, fd);
	int code = on_threads(4);
	pid_t pid = fork();
	if (!pid) {
		some_bricks(BRICKS);
		exit(0);
	}
	return ended_well(pid) ? code : 9;
}

static int signals(void)
{
	struct sigaction ignored = {.sa_handler = SIG_IGN, .sa_flags = SA_NOCLDWAIT};
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	sigaction(SIGCHLD, &ignored, NULL);
	pid_t pid = fork();
	if (!pid) {
		some_bricks(BRICKS);
		exit(0);
	}
	/* it waits until the child has gone, and there is nothing to be waited for */
	if (waitpid(pid, NULL, 0) != -1 || errno != ECHILD)
		return 9;
	return on_threads(4);
}

static long locked_kb(void)
{
	char line[256];
	long kb = -1;
	FILE *in = fopen("/proc/self/status", "r");

	while (in && fgets(line, sizeof line, in))
		(void)!sscanf(line, "VmLck: %ld", &kb);
	if (in)
		fclose(in);
	return kb;
}

/* What is made later is locked, too, and has memory at once. That is not for what is ours. */
static int locked(void)
{
	if (mlockall(MCL_CURRENT | MCL_FUTURE))
		return 8;
	long before = locked_kb();
	some_bricks(BRICKS);
	return locked_kb() - before < 2048 ? 0 : 9;
}

/* A launcher with bricks of its own, whose child goes on without it. */
static int daemon_of(const char *ms)
{
	some_bricks(BRICKS);
	pid_t child = fork();
	if (child)
		return child > 0 ? 0 : 8;
	setsid();
	if (fork())
		_exit(0);
	fclose(stdout);
	fclose(stderr);
	usleep((useconds_t)atoi(ms) * 1000);
	some_bricks(BRICKS);
	_exit(0);
}

/* So many addresses are left, of which it will need all but 40 MB. */
static int addresses(const char *mb)
{
	size_t left = (size_t)atoi(mb) << 20, pages = 0;
	FILE *in = fopen("/proc/self/statm", "r");

	if (!in || fscanf(in, "%zu", &pages) != 1)
		return 8;
	fclose(in);
	const rlim_t limit = pages * (rlim_t)sysconf(_SC_PAGESIZE) + left;
	if (setrlimit(RLIMIT_AS, &(struct rlimit){limit, limit}))
		return 8;
	some_bricks(BRICKS);
	return mmap(NULL, left - (40 << 20), PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
			       MAP_FAILED
		       ? 9
		       : 0;
}

static sigjmp_buf out_of_work;
static int is_late;

/* What the library finds first: it asks when it makes a session, with locks held. */
BRICK_API int gethostname(char *name, size_t bytes)
{
	if (is_late)
		raise(SIGALRM);
	is_late = 0;
	memset(name, 0, bytes);
	strncpy(name, "host", bytes - 1);
	return 0;
}

static void leave(int number)
{
	(void)number;
	siglongjmp(out_of_work, 1);
}

static int timeout(const char *own)
{
	struct brick_session_options options = BRICK_SESSION_OPTIONS_INIT;

	options.output = own;
	signal(SIGALRM, leave);
	if (!sigsetjmp(out_of_work, 1)) {
		is_late = 1;
		if (*own)
			brick_session_start(&options);
		some_bricks(1);
		if (is_late)
			raise(SIGALRM); /* nothing records */
		return 9;
	}
	is_late = 0;
	if (sigprocmask(SIG_BLOCK, NULL, &(sigset_t){0}))
		return 8;
	alarm(60); /* ends what waits for a lock that nobody gives */
	signal(SIGALRM, SIG_DFL);
	return on_threads(4);
}

/* Confines itself; then there are bricks that nobody can time. No exit() can follow strict mode. */
static int without_counter(const char *how)
{
	if (!strcmp(how, "cpuid")) /* where the CPU cannot do so, nothing changes */
		syscall(SYS_arch_prctl, 0x1012 /* ARCH_SET_CPUID */, 0UL);
	if (!strcmp(how, "tsc-first"))
		prctl(PR_SET_TSC, PR_TSC_SIGSEGV);
	some_bricks(BRICKS);
	if (!strcmp(how, "tsc"))
		prctl(PR_SET_TSC, PR_TSC_SIGSEGV);
	if (!strcmp(how, "tsc-by-number"))
		syscall(SYS_prctl, PR_SET_TSC, PR_TSC_SIGSEGV);
	if (!strcmp(how, "strict"))
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
	if (!strcmp(how, "strict-by-number"))
		syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 0, NULL);
	some_bricks(BRICKS);
	(void)!write(STDOUT_FILENO, "done\n", 5);
	return (int)syscall(strcmp(how, "cpuid") ? SYS_exit : SYS_exit_group, 0);
}

static int run(const char *what, const char *how, const char *path)
{
	if (!strcmp(what, "bricks"))
		return on_threads(4);
	if (!strcmp(what, "child"))
		return child(how);
	if (!strcmp(what, "beside"))
		return beside(how);
	if (!strcmp(what, "choosing"))
		return choosing(how);
	if (!strcmp(what, "often"))
		return often(how);
	if (!strcmp(what, "exec"))
		return become(how, path);
	if (!strcmp(what, "streams"))
		return streams();
	if (!strcmp(what, "steps"))
		return steps(how);
	if (!strcmp(what, "reuse"))
		return reuse(how);
	if (!strcmp(what, "numbers"))
		return numbers();
	if (!strcmp(what, "signals"))
		return signals();
	if (!strcmp(what, "churn"))
		return churn();
	if (!strcmp(what, "addresses"))
		return addresses(how);
	if (!strcmp(what, "daemon"))
		return daemon_of(how);
	if (!strcmp(what, "timeout"))
		return timeout(how);
	if (!strcmp(what, "without"))
		return without_counter(how);
	return strcmp(what, "locked") ? 2 : locked();
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
	int code = run(argv[1], argc > 2 ? argv[2] : "", argc > 3 ? argv[3] : "");
	brick_session_stop();
	printf("done\n");
	return code;
}
