/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that treats what is injected into it, or embedded in it, as badly as programs do. Under
 * `brick record`, or with a recording of its own (embed=FILE as the first argument):
 *
 *   descriptors FILE   closes all descriptors from 3 up, writes 21 bytes to FILE, then begins
 *                      bricks on many threads, forks, and goes on
 *   table              is its recording's file among its descriptors, or those of its child?
 *   cancel             threads that are cancelled before their first brick
 *   asynchronous       threads that may be cancelled anywhere, are so at their first bricks
 *   files N            has no descriptors left, then 1000 bricks on each of N threads
 *   fsize              may write files of 4 KiB only, then 1000 bricks
 *   memory BYTES       has so much address space left, then bricks on 16 threads
 *   chroot DIR         changes its root to DIR, then 1000 bricks
 *   mounts             bricks, other mounts, where the session's directory is not, bricks on
 *                      threads
 *   uring              an io_uring that the kernel serves by a thread of its own, bricks on threads
 *   kill               one brick, then SIGKILL
 *   environment        changes its environment on one thread, while 1600 others begin to record
 *   loader FILE        a constructor that loads plugins, while another thread loads some: plugins
 *                      are FILE.1 to FILE.3, and dladdr() takes 100 ms
 *   codec FILE         calls functions of a library that are called as some of llama.cpp's
 *   live FILE          opens a library whose constructor has a thread asleep in it, and wakes it
 *   fork HOW           1000 bricks, a child with 1000 that ends with exit(), then 1000; HOW: fork,
 *                      _Fork, clone, or vfork, whose child has none and ends with _exit()
 *   exit US            exit() in a signal handler, so many microseconds after the first brick began
 *   seccomp            1000 bricks, then may do hardly anything but end
 *   sandbox HOW        1000 bricks, then it and all that it starts may do what threads and memory
 *                      need, and nothing else: another 1000 with other names, as many on each of
 *                      16 threads, and in a child; HOW: prctl, seccomp, late (before the first one)
 *   alone PROGRAM ...  becomes that program, which may do what the dynamic linker does, no more
 *   behind PROGRAM ... the same, and what attack_guest itself does
 *   within PROGRAM ... the same, behind a filter that lets everything pass, as a container has one
 *   span               ends bricks that nobody has begun, then 1000 bricks
 *   bricks             1000 bricks
 *   host MB            has so much memory, then bricks on 16 threads, then needs 30 MB more
 *
 * With ATTACK_FROZEN in its environment clock_gettime() stands still.
 * Says at its end how many descriptors it has. Ends with 0; 9 when something of its own was harmed.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/io_uring.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "brick/abi/lane.h"
#include "brick/abi/thread.h"
#include "brick/brick.h"

enum { BRICKS = 1000, THREADS = 16, CANCELLED = 50 };

static const char own_text[] = "twenty-one bytes, all";

static void *bricks(void *unused)
{
	for (int i = 0; i < BRICKS; i++)
		brick_end(brick_begin(BRICK_RMS_NORM));
	return unused;
}

static void *bricks_for_long(void *unused)
{
	bricks(NULL);
	usleep(500000); /* all have their lanes */
	return unused;
}

static void start_threads(int count, void *(*run)(void *))
{
	pthread_t threads[64];
	pthread_attr_t small;
	int started = 0;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 1 << 17); /* address space may be short */
	while (started < count && !pthread_create(&threads[started], &small, run, NULL))
		started++;
	pthread_attr_destroy(&small);
	if (started < count)
		exit(8);
	for (int i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
}

static void bricks_on_threads(int count)
{
	start_threads(count, bricks);
}

static void limit(int which, rlim_t value)
{
	const struct rlimit both = {value, value};

	if (setrlimit(which, &both))
		exit(8);
}

static off_t size_of(int fd)
{
	struct stat st;

	return fstat(fd, &st) ? -1 : st.st_size;
}

