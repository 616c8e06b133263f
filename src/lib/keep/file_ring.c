/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nothing is kept in memory but times: which files there are, of which ring, and how large they
 * are, is asked of the disk each time, so that a ring is right whoever removed some of it, put a
 * file of its own there, or was killed in it.
 */
#include "lib/keep/file_ring.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/clock_ns.h"
#include "base/file.h"
#include "base/fnv.h"
#include "base/path_name.h"
#include "base/pb_read.h"
#include "format/perfetto.h"

bool file_ring_name(const struct file_ring *r, unsigned number, char name[PATH_MAX])
{
	const char *dot = strrchr(path_name(r->path), '.');
	size_t stem = dot && dot > path_name(r->path) ? (size_t)(dot - r->path) : strlen(r->path);
	int n = number ? snprintf(name, PATH_MAX, "%.*s.%u%s", (int)stem, r->path, number,
				 r->path + stem)
		       : snprintf(name, PATH_MAX, "%s", r->path);

	return n > 0 && n < PATH_MAX;
}

/* The first field of this number that is a message or text; an empty one: there is none. */
static struct pb_reader ring_field(struct pb_reader in, uint32_t number)
{
	struct pb_field f;

	while (pb_next(&in, &f) > 0)
		if (f.number == number && f.wire == PB_LENGTH)
			return f.in;
	return pb_reader("", 0);
}

/* The event is among the first packets, which are plain. */
static bool ring_find(struct pb_reader trace, char id[FORMAT_RING_DIGITS + 1])
{
	struct pb_field packet;

	while (pb_next(&trace, &packet) > 0) {
		if (packet.number != TRACE_PACKET || packet.wire != PB_LENGTH)
			return false;
		struct pb_reader event = ring_field(packet.in, PACKET_TRACK_EVENT);
		struct pb_reader text =
			ring_field(ring_field(event, EVENT_ANNOTATIONS), ANNOTATION_STRING);
		if (pb_is(ring_field(event, EVENT_NAME), FORMAT_RING) &&
			pb_size(text) == FORMAT_RING_DIGITS) {
			memcpy(id, text.at, FORMAT_RING_DIGITS);
			id[FORMAT_RING_DIGITS] = '\0';
			return true;
		}
	}
	return false;
}

bool file_ring_read(const char *path, char id[FORMAT_RING_DIGITS + 1])
{
	char head[4096];
	struct stat st;

	return !lstat(path, &st) && S_ISREG(st.st_mode) &&
	       ring_find(pb_reader(head, file_begin(path, head, sizeof(head))), id);
}

/* 1: it is a part of the ring, of *bytes; 0: there is no file; -EEXIST: it is something else. */
static int ring_file(const struct file_ring *r, const char *name, uint64_t *bytes)
{
	char id[FORMAT_RING_DIGITS + 1];
	struct stat st;

	if (lstat(name, &st))
		return errno == ENOENT ? 0 : -errno;
	*bytes = (uint64_t)st.st_size;
	bool is_ours = st.st_uid == geteuid() && st.st_nlink == 1 && file_ring_read(name, id);
	return is_ours && !strcmp(id, r->id) ? 1 : -EEXIST;
}

static bool ring_part_name(const struct file_ring *r, char part[PATH_MAX])
{
	return snprintf(part, PATH_MAX, "%s.part", r->path) < PATH_MAX;
}

/* The newest file of this name says of which ring it is a part; else there is a new one. */
static void ring_identify(struct file_ring *r)
{
	const uint64_t now[] = {real_ns(), monotonic_ns(), (uint64_t)getpid()};
	char own[FORMAT_RING_DIGITS + 1], name[PATH_MAX];
	enum { HALF = FORMAT_RING_DIGITS / 2 };

	snprintf(own, sizeof(own), "%016llx%016llx",
		(unsigned long long)fnv1a_text(path_name(r->path)),
		(unsigned long long)fnv1a(now, sizeof(now)));
	for (int i = -1; i <= FILE_RING_EARLIER; i++)
		if ((i < 0 ? ring_part_name(r, name) : file_ring_name(r, (unsigned)i, name)) &&
			file_ring_read(name, r->id) && !strncmp(r->id, own, HALF))
			return;
	memcpy(r->id, own, sizeof(own));
}

/*
 * A recording that was given up becomes PATH. The writer of a living one holds a lock
 * (src/lib/writer/part_file.h): -EBUSY.
 */
