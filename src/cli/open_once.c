/* SPDX-License-Identifier: Apache-2.0 */
/* A server for one file and one reader. Called by `brick open --perfetto`. */
#include "cli/open_once.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

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

int open_once_start(struct open_once **out, const char *path)
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

/* 1: it has the recording now. */
static int answer(const struct open_once *once, int to)
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

int open_once_serve(struct open_once *once)
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
		int answered = answer(once, to);
		result = answered > 0; /* who went away may come again */
		shutdown(to, SHUT_WR);
		close(to);
	}
	close(once->listener);
	close(once->file);
	free(once);
	return result;
}
