/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread is told a descriptor, not a file: in a program that embeds us the number may have
 * become another file's. To sync that harms nothing, and says nothing of ours.
 */
#include "lib/writer/part_sync.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/lock.h"
#include "base/scope.h"
#include "base/thread_start.h"

struct part_sync {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	/* under the lock */
	int fd; /* to be synced; -1: none */
	int stopping;
	int error;
};

static int disk_error(int fd)
{
	if (!fdatasync(fd))
		return 0;
	return errno == EIO || errno == ENOSPC || errno == EDQUOT ? -errno : 0;
}

static void *run(void *argument)
{
	struct part_sync *s = argument;

	pthread_setname_np(pthread_self(), "brick-sync");
	lock_take(&s->lock);
	while (s->fd >= 0 || !s->stopping) {
		int fd = s->fd;
		if (fd < 0) {
			pthread_cond_wait(&s->wake, &s->lock);
			continue;
		}
		s->fd = -1;
		lock_give(&s->lock);
		int error = disk_error(fd);
		lock_take(&s->lock);
		if (!s->error)
			s->error = error;
	}
	lock_give(&s->lock);
	return NULL;
}

static void destroy(struct part_sync *s)
{
	pthread_cond_destroy(&s->wake);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

struct part_sync *part_sync_create(void)
{
	struct part_sync *s = calloc(1, sizeof *s);

	if (!s)
		return NULL;
	s->fd = -1;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->wake, NULL);
	if (thread_start(&s->thread, NULL, 0, run, s)) {
		destroy(s);
		return NULL;
	}
	return s;
}

void part_sync_request(struct part_sync *s, int fd)
{
	HOLD_UNCANCELLED(&s->lock);
	s->fd = fd;
	pthread_cond_signal(&s->wake);
}

int part_sync_error(struct part_sync *s)
{
	if (!s)
		return 0;
	HOLD_UNCANCELLED(&s->lock);
	int error = s->error;
	return error;
}

int part_sync_destroy(struct part_sync *s)
{
	if (!s)
		return 0;
	lock_take(&s->lock);
	s->stopping = 1;
	pthread_cond_signal(&s->wake);
	lock_give(&s->lock);
	pthread_join(s->thread, NULL);
	int error = s->error;
	destroy(s);
	return error;
}
