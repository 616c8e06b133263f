/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The library's answers (include/brick/report.h). The session that the thread uses, or the
 * recording that it became, is loaded as a run, and answers are computed from it as the commands
 * compute theirs. libbrick tells us of a session's end, and we keep the data that its answers need.
 * The program's descriptors, signals and output stay as they are; all errors are returned.
 */
#include "brick/report.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "analysis/path/graph_from_run.h"
#include "base/scope.h"
#include "base/sized.h"
#include "brick/abi/session_view.h"
#include "brick/error.h"
#include "brick/registry.h"
#include "lib/writer/part_file.h"
#include "record/live/live_snapshot.h"
#include "trace/load.h"
#include "trace/run.h"
#include "ui/text/json_out.h"
#include "ui/text/report.h"
#include "ui/text/report_fields.h"
#include "ui/text/report_json.h"
#include "ui/text/report_text.h"
#include "ui/text/text.h"

static pthread_mutex_t results_lock = PTHREAD_MUTEX_INITIALIZER; /* one answer at a time */

LOCK_OVER_FORKS(results_lock)

/* A session that has ended, kept so that it can still be asked. */
struct ended {
	struct brick__session_output output;
	struct run *run; /* its records, if it had no output; NULL: they could not be kept */
};

/* Loads the session in fd. For the answers it ends now. */
static int results_look(struct run **run, int fd, size_t samples)
{
	struct snapshot_part part = {.end = DRAIN_END_CLOSED};
	const char *why;
	int whole, error = drain_open_view(&part.drain, fd, NULL, &why);

	if (error)
		return error;
	drain_view_code(part.drain);
	part.end_ticks = drain_ticks(part.drain);
	error = live_snapshot(run, &part, 1, samples, &whole);
	drain_close(part.drain);
	if (!error)
		(*run)->complete = whole || (*run)->has_statistics_only;
	return error;
}

/* A session that writes a recording is known by that. */
static int results_name_run(struct run *run, const char *path)
{
	char *name = *path ? strdup(path) : NULL;

	if (!*path || !name)
		return *path ? -ENOMEM : 0;
	free(run->path);
	run->path = name;
	return 0;
}

static int results_load(struct run **run, const char *path)
{
	struct load_error why;

	return run_load(run, path, &why);
}

/* Keeps the answers of a session that stops. Answers that cannot be kept are missing later. */
static void stopping(void)
{
	KEEP_ERRNO();
	HOLD_UNCANCELLED(&results_lock);
	void **place = brick__session_answers();
	struct ended *ended = *place ? *place : calloc(1, sizeof(*ended));
	int fd = ended ? brick__session_view(&ended->output) : -ENOMEM;

	*place = ended;
	if (fd == -ENOENT || !ended)
		return; /* it has stopped already */
	run_destroy(ended->run);
	ended->run = NULL;
	if (fd >= 0 && !*ended->output.path)
		results_look(&ended->run, fd, SIZE_MAX);
	if (fd >= 0)
		close(fd);
}

static void forgotten(void *answers)
{
	struct ended *ended = answers;

	HOLD_UNCANCELLED(&results_lock);
	run_destroy(ended->run);
	free(ended);
}

__attribute__((constructor)) static void results_watch(void)
{
	brick__session_watch(stopping, forgotten);
}

/* A run. The caller frees it unless it is kept. */
struct source {
	struct run *run;
	bool is_kept;
};

static void source_fini(struct source *source)
{
	if (!source->is_kept)
		run_destroy(source->run);
}

/*
 * Opens the thread's session while it runs, else the answers that it left at its end. The caller
 * holds the lock.
 */
static int results_open_source(struct source *source, size_t samples)
{
	struct brick__session_output output;
	int error = 0, fd = brick__session_view(&output);

	if (fd >= 0) {
		error = results_look(&source->run, fd, samples);
		close(fd);
		return error ? error : results_name_run(source->run, output.path);
	}
	const struct ended *ended = *brick__session_answers();
	source->run = ended ? ended->run : NULL;
	source->is_kept = source->run != NULL;
	return source->is_kept		      ? 0
	       : ended && *ended->output.path ? results_load(&source->run, ended->output.path)
					      : fd;
}

/* An answer on its way: `out`, whose reader may be slow, gets it when nothing is held any more. */
struct answer {
	char *text;
	size_t bytes;
};

