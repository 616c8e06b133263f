/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `brick serve`: options, and the loop that reads a growing recording or session again. Reading
 * takes at most a tenth of one CPU's time. The main thread makes the answers, and the server's
 * thread sends them.
 */
#include "base/clock_ns.h"
#include "brick/error.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/die.h"
#include "cli/input.h"
#include "cli/selection_options.h"
#include "cli/serve_push.h"
#include "ui/page/page_json.h"
#include "ui/text/text.h"
#include "ui/serve/access.h"
#include "ui/serve/held.h"
#include "ui/serve/http_server.h"
#include "ui/serve/metrics.h"
#include "ui/serve/otlp_push.h"
#include "ui/serve/serve_source.h"

enum { DEFAULT_PORT = 9477, MIN_TOKEN = 16 };

#define LOOK_NS 200000000 /* the time from one check for a new reading to the next */

struct options {
	struct http_options http;
	struct selection selection;
	const char *otlp, *db;
	bool has_push;
};

struct server {
	const struct selection *selection;
	struct serve_source *source;
	struct http *http;
	struct held held;
	struct serve_pace pace;
	struct metrics_server counts;
	char *metrics; /* from the last successful reading */
	const char *otlp_url;
	struct otlp_push *push;	   /* NULL: nothing is sent */
	bool has_more;		   /* requests in the present run are still to be sent */
	bool is_over;		   /* the present run does not grow any more */
	struct serve_push windows; /* without a thread: none are sent */
};

static void set_port(const struct option_use *use, const char *text)
{
	unsigned long port;
	const struct option_use to_port = {use->command, use->option, &port};
	option_number(&to_port, text);
	*(uint16_t *)use->to = (uint16_t)port;
}

static const struct cli_option cmd_serve_option_table[] = {
	{"port", "N", "listen on this port (default 9477; 0: any that is free)", set_port,
		AT(http.port), .low = 0, .high = 65535},
	{"bind", "ADDR",
		"listen on this address (default 127.0.0.1); one that others can reach needs a "
		"token",
		option_text, AT(http.address)},
	{"token", "TOKEN",
		"answer only requests with 'Authorization: Bearer TOKEN' or ?token=TOKEN; from the "
		"environment variable BRICK_SERVE_TOKEN if not given here",
		option_text, AT(http.token)},
	{"otlp", "URL",
		"send requests that have ended, as spans, and their histograms to this "
		"OpenTelemetry collector, as http://localhost:4318; env: the one that "
		"OTEL_EXPORTER_OTLP_ENDPOINT names",
		option_text, AT(otlp)},
	{"push", NULL, "send windows of the recording as it grows, as 'brick push' does",
		option_flag, AT(has_push)},
	{"db", "WHERE", "the history to which --push sends (default: as 'brick push')", option_text,
		AT(db)},
	SELECTION_PHASE(offsetof(struct options, selection)),
	SELECTION_OPTIONS(offsetof(struct options, selection)),
	OPTION_HELP,
};

/* Takes the content. 0 or -ENOMEM. */
static int cmd_serve_hand_out(struct server *server, struct http_content *content)
{
	content->metrics = metrics_whole(server->metrics, &server->counts, &content->metrics_bytes);
	int rc = content->metrics ? 0 : -ENOMEM;
	return http_publish(server->http, content) ?: rc;
}

/* The document and its data, as texts. */
static int cmd_serve_fill(struct http_content *content, const struct page *page, bool live)
{
	const char *head, *tail;
	size_t head_bytes, tail_bytes;
	json_auto_t *data = NULL;
	int rc = page_json(&data, page, live ? PAGE_LIVE : PAGE_SERVED);
	if (rc == 0)
		rc = page_text(&content->data, &content->data_bytes, data);
	if (rc < 0)
		return rc;
	page_template(&head, &head_bytes, &tail, &tail_bytes);
	content->page_bytes = head_bytes + content->data_bytes + tail_bytes;
	content->page = malloc(content->page_bytes);
	if (!content->page)
		return -ENOMEM;
	memcpy(content->page, head, head_bytes);
	memcpy(content->page + head_bytes, content->data, content->data_bytes);
	memcpy(content->page + head_bytes + content->data_bytes, tail, tail_bytes);
	return 0;
}

