/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of the directory, whose names and forms older and newer versions of Brick share:
 *
 *   ID.run       a run as history_run_line() has it
 *   ID.run.bad   a file that was no such line
 *   *.part       one of these files while it is written
 *   lock         empty; locked by the sender
 *   sending      ids, one a line, that were noted and not forgotten
 *   pause        "SECONDS-SINCE-1970 PAUSE-S" of the next try
 */
#include "analysis/history/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "analysis/history/history_workload.h"
#include "base/file.h"
#include "base/fnv.h"
#include "base/number.h"
#include "base/scope.h"
#include "base/user_path.h"

/* The path of a file of the spool; the caller frees. NULL: no memory. */
static char *spool_path_of(const struct spool *s, const char *name, const char *suffix)
{
	char *path = NULL;

	return asprintf(&path, "%s/%s%s", s->directory, name, suffix) < 0 ? NULL : path;
}

int spool_open(struct spool *s, const char *server)
{
	unsigned long long hash = fnv1a_text(server);

	*s = (struct spool){.lock = -1,
		.most_runs = SPOOL_RUNS_MAX,
		.most_bytes = SPOOL_BYTES_MAX,
		.directory = user_path(USER_DATA, "spool/%016llx", hash)};
	(void)number_u64(getenv("BRICK_SPOOL_RUNS"), 1, SPOOL_RUNS_MAX, &s->most_runs);
	(void)number_u64(getenv("BRICK_SPOOL_BYTES"), 1, SPOOL_BYTES_MAX, &s->most_bytes);
	if (!s->directory)
		return -ENOENT;
	user_path_make(s->directory);
	return mkdir(s->directory, 0700) && errno != EEXIST ? -errno : 0;
}

void spool_close(struct spool *s)
{
	if (s->lock >= 0)
		close(s->lock);
	free(s->directory);
	*s = (struct spool){.lock = -1};
}

static int spool_replace(
	const struct spool *s, const char *name, const char *suffix, const char *text)
{
	SCOPED char *path = spool_path_of(s, name, suffix);
	return path ? file_replace(path, text) : -ENOMEM;
}

/* A filter of scandir(): "ID.run". */
static int is_run(const struct dirent *entry)
{
	const char *dot = strchr(entry->d_name, '.');

	return dot && !strcmp(dot, ".run") && dot - entry->d_name == HISTORY_ID_BYTES - 1;
}

static bool spool_is_aside(const char *name)
{
	const char *dot = strchr(name, '.');

	return dot && !strcmp(dot, ".run.bad");
}

/*
 * Counts runs, and the bytes of all files but those that wait for nothing; removes what a writer
 * left that was killed a day ago, and what was put aside a week ago.
 */
