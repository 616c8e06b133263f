/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `brick serve`: options, and the loop that reads the recording again while it grows. Reading takes
 * at most a tenth of one CPU's time; answers are made here and given out by the server's thread.
 */
#include "cli/serve.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "brick/error.h"
#include "cli/command.h"
#include "cli/die.h"
#include "cli/input.h"
#include "cli/memory.h"
#include "cli/options.h"
#include "cli/page.h"
#include "cli/text.h"
#include "serve/access.h"
#include "serve/http.h"
#include "trace/load.h"

enum { DEFAULT_PORT = 9477, TOKEN_LEAST = 16 };

/* A recording that has not grown for so long is no longer being written. */
#define STILL_NS (15 * 1000000000ull)
/* Between two readings: so many times what one took, and at least this. */
#define PACE 10
#define PACE_LEAST_NS 2000000000ull

static const char help[] =
	"Usage: brick serve [OPTIONS] FILE|PID\n"
	"\n"
	"Show a recording in a browser, also while it is being written; and give its numbers to\n"
	"Prometheus, at /metrics. PID is a process that is being recorded.\n"
	"\n"
	"  --port N       listen on this port (default 9477; 0: any that is free)\n"
	"  --bind ADDR    listen on this address (default 127.0.0.1); one that others can reach\n"
	"                 needs a token\n"
	"  --token TOKEN  answer only requests with 'Authorization: Bearer TOKEN' or ?token=TOKEN;\n"
	"                 from the environment variable BRICK_SERVE_TOKEN if not given here\n"
	"  -h, --help     show this and exit\n";

struct options {
	struct http_options http;
};

struct served {
	const char *path;
	struct stat seen; /* of the file that was read */
	bool live;
	uint64_t read_ns, took_ns; /* when last, and how long that took */
	uint64_t reads, failures;
};

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void check(const struct options *options)
{
	const struct http_options *http = &options->http;
	if (http->token && strlen(http->token) < TOKEN_LEAST)
		die_usage("serve", "--token: must have at least %d characters", TOKEN_LEAST);
	for (const char *s = http->token; s && *s; s++)
		if (*s <= ' ' || *s > '~')
			die_usage("serve", "--token: must be ASCII without blanks");
	if (!http->token && !access_is_loopback(http->address))
		die_usage("serve",
			"--bind %s: others could read the recording there; give a --token",
			http->address);
	if (http_missing())
		die(CLI_SYSTEM, "serve: %s", http_missing());
	if (!page_available())
		die(CLI_SYSTEM, "serve: %s", page_missing());
}

