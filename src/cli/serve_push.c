/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file is known by its inode, because a ring renames its files. Files with names of a ring are
 * looked at only if they say that they are parts of it, as other recordings may have such names.
 */
#include "cli/serve_push.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "base/number.h"
#include "lib/writer/part_file.h"
#include "ui/text/recording_file.h"

enum { EACH_S = 60, COST = 10 /* the pause is so many times a child's CPU time */ };

void serve_push_start(struct serve_push *p, const char *db, const char *path)
{
	*p = (struct serve_push){.children = {.db = db, .is_server = true}, .ring = {.path = path}};
	record_push_start(&p->children);
}

static bool is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_dev == b->st_dev;
}

/* PATH or PATH.part says of which ring it is; between two files neither may be there. */
static void learn_ring(struct serve_push *p)
{
	char part[PATH_MAX];

	if (!file_ring_read(p->ring.path, p->ring.id) &&
		snprintf(part, sizeof(part), "%s.part", p->ring.path) < PATH_MAX)
		file_ring_read(part, p->ring.id);
}

/* Opens a file of the ring, 0: PATH or PATH.part; -1: there is none, or it is no plain file. */
static int open_numbered(const struct serve_push *p, unsigned number, struct stat *st)
{
	char path[PATH_MAX], part[PATH_MAX + 8], id[FORMAT_RING_DIGITS + 1];
	int flags = O_RDONLY | O_NONBLOCK | O_CLOEXEC;
	int fd = file_ring_name(&p->ring, number, path) ? open(path, flags) : -1;

	if (fd < 0 && !number) {
		snprintf(part, sizeof(part), "%s.part", path);
		fd = open(part, flags);
	}
	bool is_of_ring = !number || (file_ring_read(path, id) && !strcmp(id, p->ring.id));
	if (fd >= 0 && !fstat(fd, st) && S_ISREG(st->st_mode) && is_of_ring)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* The number of the next file to send; 0: PATH itself. */
static unsigned next_number(const struct serve_push *p, bool is_part)
{
	struct stat st;
	unsigned oldest = 0; /* of those that were looked at, which have rising numbers */

	for (unsigned i = 0; i <= FILE_RING_EARLIER; i++) {
		int fd = open_numbered(p, i, &st);
		if (fd < 0)
			continue;
		close(fd);
		if (p->seen.st_ino && is_same_file(&st, &p->seen))
			return p->is_done ? oldest : i;
		oldest = i;
	}
	return is_part ? oldest : 0;
}

/* Hands a file over to a child, if there is something new in it. */
static void serve_push_file(struct serve_push *p, unsigned number)
{
	struct stat st;
	int fd = open_numbered(p, number, &st);

	if (fd < 0)
		return;
	if (p->is_done && !p->is_failing && !recording_changed(&st, &p->seen)) {
		close(fd);
		return;
	}
	p->is_done = number || !part_file_grows(p->ring.path);
	p->seen = st;
	record_push_open_file(&p->children, fd);
}

void serve_push_turn(struct serve_push *p, bool is_part)
{
	if (record_push_is_busy(&p->children))
		return;
	p->sent = p->children.sent;
	p->failures = p->children.lost;
	p->is_failing = p->children.is_failing;
	learn_ring(p);
	unsigned number = next_number(p, is_part);
	uint64_t now_ns = monotonic_ns();
	if (!number && now_ns < p->due_ns)
		return;
	serve_push_file(p, number);
	p->due_ns = now_ns + number_max(EACH_S * NS_PER_S, COST * p->children.cost_ns);
}

void serve_push_end(struct serve_push *p)
{
	if (p->children.has_thread) {
		serve_push_file(p, 0);
		record_push_end(&p->children, NULL);
	}
}