static int descriptors(const char *path)
{
	int mine[8], harmed = 0;

	bricks(NULL);
	for (int fd = 3; fd < 1024; fd++)
		close(fd);
	for (int i = 0; i < 8; i++) {
		char name[512];
		snprintf(name, sizeof name, "%s.%d", path, i);
		mine[i] = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
		if (mine[i] < 0 || write(mine[i], own_text, 21) != 21)
			return 8;
	}
	bricks_on_threads(THREADS);
	pid_t child = fork();
	if (!child) {
		bricks_on_threads(2);
		for (int i = 0; i < 8; i++)
			harmed |= size_of(mine[i]) != 21;
		_exit(harmed ? 9 : 0);
	}
	int status = 0;
	waitpid(child, &status, 0);
	brick_session_stop();
	for (int i = 0; i < 8; i++)
		harmed |= size_of(mine[i]) != 21;
	return harmed || status ? 9 : 0;
}

static int descriptors_open(void)
{
	int count = 0;

	for (int fd = 0; fd < 1024; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

static int holds_part(void)
{
	DIR *list = opendir("/proc/self/fd");
	struct dirent *entry;
	int found = 0;

	while (list && (entry = readdir(list))) {
		char target[512] = "";
		if (readlinkat(dirfd(list), entry->d_name, target, sizeof target - 1) > 0)
			found |= strstr(target, ".part") != NULL;
	}
	if (list)
		closedir(list);
	return found;
}

static int table(void)
{
	enum { UNSHARE = 2 };

	bricks(NULL);
	pid_t child = fork();
	if (!child && syscall(SYS_close_range, ~0u, ~0u, UNSHARE))
		_exit(10); /* threads cannot have tables of their own here */
	if (!child)
		_exit(holds_part() ? 9 : 0);
	int status = 0;
	waitpid(child, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 10)
		return 0;
	return status || holds_part() ? 9 : 0;
}

static void *cancelled(void *unused)
{
	pthread_cancel(pthread_self());
	bricks(NULL);
	pthread_testcancel();
	return unused;
}

static int cancel(void)
{
	for (int i = 0; i < CANCELLED; i++) {
		pthread_t thread;
		void *how = NULL;
		if (pthread_create(&thread, NULL, cancelled, NULL) || pthread_join(thread, &how) ||
			how != PTHREAD_CANCELED)
			return 9;
	}
	bricks(NULL);
	return 0;
}

static void *bricks_for_ever(void *unused)
{
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	for (;;)
		bricks(NULL);
	return unused;
}

/* POSIX lets three functions be called so. A recorded program does not know that it calls ours. */
static int asynchronous(void)
{
	enum { TIMES = 100, MOST_US = 300 };

	srand(1);
	for (int i = 0; i < TIMES; i++) {
		pthread_t thread;
		void *how = NULL;
		if (pthread_create(&thread, NULL, bricks_for_ever, NULL))
			return 8;
		usleep((unsigned)rand() % MOST_US);
		pthread_cancel(thread);
		if (pthread_join(thread, &how) || how != PTHREAD_CANCELED)
			return 9;
	}
	return 0;
}

static int files(int threads)
{
	limit(RLIMIT_NOFILE, 3);
	bricks_on_threads(threads);
	return 0;
}

static int fsize(void)
{
	limit(RLIMIT_FSIZE, 4096);
	bricks(NULL);
	return 0;
}

static int memory(rlim_t bytes)
{
	unsigned long long pages = 0;
	FILE *in = fopen("/proc/self/statm", "r");

	if (!in || fscanf(in, "%llu", &pages) != 1)
		return 8;
	fclose(in);
	limit(RLIMIT_STACK, 1 << 16);
	limit(RLIMIT_AS, pages * (rlim_t)sysconf(_SC_PAGESIZE) + bytes);
	bricks_on_threads(THREADS);
	return 0;
}

static int is_over;

/* So many variables that the C library's list of them has pages of its own, which come and go. */
static void *change_environment(void *unused)
{
	enum { MANY = 16500, OWN_PAGES = 1 << 16 };
	static char *many[MANY + 1], one[] = "ATTACK=1";

	mallopt(M_MMAP_THRESHOLD, OWN_PAGES);
	for (int i = 0; i < MANY; i++)
		many[i] = one;
	while (!__atomic_load_n(&is_over, __ATOMIC_RELAXED)) {
		environ = many;
		for (int i = 0; i < 4; i++)
			setenv("ATTACK_MORE", "1", 1);
		clearenv();
	}
	return unused;
}

static int environment(void)
{
	pthread_t changer;

	if (pthread_create(&changer, NULL, change_environment, NULL))
		return 8;
	for (int i = 0; i < 100; i++)
		bricks_on_threads(THREADS);
	__atomic_store_n(&is_over, 1, __ATOMIC_RELAXED);
	pthread_join(changer, NULL);
	return 0;
}

/* What the dynamic linker and others find first. */
static const char *plugins; /* "loader": where they are */
static int is_frozen = -1;  /* the clock stands still; -1: not known */

static void load_plugin(int number)
{
	char path[512];

	snprintf(path, sizeof path, "%s.%d", plugins, number);
	if (!dlopen(path, RTLD_NOW | RTLD_LOCAL))
		exit(8);
}

BRICK_API void attack_constructor(void);
void attack_constructor(void)
{
	static int depth;

	if (!plugins || __atomic_fetch_add(&depth, 1, __ATOMIC_RELAXED) != 1)
		return;
	usleep(200000); /* the loader's lock is held; the other thread loads what is needed */
	load_plugin(3);
}

BRICK_API int dladdr(const void *address, Dl_info *info)
{
	static int (*real)(const void *, Dl_info *);

	if (!real)
		real = (int (*)(const void *, Dl_info *))dlsym(RTLD_NEXT, "dladdr");
	if (plugins)
		usleep(100000);
	return real(address, info);
}

BRICK_API int clock_gettime(clockid_t clock, struct timespec *now)
{
	static const struct timespec moment = {1000, 0};

	if (is_frozen < 0)
		is_frozen = getenv("ATTACK_FROZEN") != NULL;
	if (!is_frozen)
		return (int)syscall(SYS_clock_gettime, clock, now);
	*now = moment;
	return 0;
}

static void *load_first(void *unused)
{
	load_plugin(1);
	return unused;
}

static int loader(const char *path)
{
	pthread_t first;

	plugins = path;
	if (pthread_create(&first, NULL, load_first, NULL))
		return 8;
	usleep(50000); /* it looks for a library of ours now */
	load_plugin(2);
	pthread_join(first, NULL);
	return 0;
}

static int call_of(const char *path, const char *name)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	int (*call)(void) = library ? (int (*)(void))dlsym(library, name) : NULL;

	bricks(NULL);
	return call ? call() : 8;
}

static pid_t fork_by(const char *how)
{
	if (!strcmp(how, "fork"))
		return fork();
	if (!strcmp(how, "clone"))
		return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	pid_t (*function)(void) = (pid_t(*)(void))dlsym(RTLD_DEFAULT, "_Fork");
	return function ? function() : fork();
}

static int forked(const char *how)
{
	int status = 0;

	bricks(NULL);
	if (!strcmp(how, "vfork")) {
		pid_t child = vfork();
		if (!child)
			_exit(0);
		waitpid(child, &status, 0);
	} else {
		pid_t child = fork_by(how);
		if (!child) {
			bricks(NULL);
			exit(0);
		}
		waitpid(child, &status, 0);
	}
	usleep(400000); /* whoever thinks that the process has ended looks no more */
	bricks(NULL);
	return status ? 9 : 0;
}

static void leave(int number)
{
	exit(number == SIGALRM ? 5 : 9);
}

static int exit_in_handler(long us)
{
	const struct itimerval timer = {{0, 0}, {us / 1000000, us % 1000000}};

	signal(SIGALRM, leave);
	setitimer(ITIMER_REAL, &timer, NULL);
	while (!is_over)
		bricks(NULL);
	return 9;
}

/* Everything else kills. */
static const int allowed[] = {SYS_write, SYS_exit, SYS_exit_group, SYS_rt_sigreturn, SYS_fstat,
	SYS_newfstatat, SYS_brk, SYS_munmap, SYS_mmap, SYS_futex};
/* As these are what the C library makes of threads and of a fork. */
static const int of_threads[] = {SYS_write, SYS_exit, SYS_exit_group, SYS_rt_sigreturn, SYS_fstat,
	SYS_newfstatat, SYS_brk, SYS_munmap, SYS_mmap, SYS_futex, SYS_mprotect, SYS_madvise,
	SYS_clone, SYS_clone3, SYS_set_robust_list, SYS_rseq, SYS_rt_sigprocmask, SYS_wait4,
	SYS_rt_sigaction};

/* And these of a program's start; the first are attack_guest's own. */
enum { OWN = 3 };
static const int of_starts[] = {SYS_fcntl, SYS_getpid, SYS_madvise, SYS_write, SYS_exit,
	SYS_exit_group, SYS_rt_sigreturn, SYS_fstat, SYS_newfstatat, SYS_brk, SYS_munmap, SYS_mmap,
	SYS_futex, SYS_mprotect, SYS_set_robust_list, SYS_rseq, SYS_execve, SYS_openat, SYS_read,
	SYS_pread64, SYS_close, SYS_set_tid_address, SYS_prlimit64, SYS_getrandom,
#if defined(__x86_64__)
	SYS_access, SYS_arch_prctl
#else
	SYS_faccessat
#endif
};

enum { MOST_ALLOWED = 32 };

static void confine(const int *calls, int count, const char *how)
{
	struct sock_filter filter[MOST_ALLOWED + 3];
	int n = 0;

	filter[n++] = (struct sock_filter)BPF_STMT(
		BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (int i = 0; i < count; i++)
		filter[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
			(unsigned)calls[i], (unsigned char)(count - i), 0);
	filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	const struct sock_fprog program = {(unsigned short)n, filter};
	printf("done\n");
	fflush(stdout);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
		(!strcmp(how, "seccomp")
				? syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program)
				: prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)))
		exit(8);
}

