/* SPDX-License-Identifier: Apache-2.0 */
/*
 * own_results OUTPUT|-|RECORDS FOLDER: runs steps, and writes what the library says of them into
 * FOLDER while the session runs (running.*) and after it has been stopped (stopped.*). "-": a
 * session without an output.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "brick/brick.h"
#include "brick/graph_path.h"
#include "brick/report.h"

enum { STEPS = 200, LAYERS = 3 };

static const char *folder;

static FILE *create(const char *when, const char *what)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s.%s", folder, when, what);
	FILE *out = fopen(path, "w");
	assert(out);
	return out;
}

static void spin(uint64_t ns)
{
	uint64_t end = brick_ticks() + brick_clock_get()->frequency / 1000000 * ns / 1000;

	while (brick_ticks() < end)
		;
}

static void run_steps(void)
{
	for (int i = 0; i < STEPS; i++) {
		brick_span step =
			brick_step_begin(i ? BRICK_PHASE_DECODE : BRICK_PHASE_PREFILL, i ? 1 : 8);
		for (int layer = 0; layer < LAYERS; layer++) {
			brick_span norm = brick_begin_layer(BRICK_RMS_NORM, layer);
			spin(20000);
			brick_end(norm);
			brick_span head = brick_begin_layer(BRICK_LM_HEAD, layer);
			spin(60000);
			brick_end_work(head, 100, 4000, 8000);
		}
		brick_end(step);
	}
}

static int put(void *context, const char *data, size_t bytes)
{
	return fwrite(data, 1, bytes, context) == bytes ? 0 : -EIO;
}

static void write_summary(const char *when, const struct brick_summary *s)
{
	FILE *out = create(when, "summary");

	fprintf(out,
		"{\"wall_ns\": %llu, \"decode_steps\": %llu, \"decode_tokens\": %llu, "
		"\"prefill_tokens\": %llu, "
		"\"decode_tokens_per_s\": %.9g, \"executions\": %llu, \"elements\": %llu, "
		"\"coverage\": %.9g, "
		"\"lost\": %llu}\n",
		(unsigned long long)s->wall_ns, (unsigned long long)s->decode_steps,
		(unsigned long long)s->decode_tokens, (unsigned long long)s->prefill_tokens,
		s->decode_tokens_per_s, (unsigned long long)s->executions,
		(unsigned long long)s->elements, s->coverage, (unsigned long long)s->lost);
	fclose(out);
}

static void write_graph(const char *when)
{
	struct brick_graph_summary numbers = BRICK_GRAPH_SUMMARY_INIT;
	struct brick_graph *graph;
	FILE *out = create(when, "graph");
	int rc = brick_graph_of_session(&graph, 0);

	if (!rc) {
		assert(!brick_graph_summarize(graph, &numbers) && numbers.length_ns);
		assert(!brick_graph_write(graph, BRICK_GRAPH_TREE, put, out));
		brick_graph_destroy(graph);
	} else {
		fprintf(out, "%d\n", rc);
	}
	fclose(out);
}

static void write_all(const char *when)
{
	static const char *const forms[] = {"txt", "json", "csv"};
	struct brick_summary s = BRICK_SUMMARY_INIT;

	for (int i = 0; i < BRICK_REPORT_FORMATS; i++) {
		FILE *out = create(when, forms[i]);
		assert(!brick_report_write(out, (enum brick_report_format)i, NULL));
		fclose(out);
	}
	assert(!brick_summary(&s));
	write_summary(when, &s);
	write_graph(when);
}

static void refusals(void)
{
	struct brick_report_options options = BRICK_REPORT_OPTIONS_INIT;
	struct brick_summary short_one = {.size = 0};
	struct brick_graph *graph;

	assert(brick_report_write(stdout, BRICK_REPORT_TEXT, NULL) == -ENOENT);
	assert(brick_graph_of_session(&graph, 0) == -ENOENT);
	assert(brick_summary(&short_one) == -EINVAL && brick_summary(NULL) == -EINVAL);
	assert(brick_report_write(NULL, BRICK_REPORT_TEXT, NULL) == -EINVAL);
	assert(brick_report_write(stdout, BRICK_REPORT_FORMATS, NULL) == -EINVAL);
	options.by = BRICK_REPORT_BYS;
	assert(brick_report_write(stdout, BRICK_REPORT_TEXT, &options) == -EINVAL);
	options.by = 0;
	options.file = "/nowhere/at/all";
	assert(brick_report_write(stdout, BRICK_REPORT_TEXT, &options) == -ENOENT);
	FILE *full = fopen("/dev/full", "w");
	assert(full && !brick_session_start(NULL));
	assert(brick_report_write(full, BRICK_REPORT_TEXT, NULL) == -EIO);
	assert(!brick_session_stop());
	fclose(full);
}

/* The lock of the answers is free in the child of a fork. */
static void in_a_child(void)
{
	int status;
	pid_t child = fork();

	if (!child) {
		struct brick_summary s = BRICK_SUMMARY_INIT;
		_exit(brick_summary(&s) != 0);
	}
	assert(waitpid(child, &status, 0) == child && WIFEXITED(status));
}

/* Another epoch in the same session: nothing of the first is in the answers. */
static void after_a_reset(struct brick_session_options options)
{
	struct brick_summary s = BRICK_SUMMARY_INIT;
	char path[512];

	snprintf(path, sizeof(path), "%s/reset.pftrace", folder);
	options.output = options.output ? path : NULL;
	assert(!brick_session_start(&options));
	run_steps();
	uint64_t async = brick_ticks();
	assert(!brick_record_deferred(BRICK_SAMPLING, async, 0));
	assert(!brick_reset());
	uint64_t reset = brick_ticks();
	run_steps();
	assert(!brick_summary(&s));
	/* the clock is the library's own, and has a ratio that is rounded */
	uint64_t since_ns = brick_clock_duration_ns(brick_clock_get(), brick_ticks() - reset);
	assert(s.wall_ns && s.wall_ns <= since_ns + since_ns / 1000 + 1000000);
	write_summary("reset", &s);
	assert(!brick_session_stop());
}

int main(int argc, char **argv)
{
	struct brick_session_options options = BRICK_SESSION_OPTIONS_INIT;

	assert(argc == 3);
	folder = argv[2];
	options.ring_records = (uint32_t)strtoul(argv[1], NULL, 10);
	options.output = options.ring_records || !strcmp(argv[1], "-") ? NULL : argv[1];
	refusals();
	assert(!brick_session_start(&options));
	run_steps();
	write_all("running");
	in_a_child();
	assert(!brick_session_stop());
	write_all("stopped");
	after_a_reset(options);
	return 0;
}