static void parse(struct options *options, int argc, char **argv)
{
	static const struct option longs[] = {
		{"port", required_argument, NULL, 'p'},
		{"bind", required_argument, NULL, 'b'},
		{"token", required_argument, NULL, 't'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	int c;
	while ((c = options_next(argc, argv, "", longs, help)) != -1) {
		switch (c) {
		case 'p':
			options->http.port =
				(uint16_t)options_number("serve", "--port", optarg, 0, 65535);
			break;
		case 'b':
			options->http.address = optarg;
			break;
		case 't':
			options->http.token = optarg;
			break;
		}
	}
}

/* The recording that is meant: a file, or that of a process. The caller frees. */
static char *resolve(const char *operand)
{
	char *end;
	errno = 0;
	unsigned long pid = strtoul(operand, &end, 10);
	if (errno || !pid || *end || operand[0] == '-' || access(operand, F_OK) == 0)
		return xstrdup(operand);
	if (kill((pid_t)pid, 0) < 0 && errno == ESRCH)
		die(CLI_INPUT, "%lu: no such process, and no such file", pid);
	char *path = serve_find(pid);
	if (!path)
		die(CLI_INPUT,
			"%lu: neither it nor what started it is writing a recording (or it "
			"belongs to somebody else)",
			pid);
	return path;
}

/* The file that stands for a recording: its final name, or the one while it is written. */
static bool look(const char *path, struct stat *st, bool *part)
{
	*part = false;
	if (stat(path, st) == 0)
		return true;
	char *name = xasprintf("%s.part", path);
	*part = stat(name, st) == 0;
	free(name);
	return *part;
}

static uint64_t age_ns(const struct stat *st)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	int64_t age = (int64_t)(now.tv_sec - st->st_mtim.tv_sec) * 1000000000 +
		      (now.tv_nsec - st->st_mtim.tv_nsec);
	return age > 0 ? (uint64_t)age : 0;
}

static void publish(struct served *served, struct http *http, const struct run *run)
{
	struct http_content content = {0};
	const char *head, *tail;
	size_t head_bytes, tail_bytes;
	json_t *data = page_json(run, served->live ? PAGE_LIVE : PAGE_SERVED);
	content.data = page_text(data, &content.data_bytes);
	json_decref(data);
	page_template(&head, &head_bytes, &tail, &tail_bytes);
	content.page_bytes = head_bytes + content.data_bytes + tail_bytes;
	content.page = xrealloc(NULL, content.page_bytes);
	memcpy(content.page, head, head_bytes);
	memcpy(content.page + head_bytes, content.data, content.data_bytes);
	memcpy(content.page + head_bytes + content.data_bytes, tail, tail_bytes);
	content.metrics =
		serve_metrics(run, served->reads, served->failures, &content.metrics_bytes);
	if (http_publish(http, &content) < 0)
		die(CLI_SYSTEM, "serve: out of memory");
}

static void refresh(struct served *served, struct http *http)
{
	struct stat st;
	bool part;
	uint64_t pace_ns = PACE * served->took_ns;
	if (pace_ns < PACE_LEAST_NS)
		pace_ns = PACE_LEAST_NS;
	if (now_ns() - served->read_ns < pace_ns || !look(served->path, &st, &part))
		return;
	bool live = part && age_ns(&st) < STILL_NS;
	if (live == served->live && st.st_ino == served->seen.st_ino &&
		st.st_size == served->seen.st_size && st.st_dev == served->seen.st_dev &&
		st.st_mtim.tv_sec == served->seen.st_mtim.tv_sec &&
		st.st_mtim.tv_nsec == served->seen.st_mtim.tv_nsec)
		return;
	uint64_t begin_ns = now_ns();
	struct load_error error = {0};
	struct run *run = NULL;
	int rc = run_load(&run, served->path, &error);
	if (rc < 0 && !served->failures++)
		warn("%s: cannot be read again (%s); older numbers are served", served->path,
			error.text[0] ? error.text : brick_strerror(rc));
	served->seen = st;
	if (rc == 0) {
		served->live = live;
		served->reads++;
		publish(served, http, run);
		run_destroy(run);
	}
	served->read_ns = now_ns();
	served->took_ns = served->read_ns - begin_ns;
}

static void say(const struct options *options, const struct http *http, const char *path)
{
	bool six = strchr(options->http.address, ':') != NULL;
	char *shown = xasprintf("%s%s%s", six ? "[" : "", options->http.address, six ? "]" : "");
	char *safe = text_safe(path);
	printf("Serving %s\n"
	       "  page     http://%s:%u/%s\n"
	       "  metrics  http://%s:%u/metrics\n"
	       "Ctrl-C ends it.\n",
		safe, shown, http_port(http), options->http.token ? "?token=..." : "", shown,
		http_port(http));
	fflush(stdout);
	free(safe);
	free(shown);
}

static struct http *start(const struct options *options)
{
	struct http *http;
	int rc = http_start(&http, &options->http);
	if (rc == -EINVAL)
		die_usage("serve", "--bind %s: must be an IPv4 or IPv6 address", options->http.address);
	if (rc < 0)
		die(CLI_SYSTEM, "serve: cannot listen on %s port %u: %s", options->http.address,
			options->http.port, strerror(-rc));
	return http;
}

static void first_reading(struct served *served, struct http *http)
{
	bool part = false;
	struct run *run = input_load(served->path);
	if (look(served->path, &served->seen, &part))
		served->live = part && age_ns(&served->seen) < STILL_NS;
	served->reads = 1;
	publish(served, http, run);
	run_destroy(run);
	served->read_ns = now_ns();
}

static int run_serve(int argc, char **argv)
{
	struct options options = {.http = {.address = "127.0.0.1",
					  .port = DEFAULT_PORT,
					  .token = getenv("BRICK_SERVE_TOKEN")}};
	if (options.http.token && !options.http.token[0])
		options.http.token = NULL;
	parse(&options, argc, argv);
	const char *operand = input_operand(argc, argv);
	check(&options);
	char *path = resolve(operand);
	struct served served = {.path = path};
	static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
	sigset_t set;
	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		sigaddset(&set, ends[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	struct http *http = start(&options);
	first_reading(&served, http);
	say(&options, http, path);
	const struct timespec second = {.tv_sec = 1};
	while (sigtimedwait(&set, NULL, &second) < 0) {
		http_sweep(http);
		refresh(&served, http);
	}
	http_stop(http);
	free(path);
	return CLI_DONE;
}

const struct cli_command command_serve = {
	.name = "serve",
	.summary = "show a recording in a browser, live; metrics for Prometheus",
	.run = run_serve,
	.flags = CLI_ANSWERS,
};
