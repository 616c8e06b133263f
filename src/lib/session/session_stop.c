/* SPDX-License-Identifier: Apache-2.0 */
/* How the process's session pauses and ends, by whoever started it or with the process. */
#include <errno.h>
#include <stdlib.h>
#include "base/scope.h"
#include "brick/session.h"
#include "lib/session/consumer.h"
#include "lib/probe/digest_record.h"
#include "lib/session/lane_memory.h"
#include "lib/session/orphan.h"
#include "lib/device/queue_lane.h"
#include "lib/session/session_state.h"
#include "lib/session/session_map.h"
#include "lib/sys/ticks.h"

static int stop_session(void)
{
	struct brick__session *s = &brick__session;
	int error = 0;

	brick__session_switch(0);
	__atomic_store_n(&brick__live, 0, __ATOMIC_RELEASE);
	brick__digests_use(NULL);
	s->header->end_ticks = brick__now();
	__atomic_store_n(&s->header->state, BRICK_SESSION_CLOSED, __ATOMIC_RELEASE);
	if (s->consumer)
		error = s->consumer_type->stop(s->consumer);
	s->consumer = NULL;
	brick__lanes_release(s);
	brick__session_destroy(s);
	return error;
}

int brick_session_stop(void)
{
	KEEP_ERRNO();
	int error = -ENOENT;

	if (!getenv("BRICK_SESSION_DIR"))
		brick__queues_account(0);
	BETWEEN(brick__session_lock, brick__session_unlock);
	if (brick__session.header && brick__session.external && getenv("BRICK_SESSION_DIR"))
		error = 0; /* the recorder's session ends with the process */
	else if (brick__session.header)
		error = stop_session();
	return error;
}

void brick_pause(void)
{
	BETWEEN(brick__session_lock, brick__session_unlock);
	if (brick__session.header) {
		brick__session.header->paused = 1;
		brick__session_switch(0);
	}
}

void brick_resume(void)
{
	BETWEEN(brick__session_lock, brick__session_unlock);
	if (brick__session.header && brick__session.header->mode != BRICK_MODE_NONE) {
		brick__session.header->paused = 0;
		brick__session_switch(brick__session.serial);
	}
}

/* Nobody comes for the session when its recorder was killed. */
static void remove_orphan(void)
{
	const char *directory = getenv("BRICK_SESSION_DIR");

	if (directory && *directory && brick__session.external)
		brick__orphan_remove(directory, &brick__session.file);
}

void brick__session_finish(void)
{
	BETWEEN(brick__session_lock, brick__session_unlock);
	if (brick__session.header && brick__session.consumer)
		stop_session();
	else if (brick__session.header) {
		brick__session.header->end_ticks = brick__now();
		__atomic_store_n(
			&brick__session.header->state, BRICK_SESSION_CLOSED, __ATOMIC_RELEASE);
		remove_orphan();
	}
}