/* Measures requests: as metrics in text, and as data to send. -ENOMEM. */
static int measure_requests(
	struct server *server, const struct page *page, bool live, char **metrics)
{
	bool is_session = serve_source_is_session(server->source);
	/* requests of a session, or of a part of a recording, are incomplete */
	const struct requests *requests = is_session || page->run->selected ? NULL : page->requests;
	SCOPED_BY(otlp_fini) struct otlp otlp = {0};
	SCOPED_TO(latencies_destroy) struct latencies *latencies = NULL;
	bool is_over = is_session || !live;
	int rc = otlp_init(&otlp, page->run, requests, &page->index);

	if (rc == 0)
		rc = latencies_create(
			&latencies, page->run, requests, &page->index, page->times, is_over);
	if (rc < 0)
		return rc;
	const struct metrics_view view = {.page = page,
		.live = live,
		.is_session = is_session,
		.latencies = latencies,
		.otlp = &otlp};
	*metrics = metrics_of_page(&view);
	if (*metrics && server->push)
		rc = otlp_push_metrics(server->push, &otlp, latencies, page->times);
	server->has_more = requests && server->push;
	server->is_over = is_over;
	return *metrics ? rc : -ENOMEM;
}

/* Takes the run of the reading. -ENOMEM: the former documents stay. */
static int cmd_serve_publish(struct server *server, const struct serve_reading *reading)
{
	struct http_content content = {0};
	struct page *page = calloc(1, sizeof(*page));
	char *metrics = NULL;
	int rc = page ? page_measure(page, reading->run) : -ENOMEM;
	if (rc == 0)
		rc = cmd_serve_fill(&content, page, reading->live);
	if (rc == 0)
		rc = measure_requests(server, page, reading->live, &metrics);
	if (rc < 0) {
		free(metrics);
		free(content.page);
		free(content.data);
		held_release(page, reading->run);
		return rc;
	}
	free(server->metrics);
	server->metrics = metrics;
	server->counts.reads++;
	run_release(reading->run);
	held_take(&server->held, page, reading->run);
	return cmd_serve_hand_out(server, &content);
}

/* As serve_source_read(), then applies the selection: nothing of it may be there yet. */
static int read_source(struct server *server, struct serve_reading *reading)
{
	char *missing;
	int rc = serve_source_read(server->source, reading);
	if (rc <= 0)
		return rc;
	int narrowed = selection_apply(server->selection, reading->run, &missing);
	if (narrowed == 0)
		return rc;
	run_destroy(reading->run);
	snprintf(reading->why, sizeof(reading->why), "has %s",
		missing ? missing : "no place in memory");
	free(missing);
	return narrowed;
}

static void cmd_serve_fail(struct server *server, int rc, const char *why)
{
	struct http_content none = {0};
	const char *name = serve_source_name(server->source);
	if (!server->metrics)
		die(rc == -ENOMEM ? CLI_SYSTEM : CLI_INPUT, "%s: %s", name, why);
	if (!server->counts.failures++)
		warn("%s: cannot be read again (%s); older numbers are served", name, why);
	cmd_serve_hand_out(server, &none);
}

static void cmd_serve_refresh(struct server *server)
{
	struct serve_reading reading;
	uint64_t begin_cpu_ns = process_cpu_ns();
	if (!serve_pace_is_due(&server->pace, monotonic_ns(), http_asked(server->http)))
		return;
	int rc = read_source(server, &reading);
	if (!rc)
		return;
	if (rc < 0)
		cmd_serve_fail(server, rc, reading.why);
	else if ((rc = cmd_serve_publish(server, &reading)) < 0)
		cmd_serve_fail(server, rc, "not enough memory for its numbers");
	serve_pace_read(&server->pace, monotonic_ns(), process_cpu_ns() - begin_cpu_ns);
}