/* shown_on: its width and colours are the text's. */
static int make_text(struct answer *answer, enum brick_report_format format,
	const struct report *report, FILE *shown_on)
{
	FILE *out = open_memstream(&answer->text, &answer->bytes);

	if (!out)
		return -ENOMEM;
	text_error(); /* of an earlier answer */
	if (format == BRICK_REPORT_TEXT)
		report_text_for(report, out, shown_on);
	else if (format == BRICK_REPORT_CSV)
		report_csv(report, out);
	else
		json_print(report_to_json(report), out);
	int error = text_error();
	return fclose(out) && !error ? -ENOMEM : error;
}

static int results_make_answer(struct answer *answer, FILE *shown_on,
	enum brick_report_format format, const struct brick_report_options *options,
	const struct run *run)
{
	static const enum summary_by bys[BRICK_REPORT_BYS] = {
		[BRICK_REPORT_BY_BRICK] = SUMMARY_BY_BRICK,
		[BRICK_REPORT_BY_CATEGORY] = SUMMARY_BY_CATEGORY,
		[BRICK_REPORT_BY_LAYER] = SUMMARY_BY_LAYER,
		[BRICK_REPORT_BY_PHASE] = SUMMARY_BY_PHASE,
		[BRICK_REPORT_BY_STEP] = SUMMARY_BY_STEP,
		[BRICK_REPORT_BY_THREAD] = SUMMARY_BY_THREAD,
		[BRICK_REPORT_BY_KERNEL] = SUMMARY_BY_KERNEL,
		[BRICK_REPORT_BY_QUEUE] = SUMMARY_BY_QUEUE,
	};
	struct report_columns columns = {0};
	SCOPED char *wrong = NULL;
	if (options->columns && report_columns_parse(&columns, options->columns, &wrong) < 0)
		return -EINVAL;
	SCOPED_BY(report_apart_fini) struct report_apart apart = {0};
	int error = report_apart_measure(&apart, run, bys[options->by], REPORT_PHASES_APART);

	for (int i = -1; i < STEP_PHASES && !error; i++) {
		struct report *report = i < 0 ? &apart.all : &apart.phases[i];
		report->columns = columns.count ? &columns : NULL;
		if (options->rows && options->rows < report->shown)
			report->shown = options->rows;
	}
	bool is_place = options->by == BRICK_REPORT_BY_LAYER || options->by == BRICK_REPORT_BY_STEP;
	if (!error)
		error = make_text(answer, format, &apart.all, shown_on);
	return !error && run->has_statistics_only && is_place ? BRICK_ENOTRECORDED : error;
}

static int find_answer(struct answer *answer, FILE *shown_on, enum brick_report_format format,
	const struct brick_report_options *options)
{
	HOLD_UNCANCELLED(&results_lock);
	SCOPED_BY(source_fini) struct source source = {0};
	int error = options->file ? results_load(&source.run, options->file)
				  : results_open_source(&source, SIZE_MAX);
	return error ? error : results_make_answer(answer, shown_on, format, options, source.run);
}

int brick_report_write(
	FILE *out, enum brick_report_format format, const struct brick_report_options *options)
{
	struct brick_report_options o = BRICK_REPORT_OPTIONS_INIT;
	KEEP_ERRNO();
	int error = options ? sized_read(&o, sizeof(o), options) : 0;

	if (error)
		return error;
	if (!out || format >= BRICK_REPORT_FORMATS || o.by >= BRICK_REPORT_BYS)
		return -EINVAL;
	struct answer answer = {0};
	error = find_answer(&answer, out, format, &o);
	SCOPED char *text = answer.text;
	if (error && error != BRICK_ENOTRECORDED)
		return error;
	if (answer.bytes && (fwrite(text, 1, answer.bytes, out) < answer.bytes || fflush(out)))
		return -EIO;
	return ferror(out) ? -EIO : error;
}

static int results_append(void *file, const void *data, size_t bytes)
{
	return part_file_write(file, data, bytes);
}

/* The session in fd, as a recording of its own. */
static int results_save(const char *path, int fd)
{
	struct snapshot_part part = {.end = DRAIN_END_CLOSED};
	struct part_file *file;
	const char *why;
	int error = drain_open_view(&part.drain, fd, NULL, &why);

	if (error)
		return error;
	drain_view_code(part.drain);
	part.end_ticks = drain_ticks(part.drain);
	error = part_file_open(&file, path);
	if (!error) {
		error = live_snapshot_write(&part, results_append, file);
		if (!error)
			error = part_file_finish(file);
		else
			part_file_remove(file);
	}
	drain_close(part.drain);
	return error;
}

