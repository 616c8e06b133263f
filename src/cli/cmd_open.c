/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `brick open`: shows a recording in a browser, on the page that Brick makes of it, or on
 * Perfetto's, which asks for the file at a port of this machine that nobody else may read.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/die.h"
#include "cli/input.h"
#include "cli/output.h"
#include "cli/selection_options.h"
#include "ui/page/page_json.h"
#include "ui/text/report.h"

enum { OPEN_ONCE_PORT = 9001, OPEN_ONCE_PATIENCE_S = 60 };

struct open_once;

#define ALLOWED "Access-Control-Allow-Origin: https://ui.perfetto.dev\r\n"

struct open_once {
	int file, listener;
};

static int listen_here(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET,
		.sin_port = htons(OPEN_ONCE_PORT),
		.sin_addr = {htonl(INADDR_LOOPBACK)}};
	int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, (struct sockaddr *)&at, sizeof(at)) || listen(fd, 4)) {
		int error = -errno;
		close(fd);
		return error;
	}
	return fd;
}

/* Listens. Returns -errno if the file or the port cannot be opened. */
static int open_once_start(struct open_once **out, const char *path)
{
	struct open_once *once = calloc(1, sizeof(*once));
	int error = once ? 0 : -ENOMEM;
	if (!error)
		once->file = open(path, O_RDONLY | O_CLOEXEC);
	if (!error && once->file < 0)
		error = -errno;
	if (!error)
		error = once->listener = listen_here();
	if (error < 0) {
		if (once && once->file > 0)
			close(once->file);
		free(once);
		return error;
	}
	*out = once;
	return 0;
}

static int send_text(int to, const char *text)
{
	size_t left = strlen(text);
	while (left) {
		ssize_t n = send(to, text, left, MSG_NOSIGNAL);
		if (n < 0 && errno != EINTR)
			return -errno;
		text += n > 0 ? n : 0;
		left -= n > 0 ? (size_t)n : 0;
	}
	return 0;
}

static int send_recording(const struct open_once *once, int to)
{
	struct stat st;
	char head[256];
	off_t at = 0;
	if (fstat(once->file, &st))
		return -errno;
	snprintf(head, sizeof(head),
		"HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n"
		"Content-Length: %lld\r\nCache-Control: no-store\r\n" ALLOWED "\r\n",
		(long long)st.st_size);
	int error = send_text(to, head);
	while (!error && at < st.st_size) {
		ssize_t n = sendfile(to, once->file, &at, (size_t)(st.st_size - at));
		if (n < 0 && errno != EINTR)
			error = -errno;
		if (!n)
			return -EIO;
	}
	return error ? error : 1;
}