static void spool_measure(struct spool *s)
{
	enum { DAY_S = 86400, WEEK_S = 7 * DAY_S };
	DIR *all = opendir(s->directory);
	time_t now = time(NULL);
	struct stat st;

	s->runs = s->bytes = 0;
	s->is_measured = true;
	for (struct dirent *entry; all && (entry = readdir(all));) {
		const char *name = entry->d_name, *part = strstr(name, ".part");
		if (fstatat(dirfd(all), name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
			continue;
		bool is_aside = spool_is_aside(name);
		time_t least_s = is_aside ? WEEK_S : DAY_S;
		if ((is_aside || (part && !part[5])) && now - st.st_mtime > least_s &&
			!unlinkat(dirfd(all), name, 0))
			continue;
		if (is_aside)
			continue;
		s->runs += is_run(entry) != 0;
		s->bytes += (uint64_t)st.st_size;
	}
	if (all)
		closedir(all);
}

int spool_add(struct spool *s, const struct history_run *run)
{
	SCOPED char *line = history_run_line(run), *path = spool_path_of(s, run->id, ".run");
	uint64_t bytes = line ? strlen(line) : 0;

	if (!line || !path)
		return -ENOMEM;
	if (!s->is_measured)
		spool_measure(s);
	if ((s->runs >= s->most_runs || s->bytes + bytes > s->most_bytes) && access(path, F_OK))
		return -ENOBUFS;
	s->runs++;
	s->bytes += bytes;
	return spool_replace(s, run->id, ".run", line);
}

int spool_lock(struct spool *s)
{
	SCOPED char *path = spool_path_of(s, "lock", "");

	if (!path)
		return -ENOMEM;
	s->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (s->lock < 0)
		return -errno;
	if (flock(s->lock, LOCK_EX | LOCK_NB) == 0)
		return 0;
	int rc = errno == EWOULDBLOCK ? -EAGAIN : -errno;
	spool_unlock(s);
	return rc;
}

void spool_unlock(struct spool *s)
{
	close(s->lock);
	s->lock = -1;
}

/* The text of a file; the caller frees. NULL: not there, not readable, or no memory. */
static char *spool_read_all(const char *path)
{
	enum { MAX_BYTES = 64 << 20 };
	char *text = NULL;
	size_t bytes;

	return path && !file_read(&text, &bytes, path, MAX_BYTES) ? text : NULL;
}

static int take_file(struct spool *s, struct spool_batch *b, const char *name)
{
	SCOPED char *path = spool_path_of(s, name, ""), *text = spool_read_all(path);
	struct history_run run;

	if (!text) /* it cannot be read now, and stays */
		return path ? 0 : -ENOMEM;
	int rc = history_run_parse(&run, text, strlen(text));
	if (rc == 0) {
		if (!*run.workload) /* an older Brick wrote it */
			rc = history_run_describe(&run);
		if (rc == 0)
			rc = array_push(&b->runs, run) ? -ENOMEM : 0;
		if (rc < 0)
			history_run_fini(&run);
	} else if (rc == -EINVAL) {
		SCOPED char *aside = spool_path_of(s, name, ".bad");
		rc = aside && rename(path, aside) == 0 ? 0 : -EIO;
	}
	return rc;
}

/* Reads ids from the file "sending", if it exists. */
static int read_sent(const struct spool *s, struct spool_batch *b)
{
	SCOPED char *path = spool_path_of(s, "sending", ""), *text = spool_read_all(path);
	int rc = 0;

	for (char *at = text; at && *at && rc == 0;) {
		size_t n = strcspn(at, "\n");
		char *id = strndup(at, n);
		rc = id && !array_push(&b->sent, id) ? 0 : -ENOMEM;
		at += n + (at[n] == '\n');
	}
	return rc;
}

int spool_take(struct spool *s, struct spool_batch *b)
{
	struct dirent **names = NULL;
	int n = scandir(s->directory, &names, is_run, alphasort), rc = n < 0 ? -errno : 0;

	s->is_measured = false; /* other processes add runs, too */
	*b = (struct spool_batch){0};
	for (int i = 0; i < n; i++) {
		if (rc == 0 && b->runs.count < SPOOL_BATCH)
			rc = take_file(s, b, names[i]->d_name);
		else
			b->more = true;
		free(names[i]);
	}
	free(names);
	if (rc == 0)
		rc = read_sent(s, b);
	if (rc < 0)
		spool_batch_fini(b);
	return rc;
}

void spool_batch_fini(struct spool_batch *b)
{
	for (size_t i = 0; i < b->runs.count; i++)
		history_run_fini(&b->runs.items[i]);
	for (size_t i = 0; i < b->sent.count; i++)
		free(b->sent.items[i]);
	array_fini(&b->runs);
	array_fini(&b->sent);
}

bool spool_was_sent(const struct spool_batch *b, const char *id)
{
	for (size_t i = 0; i < b->sent.count; i++)
		if (!strcmp(b->sent.items[i], id))
			return true;
	return false;
}

static bool is_in_batch(const struct spool_batch *b, const char *id)
{
	for (size_t i = 0; i < b->runs.count; i++)
		if (!strcmp(b->runs.items[i].id, id))
			return true;
	return false;
}

/* Writes the file "sending": noted ids of other batches, and with_batch those of this batch. */
static int write_sent(struct spool *s, const struct spool_batch *b, bool with_batch)
{
	size_t n = b->runs.count + b->sent.count;
	char *text = calloc(n + 1, HISTORY_ID_BYTES + 1), *at = text;

	if (!text)
		return -ENOMEM;
	for (size_t i = 0; i < b->sent.count; i++)
		if (!is_in_batch(b, b->sent.items[i]))
			at += sprintf(at, "%.16s\n", b->sent.items[i]);
	for (size_t i = 0; i < b->runs.count && with_batch; i++)
		at += sprintf(at, "%s\n", b->runs.items[i].id);
	int rc = spool_replace(s, "sending", "", text);
	free(text);
	return rc;
}

int spool_note_sending(struct spool *s, const struct spool_batch *b)
{
	return write_sent(s, b, true);
}

/*
 * Deletes files before notes: a run whose file is left keeps its note, so that the next try looks
 * for it at the server.
 */
int spool_forget(struct spool *s, const struct spool_batch *b)
{
	int rc = 0;

	for (size_t i = 0; i < b->runs.count && rc == 0; i++) {
		SCOPED char *path = spool_path_of(s, b->runs.items[i].id, ".run");
		rc = !path ? -ENOMEM : unlink(path) && errno != ENOENT ? -errno : 0;
	}
	return rc < 0 ? rc : write_sent(s, b, false);
}

/* Reads the file "pause". Both are 0 if there is none. */
static void read_pause(const struct spool *s, long long *next, long long *pause)
{
	SCOPED char *path = spool_path_of(s, "pause", ""), *text = spool_read_all(path);

	*next = *pause = 0;
	if (text && sscanf(text, "%lld %lld", next, pause) != 2)
		*next = *pause = 0;
}

uint64_t spool_pause(const struct spool *s)
{
	long long next, pause, now = time(NULL);

	read_pause(s, &next, &pause);
	/* a try further away than the longest pause comes from a clock that was set back */
	return next > now && next - now <= SPOOL_PAUSE_MAX_S ? (uint64_t)(next - now) : 0;
}

void spool_note_try(struct spool *s, bool good)
{
	long long next, pause;
	char text[64];

	if (good) {
		SCOPED char *path = spool_path_of(s, "pause", "");
		if (path)
			unlink(path);
		return;
	}
	read_pause(s, &next, &pause);
	pause = pause < SPOOL_PAUSE_MIN_S	? SPOOL_PAUSE_MIN_S
		: pause < SPOOL_PAUSE_MAX_S / 2 ? 2 * pause
						: SPOOL_PAUSE_MAX_S;
	snprintf(text, sizeof(text), "%lld %lld\n", (long long)time(NULL) + pause, pause);
	spool_replace(s, "pause", "", text);
}
