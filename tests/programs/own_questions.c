/* SPDX-License-Identifier: Apache-2.0 */
/*
 * own_questions FOLDER: what a program asks of its own session in libbrick-report, case by case:
 * kinds of rows, sessions of statistics only, work that overlaps, sources of kernels, a reader that
 * never reads. It asserts what it can know, and writes recordings into FOLDER.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "brick/brick.h"
#include "brick/report.h"

static void spin(uint64_t ns)
{
	const struct brick_clock *clock = brick_clock_get();
	uint64_t begin = brick_ticks();

	while (brick_clock_duration_ns(clock, brick_ticks() - begin) < ns)
		;
}

/* The caller frees. */
static char *report(enum brick_report_format format, const struct brick_report_options *o, int want)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);
	int error = brick_report_write(out, format, o);

	if (error != want)
		fprintf(stderr, "rc %d, not %d\n", error, want);
	assert(error == want);
	fclose(out);
	return text;
}

static void has(char *text, const char *part, bool wanted)
{
	if (!strstr(text, part) == wanted)
		fprintf(stderr, "%s \"%s\" in:\n%s\n", wanted ? "no" : "an unwanted", part, text);
	assert(!strstr(text, part) != wanted);
	free(text);
}

static void start(const char *output, uint32_t ring_records)
{
	struct brick_session_options o = BRICK_SESSION_OPTIONS_INIT;

	o.output = output;
	o.ring_records = ring_records;
	assert(!brick_session_start(&o));
}

static void run_steps(void)
{
	for (int i = 0; i < 3; i++) {
		brick_span step =
			brick_step_begin(i ? BRICK_PHASE_DECODE : BRICK_PHASE_PREFILL, i ? 1 : 8);
		brick_span norm = brick_begin_layer(BRICK_RMS_NORM, i);
		spin(200000);
		brick_end_elements(norm, 100);
		brick_end(step);
	}
}

/* One command of a kernel whose source is known. Returns its hash. */
static uint64_t run_kernel(void)
{
	static const char source[] = ".entry k(){}";
	struct brick_queue_options options = BRICK_QUEUE_OPTIONS_INIT;
	struct brick_kernel kernel = BRICK_KERNEL_INIT;
	struct brick_command command = BRICK_COMMAND_INIT;
	struct brick_queue *queue;

	options.name = "stream 7";
	options.backend = "cuda";
	assert(!brick_queue_create(&queue, &options));
	kernel.name = "saxpy";
	kernel.backend = "cuda";
	kernel.code = brick_code_register(source, strlen(source), "k", "k.ptx");
	command.kernel = brick_kernel_register(&kernel);
	command.source = BRICK_SOURCE_DEVICE_EVENT;
	brick_span step = brick_step_begin(BRICK_PHASE_DECODE, 1);
	brick_span span = brick_begin_layer(BRICK_LM_HEAD, 0);
	brick_launch_begin(&command.launch);
	brick_launch_end(&command.launch);
	command.begin_ns = brick_clock_ns(brick_clock_get(), brick_ticks());
	spin(30000);
	command.end_ns = command.begin_ns + 20000;
	assert(!brick_queue_record(queue, &command));
	brick_end(span);
	brick_end(step);
	brick_queue_destroy(queue);
	return kernel.code;
}

