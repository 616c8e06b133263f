/* SPDX-License-Identifier: Apache-2.0 */
/* The page is shared by all processes of a recording: its numbers are only ever added to. */
#include "lib/probe/refusals.h"

#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/scope.h"
#include "brick/probe.h"
#include "lib/session/session_map.h"
#include "lib/sys/shared.h"
#include "lib/sys/sys.h"

static struct brick_session_refusals *page;
static int said; /* that this process has no session */

void brick__refusals_open(void)
{
	const char *directory = getenv("BRICK_SESSION_DIR");

	if (!directory || !*directory)
		return;
	struct brick_session_refusals *found =
		brick__shared_attach(directory, BRICK_SESSION_REFUSALS_NAME, sizeof *found);
	if (found &&
		(found->magic != BRICK_SESSION_MAGIC || found->version != BRICK_SESSION_VERSION)) {
		brick__sys_unmap(found, sizeof *found);
		found = NULL;
	}
	page = found;
}

int brick__refusals_counted(void)
{
	return page != NULL;
}

void brick__refusals_session(int error)
{
	if (!page || said)
		return;
	said = 1;
	page->error = error;
	page->pid = (uint32_t)getpid();
	__atomic_add_fetch(&page->processes, 1, __ATOMIC_RELAXED);
}

void brick__refusals_record(void)
{
	if (!brick_enabled())
		return;
	BETWEEN(brick__session_lock, brick__session_unlock);
	if (brick__session.header)
		brick__session.header->ledger.refused++;
	else if (page)
		__atomic_add_fetch(&page->records, 1, __ATOMIC_RELAXED);
}

void brick__refusals_abandon(void)
{
	said = 0;
}