/* Sends some requests of the present run; only the main thread replaces it. */
static void take_requests(struct server *server)
{
	const struct page *page = server->held.page;
	SCOPED_BY(otlp_fini) struct otlp otlp = {0};

	if (!server->has_more)
		return;
	int rc = otlp_init(&otlp, page->run, page->requests, &page->index);
	if (rc == 0)
		rc = otlp_push_requests(server->push, &otlp, server->is_over);
	server->has_more = rc > 0;
	run_release(page->run);
}

/* Updates the served counts, and warns once if the collector has failed. */
static void send_otlp(struct server *server, bool is_last)
{
	struct http_content none = {0};
	struct otlp_push_counts before;

	if (!server->push)
		return;
	uint64_t begin_ns = monotonic_ns(), sent;
	before = server->counts.otlp;
	do { /* as long as it goes well, for about a second */
		sent = server->counts.otlp.sent_spans;
		take_requests(server);
		otlp_push_turn(server->push, is_last);
		server->counts.otlp = otlp_push_counts(server->push);
	} while (server->has_more && !is_last && server->counts.otlp.sent_spans > sent &&
		 monotonic_ns() - begin_ns < NS_PER_S);
	if (server->counts.otlp.failures && !before.failures) {
		SCOPED char *why = text_safe(otlp_push_error(server->push));
		warn("%s: %s; brick_serve_otlp_* in the metrics count it", server->otlp_url, why);
	}
	if (is_last && (server->has_more || server->counts.otlp.dropped_spans))
		warn("%s: not all requests were sent", server->otlp_url);
	if (!is_last && memcmp(&before, &server->counts.otlp, sizeof(before)) != 0)
		cmd_serve_hand_out(server, &none);
}

static void cmd_serve_say(const struct server *server, const struct http_options *options)
{
	bool six = strchr(options->address, ':') != NULL;
	SCOPED char *shown = xasprintf("%s%s%s", six ? "[" : "", options->address, six ? "]" : "");
	SCOPED char *safe = text_safe(serve_source_name(server->source));
	unsigned port = http_port(server->http);
	printf("Serving %s\n"
	       "  page     http://%s:%u/%s\n"
	       "  metrics  http://%s:%u/metrics\n"
	       "Ctrl-C ends it.\n",
		safe, shown, port, options->token ? "?token=..." : "", shown, port);
	fflush(stdout);
}

static struct http *cmd_serve_start(const struct http_options *options)
{
	struct http *http;
	int rc = http_start(&http, options);
	if (rc == -EINVAL)
		die_usage("serve", "--bind %s: must be an IPv4 or IPv6 address", options->address);
	if (rc < 0)
		die(CLI_SYSTEM, "serve: cannot listen on %s port %u: %s", options->address,
			options->port, strerror(-rc));
	return http;
}

static struct serve_source *cmd_serve_open_source(const char *operand)
{
	struct serve_source *source;
	const char *why;
	int rc = serve_source_open(&source, operand, &why);
	if (rc == -ENOENT)
		die(CLI_INPUT, "%s: no such process, and no such file", operand);
	if (rc == -EACCES)
		die(CLI_SYSTEM, "%s: belongs to another user, who (or root) can look into it",
			operand);
	if (rc == BRICK_ENOTRECORDED && why)
		die(CLI_INPUT, "%s: its session cannot be read: %s", operand, why);
	if (rc == BRICK_ENOTRECORDED)
		die(CLI_INPUT,
			"%s: is not being recorded and has no session; start it with 'brick "
			"record -- CMD'",
			operand);
	if (rc < 0)
		die(CLI_SYSTEM, "%s: %s", operand, brick_strerror(rc));
	return source;
}