static void kinds_of_rows(const char *path)
{
	static const struct {
		uint32_t by;
		const char *title, *row;
	} kinds[] = {
		{BRICK_REPORT_BY_BRICK, "brick,", "\nLmHead,"},
		{BRICK_REPORT_BY_CATEGORY, "category,", "\nOther,"},
		{BRICK_REPORT_BY_LAYER, "layer,", "\nlayer 0,"},
		{BRICK_REPORT_BY_PHASE, "phase,", "\ndecode"},
		{BRICK_REPORT_BY_STEP, "step,", "\ndecode 1,"},
		{BRICK_REPORT_BY_THREAD, "thread,", "questioner"},
		{BRICK_REPORT_BY_KERNEL, "kernel,", "\nsaxpy,"},
		{BRICK_REPORT_BY_QUEUE, "queue,", "stream 7"},
	};
	struct brick_report_options o = BRICK_REPORT_OPTIONS_INIT;

	start(path, 0);
	brick_thread_name("questioner");
	run_kernel();
	for (int stopped = 0; stopped < 2; stopped++) {
		for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
			o.by = kinds[i].by;
			has(report(BRICK_REPORT_CSV, &o, 0), kinds[i].row, true);
		}
		if (!stopped)
			assert(!brick_session_stop());
	}
	o.by = BRICK_REPORT_BY_BRICK;
	o.columns = "self,avg";
	has(report(BRICK_REPORT_TEXT, &o, 0), "AVG", true);
	has(report(BRICK_REPORT_TEXT, &o, 0), "SHARE  ", false);
	o.columns = "self,nonsense";
	free(report(BRICK_REPORT_TEXT, &o, -EINVAL));
}

static void nothing_so_far(void)
{
	has(report(BRICK_REPORT_TEXT, NULL, -ENOENT), "x", false);
	start(NULL, 0);
	has(report(BRICK_REPORT_TEXT, NULL, 0), "Nothing was recorded so far", true);
	has(report(BRICK_REPORT_TEXT, NULL, 0), "programs that use", false);
	assert(!brick_session_stop());
}

static void statistics_only(void)
{
	struct brick_summary summary = BRICK_SUMMARY_INIT;
	struct brick_report_options o = BRICK_REPORT_OPTIONS_INIT;

	start(NULL, 0);
	for (int i = 0; i < 5; i++) {
		struct brick_async async = brick_async_begin(BRICK_SAMPLING);
		brick_async_end(&async, 1);
	}
	brick_record_deferred(BRICK_LM_HEAD, brick_ticks(), 1);
	run_kernel();
	run_steps();
	assert(!brick_summary(&summary));
	assert(!summary.lost);
	has(report(BRICK_REPORT_TEXT, NULL, 0), "unmatched", false);
	has(report(BRICK_REPORT_TEXT, NULL, 0), "none recorded", false);
	has(report(BRICK_REPORT_TEXT, NULL, 0), "tokens/s", true);
	has(report(BRICK_REPORT_TEXT, NULL, 0), "Next", false);
	o.by = BRICK_REPORT_BY_LAYER;
	has(report(BRICK_REPORT_TEXT, &o, BRICK_ENOTRECORDED), "statistics only", true);
	o.by = BRICK_REPORT_BY_STEP;
	has(report(BRICK_REPORT_TEXT, &o, BRICK_ENOTRECORDED), "statistics only", true);
	/* phases are told by the threads' own counts of steps: all of their time, and no other */
	o.by = BRICK_REPORT_BY_PHASE;
	has(report(BRICK_REPORT_CSV, &o, 0), "\ndecode,", true);
	has(report(BRICK_REPORT_CSV, &o, 0), "\nunattributed,", false);
	assert(summary.bricks_ns >= 600000 && summary.elements_per_brick_s > 0);
	assert(!brick_session_stop());
}

static uint64_t field(const char *json, const char *name, const char *key)
{
	const char *row = strstr(json, name), *at = row ? strstr(row, key) : NULL;

	assert(at);
	return strtoull(at + strlen(key) + 2, NULL, 10);
}

