/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recorder's page is mapped in each of its processes and in the recorder itself, so that
 * /proc/PID/maps names the directory, and with it the socket. The sender's address is chosen by the
 * kernel. A recorder that does not answer within some seconds is stopped, or in another network
 * namespace.
 */
#include "record/control.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "base/scope.h"
#include "brick/abi/session.h"
#include "brick/error.h"

enum { PATIENCE_MS = 5000 };

/*
 * The recorder's directory, from a line of /proc/PID/maps. False: the line has no such page. A page
 * whose file is gone belonged to a recorder that has ended.
 */
static bool control_directory_in(char *line, char *out, size_t bytes)
{
	static const char page[] = "/" BRICK_SESSION_REFUSALS_NAME;

	line[strcspn(line, "\n")] = '\0';
	char *begin = strchr(line, '/'), *end = strstr(line, page);
	if (!end || (end[sizeof(page) - 1] && strcmp(end + sizeof(page) - 1, " (deleted)") != 0))
		return false;
	*end = '\0';
	const char *slash = strrchr(line, '/');
	return slash && !strncmp(slash, "/brick-", 7) &&
	       snprintf(out, bytes, "%s", begin) < (int)bytes;
}

int control_directory(pid_t pid, char *out, size_t bytes)
{
	SCOPED char *line = NULL;
	size_t capacity = 0;
	char path[64];
	int lines = 0;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	SCOPED_TO(fclose) FILE *in = fopen(path, "re");
	if (!in)
		return errno == EPERM ? -EACCES : -errno;
	for (; getline(&line, &capacity, in) > 0; lines++)
		if (control_directory_in(line, out, bytes))
			return 0;
	if (lines)
		return BRICK_ENOTRECORDED;
	/* the kernel hides others' mappings as an empty file, or tells at the first read */
	return ferror(in) ? -EACCES : BRICK_ENOTRECORDED;
}

static int control_exchange(int fd, const struct sockaddr_un *to, socklen_t bytes,
	const struct control_request *request, struct control_answer *answer)
{
	const struct sockaddr_un any = {.sun_family = AF_UNIX};

	if (bind(fd, (const struct sockaddr *)&any, sizeof(any.sun_family)) ||
		connect(fd, (const struct sockaddr *)to, bytes) ||
		send(fd, request, sizeof(*request), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		return errno == EAGAIN ? -ETIMEDOUT : -errno;
	struct pollfd ready = {.fd = fd, .events = POLLIN};
	int count = poll(&ready, 1, PATIENCE_MS);
	if (count <= 0)
		return count ? -errno : -ETIMEDOUT;
	ssize_t n = recv(fd, answer, sizeof(*answer), 0);
	if (n < 0)
		return -errno;
	return n == sizeof(*answer) && answer->magic == CONTROL_MAGIC ? answer->error : -EPROTO;
}

int control_ask(pid_t pid, enum control_kind kind, const char *text, struct control_answer *answer)
{
	struct control_request request = {.magic = CONTROL_MAGIC, .kind = kind};
	struct sockaddr_un to = {.sun_family = AF_UNIX}; /* sun_path[0] is 0: abstract */
	char directory[256];
	int error = control_directory(pid, directory, sizeof(directory));
	const char *slash = error ? NULL : strrchr(directory, '/');

	if (slash && strlen(slash) > sizeof(to.sun_path))
		error = BRICK_ENOTRECORDED;
	if (error)
		return error;
	memcpy(to.sun_path + 1, slash + 1, strlen(slash + 1));
	const socklen_t bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(slash));
	snprintf(request.text, sizeof(request.text), "%s", text ? text : "");
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	error = control_exchange(fd, &to, bytes, &request, answer);
	close(fd);
	return error;
}