/* 1: the browser has got the whole recording. */
static int answer_request(const struct open_once *once, int to)
{
	char request[4096];
	size_t size = 0;
	struct timeval patience = {5, 0};
	setsockopt(to, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	do {
		ssize_t n = recv(to, request + size, sizeof(request) - 1 - size, 0);
		if (n <= 0)
			return 0;
		size += (size_t)n;
		request[size] = '\0';
	} while (!strstr(request, "\r\n\r\n") && size < sizeof(request) - 1);
	if (!strncmp(request, "GET /recording ", 15))
		return send_recording(once, to);
	if (!strncmp(request, "OPTIONS /recording ", 19))
		return send_text(to, "HTTP/1.1 204 No Content\r\n" ALLOWED
				     "Access-Control-Allow-Private-Network: true\r\n"
				     "Content-Length: 0\r\n\r\n");
	return send_text(to, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
}

/*
 * Answers until the file has been given out, and frees `once`. Returns -ETIMEDOUT if nobody asked,
 * or -errno.
 */
static int open_once_serve(struct open_once *once)
{
	int result = 0;
	signal(SIGPIPE, SIG_IGN); /* of sendfile(); we end soon */
	while (!result) {
		struct pollfd poll_for = {.fd = once->listener, .events = POLLIN};
		int ready = poll(&poll_for, 1, OPEN_ONCE_PATIENCE_S * 1000);
		if (ready < 0 && errno == EINTR)
			continue;
		if (ready <= 0) {
			result = ready ? -errno : -ETIMEDOUT;
			break;
		}
		int to = accept4(once->listener, NULL, NULL, SOCK_CLOEXEC);
		if (to < 0)
			continue;
		int answered = answer_request(once, to);
		result = answered > 0; /* a browser that closed the connection may come again */
		shutdown(to, SHUT_WR);
		close(to);
	}
	close(once->listener);
	close(once->file);
	free(once);
	return result;
}

struct options {
	struct selection selection;
	bool perfetto;
};

static const struct cli_option cmd_open_option_table[] = {
	{"perfetto", NULL,
		"in https://ui.perfetto.dev; the recording goes from this machine to the browser "
		"on it, and nowhere else",
		option_flag, AT(perfetto)},
	SELECTION_OPTIONS(offsetof(struct options, selection)),
	OPTION_HELP,
};

/* $BROWSER, else what the desktop takes. Says where it is if nothing can show it. */
static void cmd_open_show(const char *url)
{
	const char *browser = getenv("BROWSER");
	char *argv[] = {(char *)(browser && *browser ? browser : "xdg-open"), (char *)url, NULL};
	int status;
	pid_t pid;
	printf("%s\n", url);
	fflush(stdout);
	int error = posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ);
	if (error)
		warn("%s: %s; open it yourself, or set BROWSER", argv[0], strerror(error));
	else if (waitpid(pid, &status, 0) == pid && status)
		warn("%s could not show it; open it yourself, or set BROWSER", argv[0]);
}

static void open_page(const struct options *options, const char *path)
{
	const char *base = getenv("TMPDIR");
	if (!page_available())
		die(CLI_SYSTEM, "open: %s", page_missing());
	struct run *run = input_load(path);
	selection_narrow(&options->selection, run);
	SCOPED char *directory =
		xasprintf("%s/brick-open-XXXXXX", base && *base == '/' ? base : "/tmp");
	if (!mkdtemp(directory))
		die(CLI_SYSTEM, "%s: %s", directory, strerror(errno));
	SCOPED char *page = xasprintf("%s/brick.html", directory);
	output_page(run, page);
	run_destroy(run);
	SCOPED char *url = xasprintf("file://%s", page);
	cmd_open_show(url);
}

static void open_perfetto(const char *path)
{
	struct open_once *once;
	int error = open_once_start(&once, path);
	if (error == -EADDRINUSE)
		die(CLI_SYSTEM, "open: port %d, from which Perfetto takes recordings, is taken",
			OPEN_ONCE_PORT);
	if (error < 0)
		die(CLI_INPUT, "%s: %s", path, strerror(-error));
	SCOPED char *url = xasprintf(
		"https://ui.perfetto.dev/#!/?url=http://127.0.0.1:%d/recording", OPEN_ONCE_PORT);
	cmd_open_show(url);
	error = open_once_serve(once);
	if (error < 0)
		die(CLI_SYSTEM, "open: the browser did not take the recording: %s",
			strerror(-error));
}

static int run_open(int argc, char **argv)
{
	struct options options = {.selection = SELECTION_INIT};
	options_parse(&command_open, &options, argc, argv);
	const char *path = input_operand(argc, argv);
	if (!options.perfetto)
		open_page(&options, path);
	else if (options.selection.brick || options.selection.thread ||
		 options.selection.layer != SELECTION_ALL_LAYERS ||
		 selection_has_steps(&options.selection))
		die_usage("open", "--perfetto: shows all of the recording");
	else
		open_perfetto(path);
	return CLI_DONE;
}

const struct cli_command command_open = {
	.name = "open",
	.summary = "show a recording in the browser",
	.run = run_open,
	.usage = "[OPTIONS] [FILE]",
	.about = "Show a recording in the browser: as the page of 'brick report --html', which "
		 "stays in a temporary directory, or in Perfetto. The browser is $BROWSER, else "
		 "what xdg-open takes.",
	.flags = CLI_READS,
	.options = cmd_open_option_table,
};