/* Pieces that overlap wholly have their own lengths, also in reports. */
static void overlapping(const char *path)
{
	enum { PIECES = 50 };
	struct brick_async async[PIECES];
	struct brick_report_options o = BRICK_REPORT_OPTIONS_INIT;
	uint64_t sum = 0, told[2];

	start(path, 0);
	for (int i = 0; i < PIECES; i++)
		async[i] = brick_async_begin(BRICK_SAMPLING);
	spin(2000000);
	for (int i = 0; i < PIECES; i++)
		sum += brick_async_end(&async[i], 1);
	o.columns = "each,total";
	char *text = report(BRICK_REPORT_TEXT, &o, 0);
	char *row = strstr(text, "Sampling");
	assert(row);
	for (int i = 0; i < 2; i++) { /* "2.05ms  103ms" */
		row += strcspn(row, "0123456789");
		double number = strtod(row, &row);
		told[i] = (uint64_t)(number * (*row == 's' ? 1e9 : *row == 'm' ? 1e6 : 1e3));
	}
	assert(told[0] > sum / PIECES * 9 / 10 && told[0] < sum / PIECES * 11 / 10);
	assert(told[1] > sum * 9 / 10 && told[1] < sum * 11 / 10);
	free(text);
	assert(!brick_session_stop());
}

static void source_while_it_runs(void)
{
	struct brick_graph_code code = BRICK_GRAPH_CODE_INIT;
	struct brick_graph *graph;

	start(NULL, 4096);
	uint64_t hash = run_kernel();
	for (int i = 0; i < 2; i++) {
		assert(!brick_graph_of_session(&graph, 0));
		assert(!brick_graph_code_get(graph, hash, &code));
		assert(!strcmp(code.source, ".entry k(){}"));
		brick_graph_destroy(graph);
	}
	assert(!brick_session_stop());
}

/* Kept one by one from a switch on, and then no more. */
static void graph_on_and_off(void)
{
	struct brick_graph *graph = NULL;

	start(NULL, 0);
	run_steps();
	assert(!brick_session_graph_set(1));
	run_steps();
	assert(!brick_graph_of_session(&graph, 0));
	size_t nodes = brick_graph_node_count(graph);
	brick_graph_destroy(graph);
	assert(nodes >= 6);
	assert(!brick_session_graph_set(0));
	run_steps();
	struct brick_stats stats = BRICK_STATS_INIT;
	assert(!brick_stats_get(BRICK_RMS_NORM, &stats));
	assert(stats.count == 9 && stats.elements == 900);
	assert(!brick_session_stop());
}

/* Told to the ns, in process and in the file, in the phase in which it was told. */
static void told_from_elsewhere(const char *path)
{
	uint64_t sum = 0;

	start(path, 0);
	for (int phase = 0; phase < 2; phase++) {
		brick_span step = brick_step_begin((enum brick_phase)phase, 1);
		spin(300000);
		for (uint64_t i = 1; !phase && i <= 1000; i++) {
			brick_record_elapsed(BRICK_FFT_1D, i * 997 + 13, 2, 7);
			sum += i * 997 + 13;
		}
		brick_record_elapsed(BRICK_SPMV, 700000, 1, 0);
		brick_end(step);
	}
	struct brick_stats stats = BRICK_STATS_INIT;
	assert(!brick_stats_get(BRICK_FFT_1D, &stats));
	assert(stats.total_ns == sum && stats.mean_ns == (double)sum / 1000);
	assert(!brick_session_stop());
	char *json = report(BRICK_REPORT_JSON, NULL, 0);
	assert(field(json, "\"FFT1D\"", "\"total_ns\"") == sum);
	free(json);
	char *text = report(BRICK_REPORT_TEXT, NULL, 0);
	char *prefill = strstr(text, "\nPrefill  "), *decode = strstr(text, "\nDecode  ");
	prefill = strstr(prefill + 1, "\nPrefill ");
	decode = strstr(decode + 1, "\nDecode ");
	assert(prefill && decode);
	assert(strstr(prefill, "FFT1D") && strstr(prefill, "SpMV") && strstr(decode, "SpMV"));
	free(text);
}