int brick_session_save(const char *path)
{
	struct brick__session_output output;
	KEEP_ERRNO();

	if (!path || !*path)
		return -EINVAL;
	HOLD_UNCANCELLED(&results_lock);
	int fd = brick__session_view(&output);
	if (fd < 0)
		return fd;
	int error = results_save(path, fd);
	close(fd);
	return error;
}

static double results_rate(double count, uint64_t ns)
{
	return ns ? count / (double)ns * 1e9 : -1;
}

static uint64_t results_known(uint64_t value)
{
	return value == ANALYSIS_UNKNOWN ? 0 : value;
}

/* Steps hold bricks, waits are none. */
static uint64_t row_bricks_ns(const struct summary_row *row)
{
	const char *step = brick_category_name(BRICK_CATEGORY_STEP);

	if (row->waits || (row->category && !strcmp(row->category, step)))
		return 0;
	return row->on_device ? results_known(row->device_ns) : results_known(row->self_ns);
}

static void summarize(struct brick_summary *s, const struct report *report)
{
	const struct summary *summary = report->summary;
	const struct step_phase_times *phases = summary->steps.phases;
	const struct losses *losses = &report->losses;

	s->wall_ns = summary->wall_ns;
	s->first_token_ns = results_known(summary->steps.ttft_ns);
	s->prefill_steps = phases[STEP_PREFILL].count;
	s->prefill_tokens = phases[STEP_PREFILL].tokens;
	s->decode_steps = phases[STEP_DECODE].count;
	s->decode_tokens = phases[STEP_DECODE].tokens;
	s->prefill_tokens_per_s = report_tokens_per_s(&phases[STEP_PREFILL]);
	s->decode_tokens_per_s = report_tokens_per_s(&phases[STEP_DECODE]);
	s->executions = results_known(summary->executions);
	for (size_t i = 0; i < summary->row_count; i++) {
		s->elements += results_known(summary->rows[i].elements);
		s->bytes += results_known(summary->rows[i].bytes);
		s->flops += results_known(summary->rows[i].flops);
		s->bricks_ns += row_bricks_ns(&summary->rows[i]);
	}
	s->elements_per_s = s->elements ? results_rate((double)s->elements, s->wall_ns) : -1;
	s->elements_per_brick_s =
		s->elements ? results_rate((double)s->elements, s->bricks_ns) : -1;
	s->coverage = summary->coverage;
	s->cost_low = report->distortion.share < 0 ? -1 : report->distortion.low;
	s->cost_high = report->distortion.share < 0 ? -1 : report->distortion.high;
	s->device_ns = results_known(summary->device_ns);
	s->lost = losses->dropped + losses->refused + losses->unmatched + losses->too_deep +
		  losses->table_full;
	s->open = losses->open;
}

int brick_summary(struct brick_summary *out)
{
	struct brick_summary summary = {0};
	KEEP_ERRNO();

	if (!out || !sized_bytes(out))
		return -EINVAL;
	HOLD_UNCANCELLED(&results_lock);
	SCOPED_BY(source_fini) struct source source = {0};
	SCOPED_BY(report_apart_fini) struct report_apart apart = {0};
	int error = results_open_source(&source, SIZE_MAX);
	if (!error)
		error = report_apart_measure(
			&apart, source.run, SUMMARY_BY_BRICK, SUMMARY_ALL_PHASES);
	if (error)
		return error;
	summarize(&summary, &apart.all);
	return sized_write(out, sizeof(summary), &summary);
}

int brick_graph_of_session(struct brick_graph **out, uint32_t samples)
{
	KEEP_ERRNO();

	if (!out)
		return -EINVAL;
	HOLD_UNCANCELLED(&results_lock);
	SCOPED_BY(source_fini) struct source source = {0};
	SCOPED_BY(step_index_fini) struct step_index index = {0};
	int error = results_open_source(&source, samples ? samples : SIZE_MAX);
	if (!error)
		error = step_index_init(&index, source.run);
	return error ? error : graph_from_run(out, source.run, &index, RUN_NONE);
}