static int take_unfinished(struct file_ring *r)
{
	struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	char part[PATH_MAX];
	uint64_t bytes;

	if (!ring_part_name(r, part))
		return -ENAMETOOLONG;
	int taken = ring_file(r, part, &bytes), found;
	if (!taken || (taken == -EEXIST && !bytes)) /* its writer was killed before it wrote */
		return 0;
	int fd = open(part, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return taken == -EEXIST ? 0 : -errno; /* who opens it says what is wrong with it */
	int error = fcntl(fd, F_GETLK, &whole) ? 0 : whole.l_type == F_UNLCK ? 0 : -EBUSY;
	if (!error && taken < 0)
		error = taken;
	found = error ? 0 : ring_file(r, r->path, &bytes);
	if (found)
		error = found < 0 ? found : file_ring_turn(r, 0);
	if (!error && rename(part, r->path))
		error = -errno;
	close(fd);
	return error;
}

/* 0, or why its folder takes no files. */
static int ring_folder(const struct file_ring *r)
{
	char folder[PATH_MAX];

	snprintf(folder, sizeof(folder), "%.*s", (int)(path_name(r->path) - r->path), r->path);
	return access(*folder ? folder : ".", W_OK | X_OK) ? -errno : 0;
}

int file_ring_look(struct file_ring *r, char *wrong, size_t wrong_bytes)
{
	char name[PATH_MAX];
	uint64_t bytes;

	snprintf(wrong, wrong_bytes, "%s", r->path);
	ring_identify(r);
	for (unsigned i = 0; i <= FILE_RING_EARLIER; i++) {
		if (!file_ring_name(r, i, name))
			return -ENAMETOOLONG;
		int found = ring_file(r, name, &bytes);
		if (found < 0) {
			snprintf(wrong, wrong_bytes, "%s", name);
			return found;
		}
	}
	return ring_folder(r);
}

bool file_ring_can_start(struct file_ring *r, pid_t *writer)
{
	struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	char name[PATH_MAX];
	uint64_t bytes = 0;

	*writer = 0;
	if (file_ring_look(r, name, sizeof(name)) || !ring_part_name(r, name) ||
		(ring_file(r, name, &bytes) < 0 && bytes))
		return false;
	int fd = open(name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd >= 0 && !fcntl(fd, F_GETLK, &whole) && whole.l_type != F_UNLCK)
		*writer = whole.l_pid;
	if (fd >= 0)
		close(fd);
	return true;
}

int file_ring_start(struct file_ring *r, uint64_t now_ns, char *wrong, size_t wrong_bytes)
{
	uint64_t bytes;

	memset(r->ended_ns, 0, sizeof(r->ended_ns));
	int error = file_ring_look(r, wrong, wrong_bytes);
	if (error)
		return error;
	error = take_unfinished(r);
	if (error == -EEXIST)
		snprintf(wrong, wrong_bytes, "%s.part", r->path);
	if (!error && ring_file(r, r->path, &bytes) == 1)
		error = file_ring_turn(r, 0);
	r->began_ns = now_ns;
	file_ring_trim(r, 0, now_ns);
	return error;
}

int file_ring_recover(struct file_ring *r)
{
	uint64_t bytes;
	int error = take_unfinished(r);

	return error ? error : ring_file(r, r->path, &bytes);
}

bool file_ring_is_due(const struct file_ring *r, uint64_t bytes, uint64_t now_ns, bool late)
{
	unsigned times = late ? 2 : 1;

	return bytes >= r->bytes / FILE_RING_PARTS * times ||
	       (r->keep_ns && now_ns - r->began_ns >= r->keep_ns / FILE_RING_PARTS * times);
}

void file_ring_trim(const struct file_ring *r, uint64_t bytes, uint64_t now_ns)
{
	/* a present file may grow to this before it ends, and be looked at no sooner */
	uint64_t room = r->bytes / FILE_RING_PARTS * 2, of_file;
	bool is_over = false;
	char name[PATH_MAX];

	bytes = bytes > room ? bytes : room;

	for (unsigned i = 1; i <= FILE_RING_EARLIER && file_ring_name(r, i, name); i++) {
		if (ring_file(r, name, &of_file) != 1)
			continue;
		uint64_t ended_ns = r->ended_ns[i - 1];
		bytes += of_file;
		is_over |= bytes > r->bytes;
		is_over |= r->keep_ns && ended_ns && now_ns - ended_ns > r->keep_ns;
		if (is_over)
			unlink(name);
	}
}

int file_ring_turn(struct file_ring *r, uint64_t now_ns)
{
	unsigned numbers[FILE_RING_EARLIER + 1] = {0}, count = 1; /* of PATH, and of its chain */
	char from[PATH_MAX], to[PATH_MAX];
	uint64_t bytes;
	int found = 1;

	/* a gap ends the chain: only the files before it have to move */
	for (unsigned i = 1; i <= FILE_RING_EARLIER && found; i++) {
		if (!file_ring_name(r, i, to))
			return -ENAMETOOLONG;
		found = ring_file(r, to, &bytes);
		if (found >= 0)
			numbers[count++] = i;
		else if (found != -EEXIST)
			return found;
	}
	if (count == 1)
		return -EEXIST;
	while (--count) {
		unsigned before = numbers[count - 1], i = numbers[count];
		if (!file_ring_name(r, before, from) || !file_ring_name(r, i, to))
			return -ENAMETOOLONG;
		if (rename(from, to))
			return -errno;
		r->ended_ns[i - 1] = before ? r->ended_ns[before - 1] : now_ns;
	}
	r->began_ns = now_ns;
	return 0;
}