/* Bricks of a program that idles are shown. */
static void idling(void)
{
	start(NULL, 0);
	for (int i = 0; i < 3; i++) {
		brick_span span = brick_begin(BRICK_RMS_NORM);
		spin(10000);
		span = brick_lap(span, BRICK_QKV_PROJECTION);
		spin(20000);
		brick_end(span);
	}
	usleep(300000);
	has(report(BRICK_REPORT_TEXT, NULL, 0), "RmsNorm", true);
	has(report(BRICK_REPORT_TEXT, NULL, 0), "QkvProjection", true);
	assert(!brick_session_stop());
}

/* Again and again, while it goes on. */
static void saved(const char *path, const char *output)
{
	struct brick_report_options o = BRICK_REPORT_OPTIONS_INIT;

	assert(brick_session_save(path) == -ENOENT);
	start(output, 4096);
	o.file = path;
	o.columns = "count";
	for (int i = 1; i <= 2; i++) {
		char expected[32];
		run_steps();
		assert(!brick_session_save(path));
		snprintf(expected, sizeof(expected), "\nRmsNorm,%d\n", 3 * i);
		has(report(BRICK_REPORT_CSV, &o, 0), expected, true);
	}
	assert(brick_session_save("") == -EINVAL);
	assert(!output || brick_session_save(output) == -EBUSY);
	assert(!brick_session_stop());
}

static int ends[2];

static void *write_for_nobody(void *unused)
{
	FILE *out = fdopen(ends[1], "w");

	setvbuf(out, NULL, _IONBF, 0);
	for (int i = 0; i < 200; i++)
		brick_report_write(out, BRICK_REPORT_JSON, NULL);
	return unused;
}

/* Nobody reads what one thread writes, until all else is done. */
static void slow_reader(void)
{
	struct brick_summary summary = BRICK_SUMMARY_INIT;
	char room[4096];
	pthread_t thread;

	start(NULL, 4096);
	run_steps();
	assert(!pipe(ends));
	fcntl(ends[1], F_SETPIPE_SZ, 4096);
	assert(!pthread_create(&thread, NULL, write_for_nobody, NULL));
	while (fcntl(ends[1], F_GETPIPE_SZ) > 4096 || usleep(100000))
		break;
	usleep(200000);
	assert(!brick_summary(&summary));
	free(report(BRICK_REPORT_TEXT, NULL, 0));
	pid_t child = fork();
	if (!child)
		_exit(0);
	assert(waitpid(child, NULL, 0) == child);
	assert(!brick_session_stop());
	assert(!fcntl(ends[0], F_SETFL, O_NONBLOCK));
	while (pthread_tryjoin_np(thread, NULL)) {
		if (read(ends[0], room, sizeof(room)) <= 0)
			usleep(100);
	}
}

static ssize_t ask_again(void *unused, const char *data, size_t bytes)
{
	struct brick_summary summary = BRICK_SUMMARY_INIT;

	assert(!brick_summary(&summary));
	return unused || data ? (ssize_t)bytes : 0;
}

/* A stream whose function asks itself. */
static void callback_asks(void)
{
	start(NULL, 0);
	run_steps();
	FILE *out = fopencookie(NULL, "w", (cookie_io_functions_t){.write = ask_again});
	setvbuf(out, NULL, _IONBF, 0);
	assert(!brick_report_write(out, BRICK_REPORT_TEXT, NULL));
	fclose(out);
	assert(!brick_session_stop());
}

int main(int count, char **arguments)
{
	char path[3][512];

	alarm(100); /* what waits for ever ends here */
	for (int i = 0; i < 3 && count > 1; i++)
		snprintf(path[i], sizeof(path[i]), "%s/%d.pftrace", arguments[1], i);
	nothing_so_far();
	kinds_of_rows(path[0]);
	statistics_only();
	overlapping(NULL);
	overlapping(path[1]);
	source_while_it_runs();
	graph_on_and_off();
	told_from_elsewhere(path[2]);
	idling();
	saved(path[0], NULL);
	saved(path[0], path[1]);
	slow_reader();
	callback_asks();
	return 0;
}
