/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The session's file: its header, which describes the process, and the places of the tables behind
 * it. What is in the tables belongs to others.
 */
#include "lib/session/session_map.h"

#include <pthread.h>
#include <unistd.h>
#include "base/clock_ns.h"
#include "base/time_namespace.h"
#include "base/lock.h"
#include "lib/session/launcher.h"
#include "lib/sys/sys.h"
#include "lib/sys/ticks.h"

struct brick__session brick__session;
uint32_t brick__live;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void brick__session_lock(void)
{
	lock_take(&lock);
}

void brick__session_unlock(void)
{
	lock_give(&lock);
}

/* Offsets of the tables behind the header; returns the bytes of all. */
static uint64_t lay_out(struct brick_session_header *h)
{
	uint64_t at = BRICK_SESSION_LANES_OFFSET;

	at += BRICK_MAX_LANES * sizeof(struct brick_session_lane);
	h->notes_offset = at;
	at += BRICK_NOTES_BYTES;
	h->category_offset = at;
	at += BRICK_MAX_CATEGORIES * sizeof(struct brick_session_category);
	h->brick_offset = at;
	at += BRICK_MAX_BRICKS * sizeof(struct brick_session_brick);
	h->site_offset = at;
	at += BRICK_MAX_SITES * sizeof(struct brick_session_site);
	h->drained_offset = at;
	at += (uint64_t)BRICK_MAX_BRICKS * BRICK_HISTOGRAM_BUCKETS * sizeof(uint32_t);
	h->digest_offset = at;
	h->digest_capacity = BRICK_DIGEST_RING;
	at += BRICK_DIGEST_RING * sizeof(struct brick_session_digest);
	h->kernel_offset = at;
	at += BRICK_MAX_KERNELS * sizeof(struct brick_session_kernel);
	h->code_offset = at;
	at += BRICK_CODE_BYTES;
	return at;
}

static void describe_process(struct brick_session_header *h)
{
	h->pid = (uint32_t)getpid();
	h->parent = (uint32_t)getppid();
	brick__launcher_rank(&h->rank, &h->world);
	h->start_unix_ns = real_ns();
	h->start_ns = brick__monotonic_ns();
	h->start_ticks = brick__now();
	gethostname(h->host, sizeof h->host - 1);
	brick__sys_executable(h->executable, sizeof h->executable);
	h->command_bytes = (uint32_t)brick__sys_command(h->command, sizeof h->command);
}

int brick__session_create(
	struct brick__session *s, const char *directory, const char *name, uint32_t mode)
{
	struct brick_session_header layout = {0};
	uint64_t bytes = lay_out(&layout);
	int error;

	error = brick__shared_create(&s->file, directory, name);
	if (error)
		return error;
	error = brick__shared_extend(&s->file, bytes);
	if (!error)
		error = brick__shared_reserve(&s->file, 0, layout.site_offset);
	if (!error)
		s->header = brick__shared_map(&s->file, 0, bytes, &error);
	if (error) {
		brick__shared_unlink(&s->file);
		brick__shared_close(&s->file);
		s->header = NULL;
		return error;
	}
	s->header_bytes = bytes;
	*s->header = layout;
	s->header->version = BRICK_SESSION_VERSION;
	s->header->header_bytes = sizeof *s->header;
	s->header->lane_bytes = sizeof(struct brick_lane);
	s->header->state = BRICK_SESSION_OPEN;
	s->header->mode = mode;
	s->header->clock = *brick_clock_get();
	describe_process(s->header);
	/* its reader may be in another time namespace */
	s->header->clock.base_ns -= (uint64_t)time_namespace_offset_ns(CLOCK_MONOTONIC);
	s->header->start_ns -= (uint64_t)time_namespace_offset_ns(CLOCK_MONOTONIC);
	return 0;
}

void brick__session_ready(struct brick__session *s)
{
	__atomic_store_n(&s->header->magic, BRICK_SESSION_MAGIC, __ATOMIC_RELEASE);
}

void brick__session_destroy(struct brick__session *s)
{
	__atomic_store_n(&brick__live, 0, __ATOMIC_RELEASE);
	brick__sys_unmap(s->header, s->header_bytes);
	brick__shared_close(&s->file);
	s->header = NULL;
}
