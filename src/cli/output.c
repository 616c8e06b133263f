/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers to stdout and to files. The temporary file lies in the directory of the final one, so
 * that renaming it is atomic, and is removed when the program is interrupted.
 */
#include "cli/output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "brick/error.h"
#include "cli/die.h"
#include "ui/page/page_json.h"
#include "ui/page/page_ranks.h"

struct output {
	FILE *stream;
	char *path, *temporary; /* NULL: written directly */
};

/* For the signal handler; set before the file exists, cleared when it has its name. */
static char temporary_path[PATH_MAX];

void output_init(void)
{
	/* Write-only for 0 and read-only for 1 and 2: using them fails, as it should. */
	for (int fd = 0; fd < 3; fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF &&
			open("/dev/null", (fd ? O_RDONLY : O_WRONLY) | O_CLOEXEC) < 0)
			return;
}

/* Has whoever read stdout gone away? It had seen enough. */
static bool reader_is_gone(void)
{
	struct pollfd pipe = {.fd = STDOUT_FILENO};
	return poll(&pipe, 1, 0) > 0 && (pipe.revents & POLLERR);
}

/*
 * Flushes, and returns why not everything could be written, or NULL. A write that failed earlier
 * has lost its reason: writing once more finds it again, into a file that is not whole anyway.
 */
static const char *output_flush(FILE *stream)
{
	bool failed = ferror(stream) != 0;

	errno = 0;
	if (fflush(stream) == 0 && !failed)
		return NULL;
	if (!errno && (reader_is_gone() || write(fileno(stream), "\n", 1) > 0))
		return "cannot be written";
	return strerror(errno);
}

int output_finish(int code)
{
	const char *why = output_flush(stdout);

	if (text_error() < 0) {
		warn("not enough memory for all of the answer");
		return CLI_SYSTEM;
	}
	if (!why || errno == EPIPE || reader_is_gone())
		return code;
	warn("standard output: %s", why);
	return CLI_SYSTEM;
}

static void remove_temporary(int number)
{
	if (temporary_path[0])
		unlink(temporary_path);
	signal(number, SIG_DFL);
	raise(number);
}

static void guard(const char *path)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGXFSZ};
	if (strlen(path) >= sizeof(temporary_path))
		return;
	strcpy(temporary_path, path);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (signal(numbers[i], remove_temporary) == SIG_IGN)
			signal(numbers[i], SIG_IGN);
}

static struct output *output_make(FILE *stream, char *path, char *temporary)
{
	struct output *output = xcalloc(1, sizeof(*output));
	output->stream = stream;
	output->path = path;
	output->temporary = temporary;
	return output;
}

/* Resolves links, so that they keep pointing to the file. */
static char *output_follow(const char *path)
{
	char *real = realpath(path, NULL);
	return real ? real : xstrdup(path);
}

static bool output_is_same_file(const struct stat *a, const char *other)
{
	struct stat b;
	return other && stat(other, &b) == 0 && a->st_dev == b.st_dev && a->st_ino == b.st_ino;
}

struct output *output_open(const char *path, const char *input)
{
	struct stat st;
	if (!path || !strcmp(path, "-"))
		return output_make(stdout, NULL, NULL);
	if (!lstat(path, &st) && S_ISLNK(st.st_mode) && st.st_uid && st.st_uid != geteuid())
		die(CLI_SYSTEM, "%s: a symbolic link of another user, which is not followed", path);
	bool exists = stat(path, &st) == 0;
	if (exists && output_is_same_file(&st, input))
		die(CLI_USAGE, "%s: that is the recording itself", path);
	if (exists && !S_ISREG(st.st_mode)) {
		FILE *stream = fopen(path, "we");
		if (!stream)
			die(CLI_SYSTEM, "%s: %s", path, strerror(errno));
		return output_make(stream, xstrdup(path), NULL);
	}

	char *real = output_follow(path), *temporary = xasprintf("%s.XXXXXX", real);
	int fd = mkostemp(temporary, O_CLOEXEC);
	if (fd < 0)
		die(CLI_SYSTEM, "%s: %s", path, strerror(errno));
	guard(temporary);
	mode_t mask = umask(0);
	umask(mask);
	fchmod(fd, 0666 & ~mask);
	FILE *stream = fdopen(fd, "w");
	if (!stream)
		die(CLI_SYSTEM, "%s: %s", path, strerror(errno));
	return output_make(stream, real, temporary);
}

FILE *output_stream(struct output *output)
{
	return output->stream;
}

static void output_fail(const struct output *output, const char *why) __attribute__((noreturn));

static void output_fail(const struct output *output, const char *why)
{
	if (output->temporary)
		unlink(output->temporary);
	die(CLI_SYSTEM, "%s: %s", output->path ? output->path : "standard output", why);
}

void output_commit(struct output *output, int rc)
{
	if (rc == 0)
		rc = text_error();
	bool gone = !output->path && rc < 0 && reader_is_gone();
	if (rc < 0 && !gone)
		output_fail(output, brick_strerror(rc));
	if (output->path) {
		const char *why = output_flush(output->stream);
		errno = 0;
		if (!why && (fclose(output->stream) != 0 ||
				    (output->temporary &&
					    rename(output->temporary, output->path) != 0)))
			why = strerror(errno);
		if (why)
			output_fail(output, why);
	}
	temporary_path[0] = '\0';
	free(output->temporary);
	free(output->path);
	free(output);
}

void output_page(const struct run *run, const char *path)
{
	struct output *output = output_open(path, run->path);
	SCOPED_BY(page_fini) struct page page;
	json_auto_t *data = NULL;
	int rc = page_measure(&page, run);

	if (rc == 0)
		rc = page_json(&data, &page, PAGE_FILE);
	if (rc == 0)
		rc = page_write(data, output_stream(output));
	if (rc < 0)
		die(CLI_SYSTEM, "%s: not enough memory for its page", run->path);
	output_commit(output, 0);
}

void output_ranks_page(const struct ranks_view *view, const char *path)
{
	struct output *output = output_open(path, view->paths[0]);
	json_auto_t *data = NULL;

	if (page_ranks_json(&data, view) < 0 || page_write(data, output_stream(output)) < 0)
		die(CLI_SYSTEM, "%s: not enough memory for its page", view->paths[0]);
	output_commit(output, 0);
}
