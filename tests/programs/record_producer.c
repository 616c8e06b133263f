/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program with libbrick inside that does what its arguments say, one after the other, so that
 * tests of the recorder know exactly what it must have seen:
 *
 *   samples=N        N leaf bricks
 *   nested=N         N times an outer brick around an inner one
 *   steps=N          N decode steps around a brick
 *   open             begin a brick that is never ended
 *   open-step        begin a decode step that is never ended
 *   threads=T,N      T threads at a time with N leaf bricks each
 *   churn=R,T,N      the same, R times, with new threads
 *   forever=T        T threads with leaf bricks until the process is killed (does not return)
 *   paced=T,N,US     T threads: N bricks, each spinning for US microseconds
 *   busy=T,MS        T threads that only burn their core, for MS milliseconds, in the background
 *   sleep=MS         sleep
 *   fork             a child does the rest; this process waits for it and returns its code
 *   daemon           a child in a session of its own does the rest; this process soon returns 0
 *   exec             run this program anew in this process, with the rest as its arguments
 *   say=TEXT, warn=TEXT   a line to stdout, to stderr
 *   copy             stdin to stdout
 *   truncate         cut this process's own session file to nothing
 *   embed=MS,FILE    record into a file of its own, with that interval, until the end
 *   signal=N         raise a signal; exit=N: leave with that code, without another word
 */
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "brick/brick.h"

struct task {
	long samples, spin_us;
	pthread_t thread;
};

static void fail(const char *what)
{
	perror(what);
	exit(99);
}

static void spin_us(long us)
{
	const struct brick_clock *clock = brick_clock_get();
	uint64_t ticks = (uint64_t)us * clock->frequency / 1000000, start = brick_ticks();

	while (brick_ticks() - start < ticks)
		;
}

static void leaves(long count)
{
	for (long i = 0; i < count; i++)
		brick_end_elements(brick_begin(BRICK_RMS_NORM), 1);
}

static void nested(long count)
{
	for (long i = 0; i < count; i++) {
		brick_span outer = brick_begin(BRICK_GRAPH_COMPUTE);
		brick_end(brick_begin(BRICK_LM_HEAD));
		brick_end(outer);
	}
}

static void steps(long count)
{
	for (long i = 0; i < count; i++) {
		brick_span step = brick_step_begin(BRICK_PHASE_DECODE, 1);
		brick_end(brick_begin(BRICK_LM_HEAD));
		brick_end(step);
	}
}

static void *leaves_of_task(void *argument)
{
	struct task *task = argument;

	for (long i = 0; i != task->samples; i++) {
		brick_span span = brick_begin(BRICK_RMS_NORM);
		if (task->spin_us)
			spin_us(task->spin_us);
		brick_end(span);
	}
	return NULL;
}

static void threads(long count, long samples, long us)
{
	struct task *tasks = calloc((size_t)count, sizeof *tasks);

	for (long i = 0; i < count; i++) {
		tasks[i].samples = samples;
		tasks[i].spin_us = us;
		if (pthread_create(&tasks[i].thread, NULL, leaves_of_task, &tasks[i]))
			fail("pthread_create");
	}
	for (long i = 0; i < count; i++)
		pthread_join(tasks[i].thread, NULL);
	free(tasks);
}

static void *burn(void *argument)
{
	spin_us(*(long *)argument * 1000);
	return NULL;
}

static void busy(long count, long ms)
{
	static long length_ms;
	pthread_t thread;

	length_ms = ms;
	for (long i = 0; i < count; i++) {
		if (pthread_create(&thread, NULL, burn, &length_ms))
			fail("pthread_create");
		pthread_detach(thread);
	}
}

