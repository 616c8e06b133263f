/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preloaded in front of libbrick: the first call of each function below comes just when another
 * thread forks. Whoever calls it with a lock that a fork waits for, while the fork holds what the
 * call waits for, is ended by a signal. Says on standard error what was forked in.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "brick/registry.h"
#include "brick/session.h"

enum { PATIENCE_S = 20, LEAD_US = 100000 };

static sem_t has_begun;
static pthread_t threads[2];
static int count;

/* The handler that was registered last comes first. */
static void fork_begins(void)
{
	sem_post(&has_begun);
}

static void *forks(void *unused)
{
	pid_t child = fork();

	if (!child)
		_exit(0);
	waitpid(child, NULL, 0);
	return NULL;
}

/* Returns while the fork takes its locks, or waits for one of them. */
static void fork_meanwhile(const char *what)
{
	if (!count) {
		sem_init(&has_begun, 0, 0);
		pthread_atfork(fork_begins, NULL, NULL);
		alarm(PATIENCE_S);
	}
	fprintf(stderr, "forks in %s\n", what);
	if (pthread_create(&threads[count], NULL, forks, NULL))
		return;
	count++;
	sem_wait(&has_begun);
	usleep(LEAD_US);
}

__attribute__((destructor)) static void wait_for_them(void)
{
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
}

static void *next_one(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

BRICK_API int brick_note(const char *key, const char *format, ...)
{
	static int (*next)(const char *, const char *, ...);
	char text[1000];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	if (!next) {
		void *function = next_one("brick_note");
		memcpy(&next, &function, sizeof next);
		fork_meanwhile("brick_note");
	}
	return next(key, "%s", text);
}

BRICK_API int brick_site_register(const struct brick_site *site)
{
	static int (*next)(const struct brick_site *);

	if (!next) {
		void *function = next_one("brick_site_register");
		memcpy(&next, &function, sizeof next);
		fork_meanwhile("brick_site_register");
	}
	return next(site);
}