static void start_otlp(struct server *server, const struct options *options)
{
	if (!options->otlp)
		return;
	if (selection_is_any(&options->selection))
		die_usage("serve", "--otlp sends whole requests; no part of a recording can be "
				   "chosen");
	if (serve_source_is_session(server->source))
		die(CLI_INPUT, "serve: --otlp sends requests of a recording; %s writes none",
			serve_source_name(server->source));
	SCOPED char *why = NULL;
	int rc = otlp_push_create(&server->push, options->otlp, &why);
	if (rc == -EINVAL) {
		SCOPED char *safe = text_safe(why);
		die_usage("serve", "--otlp %s: %s", options->otlp, safe);
	}
	if (rc < 0)
		die(CLI_SYSTEM, "serve: --otlp: %s",
			rc == -ENOTSUP ? "libcurl is missing (libcurl4): nothing can be sent"
				       : "not enough memory");
	server->otlp_url = options->otlp;
	server->counts.sends_otlp = true;
}

static void start_push(struct server *server, const struct options *options)
{
	const char *name = serve_source_name(server->source);

	if (options->db && !options->has_push)
		die_usage("serve", "--db says where --push sends");
	if (!options->has_push)
		return;
	if (selection_is_any(&options->selection))
		die_usage("serve", "--push sends whole recordings; no part of one can be chosen");
	if (serve_source_is_session(server->source))
		die(CLI_INPUT, "serve: --push sends windows of a recording; %s writes none", name);
	serve_push_start(&server->windows, options->db, name);
	server->counts.pushes = true;
}

static void send_windows(struct server *server)
{
	struct http_content none = {0};
	uint64_t before = server->counts.pushed + server->counts.push_failures;
	const struct page *page = server->held.page;

	if (!server->counts.pushes || !page)
		return;
	serve_push_turn(&server->windows, run_has_mark(page->run, MARK_PART));
	server->counts.pushed = server->windows.sent;
	server->counts.push_failures = server->windows.failures;
	if (before != server->counts.pushed + server->counts.push_failures)
		cmd_serve_hand_out(server, &none);
}

/* Blocked before threads are started, which inherit that: the main thread waits for them. */
static void block_ends(sigset_t *set)
{
	static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
	sigemptyset(set);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		sigaddset(set, ends[i]);
	sigprocmask(SIG_BLOCK, set, NULL);
}

static int run_serve(int argc, char **argv)
{
	struct options options = {.selection = SELECTION_INIT,
		.http = {.address = "127.0.0.1",
			.port = DEFAULT_PORT,
			.token = getenv("BRICK_SERVE_TOKEN")}};
	const struct timespec look = {.tv_nsec = LOOK_NS};
	struct server server = {.selection = &options.selection};
	sigset_t ends;
	if (options.http.token && !options.http.token[0])
		options.http.token = NULL;
	options_parse(&command_serve, &options, argc, argv);
	const char *operand = input_operand(argc, argv);
	const struct http_options *http = &options.http;
	if (http->token && strlen(http->token) < MIN_TOKEN)
		die_usage("serve", "--token: must have at least %d characters", MIN_TOKEN);
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
	server.source = cmd_serve_open_source(operand);
	start_otlp(&server, &options);
	held_init(&server.held);
	options.http.ask = held_ask;
	options.http.ask_context = &server.held;
	options.http.order = held_order;
	block_ends(&ends);
	start_push(&server, &options);
	server.http = cmd_serve_start(&options.http);
	cmd_serve_refresh(&server);
	cmd_serve_say(&server, &options.http);
	while (sigtimedwait(&ends, NULL, &look) < 0) {
		http_sweep(server.http);
		cmd_serve_refresh(&server);
		send_otlp(&server, false);
		send_windows(&server);
	}
	send_otlp(&server, true);
	serve_push_end(&server.windows);
	http_stop(server.http);
	held_fini(&server.held);
	otlp_push_destroy(server.push);
	serve_source_close(server.source);
	free(server.metrics);
	return CLI_DONE;
}

const struct cli_command command_serve = {
	.name = "serve",
	.summary = "show a recording in a browser, live; metrics for Prometheus",
	.run = run_serve,
	.flags = CLI_ANSWERS | CLI_READS,
	.usage = "[OPTIONS] FILE|PID",
	.about = "Show a recording in a browser, also while it is being written, and give its "
		 "numbers to Prometheus at /metrics. PID is a process that is being recorded "
		 "or embeds libbrick.",
	.options = cmd_serve_option_table,
};