static void fork_rest(void)
{
	int status;
	pid_t pid = fork();

	if (pid < 0)
		fail("fork");
	if (pid == 0)
		return;
	if (waitpid(pid, &status, 0) != pid)
		fail("waitpid");
	exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

static void daemon_rest(void)
{
	pid_t pid = fork();

	if (pid < 0)
		fail("fork");
	if (pid) {
		/* until the recorder has seen the child's session */
		usleep(300000);
		exit(0);
	}
	setsid();
}

static void exec_rest(char **argv, char **rest)
{
	char **arguments = calloc(256, sizeof *arguments);
	int n = 0;

	arguments[n++] = argv[0];
	while (*rest && n < 255)
		arguments[n++] = *rest++;
	execv("/proc/self/exe", arguments);
	fail("exec");
}

static void copy(void)
{
	char buffer[65536];
	ssize_t n;

	while ((n = read(0, buffer, sizeof buffer)) > 0)
		for (ssize_t at = 0, done; at < n; at += done)
			if ((done = write(1, buffer + at, (size_t)(n - at))) < 0)
				fail("write");
}

static void cut_session(void)
{
	const char *directory = getenv("BRICK_SESSION_DIR");
	char prefix[32];
	DIR *list = directory ? opendir(directory) : NULL;
	struct dirent *entry;

	snprintf(prefix, sizeof prefix, "%d-", (int)getpid());
	while (list && (entry = readdir(list)))
		if (!strncmp(entry->d_name, prefix, strlen(prefix)) &&
			(chdir(directory) || truncate(entry->d_name, 0)))
			fail("truncate");
}

static void stop(void)
{
	errno = -brick_session_stop();
	if (errno)
		fail("brick_session_stop");
}

static void embed(long ms, const char *value)
{
	struct brick_session_options o = BRICK_SESSION_OPTIONS_INIT;
	const char *comma = value ? strchr(value, ',') : NULL;

	o.output = comma ? comma + 1 : NULL;
	o.interval_ms = (uint32_t)ms;
	o.ring_records = 1024; /* for those that fill up before */
	errno = comma ? -brick_session_start(&o) : EINVAL;
	if (errno)
		fail("brick_session_start");
	atexit(stop);
}

static void act(char **argv, const char *action, char **rest)
{
	char word[256], *value;
	long a = 0, b = 0, c = 0;

	snprintf(word, sizeof word, "%s", action);
	value = strchr(word, '=');
	if (value) {
		*value++ = '\0';
		sscanf(value, "%ld,%ld,%ld", &a, &b, &c);
	}
	if (!strcmp(word, "samples"))
		leaves(a);
	else if (!strcmp(word, "nested"))
		nested(a);
	else if (!strcmp(word, "steps"))
		steps(a);
	else if (!strcmp(word, "open"))
		brick_begin(BRICK_SAMPLING);
	else if (!strcmp(word, "open-step"))
		brick_step_begin(BRICK_PHASE_DECODE, 1);
	else if (!strcmp(word, "threads"))
		threads(a, b, 0);
	else if (!strcmp(word, "forever"))
		threads(a, -1, 0);
	else if (!strcmp(word, "paced"))
		threads(a, b, c);
	else if (!strcmp(word, "busy"))
		busy(a, b);
	else if (!strcmp(word, "sleep"))
		usleep((useconds_t)a * 1000);
	else if (!strcmp(word, "fork"))
		fork_rest();
	else if (!strcmp(word, "daemon"))
		daemon_rest();
	else if (!strcmp(word, "exec"))
		exec_rest(argv, rest);
	else if (!strcmp(word, "say"))
		dprintf(1, "%s\n", value);
	else if (!strcmp(word, "warn"))
		dprintf(2, "%s\n", value);
	else if (!strcmp(word, "copy"))
		copy();
	else if (!strcmp(word, "truncate"))
		cut_session();
	else if (!strcmp(word, "embed"))
		embed(a, value);
	else if (!strcmp(word, "signal"))
		raise((int)a);
	else if (!strcmp(word, "exit"))
		_exit((int)a);
	else if (!strcmp(word, "churn"))
		while (a-- > 0)
			threads(b, c, 0);
	else {
		fprintf(stderr, "%s: what?\n", word);
		exit(98);
	}
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		act(argv, argv[i], argv + i + 1);
	return 0;
}