static int seccomp(void)
{
	bricks(NULL);
	confine(allowed, sizeof(allowed) / sizeof(*allowed), "prctl");
	exit(6);
}

static void *other_bricks(void *unused)
{
	for (int i = 0; i < BRICKS; i++)
		brick_end(brick_begin(i % 2 ? BRICK_ROPE_EMBEDDING : BRICK_SAMPLING));
	return unused;
}

static int sandbox(const char *how)
{
	int status = 0;

	if (strcmp(how, "late") != 0)
		bricks(NULL);
	confine(of_threads, sizeof(of_threads) / sizeof(*of_threads), how);
	other_bricks(NULL);
	bricks_on_threads(THREADS);
	start_threads(THREADS, other_bricks);
	pid_t child = fork();
	if (!child) {
		bricks(NULL);
		bricks_on_threads(1);
		exit(0);
	}
	waitpid(child, &status, 0);
	exit(status ? 9 : 6);
}

static int behind(char **command, int left_out)
{
	confine(of_starts + left_out, (int)(sizeof(of_starts) / sizeof(*of_starts)) - left_out,
		"prctl");
	execv(command[0], command);
	return 8;
}

static int within(char **command)
{
	struct sock_filter all = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	const struct sock_fprog program = {1, &all};

	if (!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
		!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		execv(command[0], command);
	return 8;
}

static int span(void)
{
	bricks(NULL);
	brick_span real = brick_begin(BRICK_RMS_NORM);
	brick_end(real);
	for (unsigned garbage = 0; garbage < 0x10000; garbage++)
		if (garbage != real) /* it would end nothing, too, but be counted */
			brick__end(garbage);
	real = brick_begin(BRICK_ROPE_EMBEDDING);
	for (unsigned garbage = 0x101; garbage < 0x10001; garbage += 0x100)
		if (garbage != real) /* as deep, and of another lane */
			brick__end(garbage);
	const struct brick_lane *lane = brick__thread.lane;
	bool is_open = !lane || brick_lane_open(lane) == 1;
	bricks(NULL);
	brick_end(real);
	for (unsigned i = 0; i < 32; i++) {
		brick_end(brick__lap(1u << i, BRICK_RMS_NORM));
		brick__end_work(1u << i, 1, 1, 1);
	}
	return is_open ? 0 : 9;
}

static int take(size_t bytes)
{
	static char *volatile memory; /* else the compiler takes none */

	memory = malloc(bytes);
	if (!memory)
		return 9;
	memset(memory, 1, bytes);
	return 0;
}

static int host(size_t mb)
{
	if (take(mb << 20))
		return 8;
	start_threads(THREADS, bricks_for_long);
	return take(30 << 20);
}

static int mounts(void)
{
	bricks(NULL);
	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
		mount("none", "/dev/shm", "tmpfs", 0, NULL) ||
		mount("none", "/tmp", "tmpfs", 0, NULL))
		return 8;
	bricks_on_threads(THREADS);
	return 0;
}

