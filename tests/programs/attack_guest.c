/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that treats what is injected into it, or embedded in it, as badly as programs do. Under
 * `brick record`, or with a recording of its own (embed=FILE as the first argument):
 *
 *   descriptors FILE   closes all descriptors from 3 up, writes 21 bytes to FILE, then begins
 *                      bricks on many threads, forks, and goes on
 *   table              is its recording's file among its descriptors, or those of its child?
 *   cancel             threads that are cancelled before their first brick
 *   files N            has no descriptors left, then 1000 bricks on each of N threads
 *   fsize              may write files of 4 KiB only, then 1000 bricks
 *   memory BYTES       has so much address space left, then bricks on 16 threads
 *   chroot DIR         changes its root to DIR, then 1000 bricks
 *   kill               one brick, then SIGKILL
 *
 * Says at its end how many descriptors it has. Ends with 0; 9 when something of its own was harmed.
 */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "brick/brick.h"

enum { BRICKS = 1000, THREADS = 16, CANCELLED = 50 };

static const char own_text[] = "twenty-one bytes, all";

static void *bricks(void *unused)
{
	for (int i = 0; i < BRICKS; i++)
		brick_end(brick_begin(BRICK_RMS_NORM));
	return unused;
}

static void bricks_on_threads(int count)
{
	pthread_t threads[64];
	pthread_attr_t small;
	int started = 0;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 1 << 17); /* address space may be short */
	while (started < count && !pthread_create(&threads[started], &small, bricks, NULL))
		started++;
	pthread_attr_destroy(&small);
	if (started < count)
		exit(8);
	for (int i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
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

static int run(const char *what, const char *argument)
{
	if (!strcmp(what, "descriptors"))
		return descriptors(argument);
	if (!strcmp(what, "table"))
		return table();
	if (!strcmp(what, "cancel"))
		return cancel();
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
	int code = run(argv[1], argc > 2 ? argv[2] : "");
	brick_session_stop();
	printf("done, %d descriptors\n", descriptors_open());
	return code;
}