/* What was registered and what polls for work keeps on, and is not counted as a thread of ours. */
static int uring(void)
{
	struct io_uring_params parameters = {.flags = IORING_SETUP_SQPOLL, .sq_thread_idle = 1000};
	int files[3] = {0, 1, 2};
	int ring = (int)syscall(SYS_io_uring_setup, 8, &parameters);

	/* the kernel may have none for us */
	if (ring >= 0 && syscall(SYS_io_uring_register, ring, IORING_REGISTER_FILES, files, 3))
		return 8;
	bricks_on_threads(THREADS);
	return ring >= 0 && close(ring) ? 9 : 0;
}

static int run(const char *what, const char *argument)
{
	if (!strcmp(what, "host"))
		return host(strtoul(argument, NULL, 10));
	if (!strcmp(what, "environment"))
		return environment();
	if (!strcmp(what, "loader"))
		return loader(argument);
	if (!strcmp(what, "codec"))
		return call_of(argument, "attack_codec");
	if (!strcmp(what, "live"))
		return call_of(argument, "attack_wake");
	if (!strcmp(what, "fork"))
		return forked(argument);
	if (!strcmp(what, "exit"))
		return exit_in_handler(atol(argument));
	if (!strcmp(what, "seccomp"))
		return seccomp();
	if (!strcmp(what, "sandbox"))
		return sandbox(argument);
	if (!strcmp(what, "span"))
		return span();
	if (!strcmp(what, "bricks")) {
		bricks(NULL);
		return 0;
	}
	if (!strcmp(what, "descriptors"))
		return descriptors(argument);
	if (!strcmp(what, "table"))
		return table();
	if (!strcmp(what, "cancel"))
		return cancel();
	if (!strcmp(what, "asynchronous"))
		return asynchronous();
	if (!strcmp(what, "files"))
		return files(atoi(argument));
	if (!strcmp(what, "fsize"))
		return fsize();
	if (!strcmp(what, "memory"))
		return memory(strtoul(argument, NULL, 10));
	if (!strcmp(what, "chroot")) {
		if (chroot(argument) || chdir("/"))
			return 8;
		bricks(NULL);
		return 0;
	}
	if (!strcmp(what, "mounts"))
		return mounts();
	if (!strcmp(what, "uring"))
		return uring();
	if (!strcmp(what, "kill")) {
		brick_end(brick_begin(BRICK_RMS_NORM));
		raise(SIGKILL);
	}
	return 2;
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
	if (!strcmp(argv[1], "behind") && argc > 2)
		return behind(argv + 2, 0);
	if (!strcmp(argv[1], "within") && argc > 2)
		return within(argv + 2);
	if (!strcmp(argv[1], "alone") && argc > 2)
		return behind(argv + 2, OWN);
	int code = run(argv[1], argc > 2 ? argv[2] : "");
	brick_session_stop();
	printf("done, %d descriptors\n", descriptors_open());
	return code;
}
