/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Families of metrics one after the other: of the run, and of the server's process, as Prometheus'
 * own libraries have them. Names are stable: a new family goes into docs/SERVE.md, too.
 */
#include "ui/serve/metrics.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "analysis/accounts/durations.h"
#include "analysis/statistics/unknown.h"
#include "base/number.h"
#include "base/path_name.h"
#include "base/process_start.h"
#include "base/scope.h"
#include "base/utf8.h"
#include "ui/text/provenance.h"
#include "ui/text/report.h"

enum { BOUNDS_MAX = 410, BRICKS_MAX = 200, RECORDING_BYTES = 48 };

/* Upper bounds of a histogram's buckets, ascending. */
struct bounds {
	uint64_t ns[BOUNDS_MAX];
	unsigned count;
};

static double metrics_seconds(uint64_t ns)
{
	return (double)ns * 1e-9;
}

/* A text in memory that is written like a file. */
struct text {
	FILE *out; /* NULL: not enough memory */
	char *bytes;
	size_t count;
};

static bool text_open(struct text *text)
{
	*text = (struct text){0};
	text->out = open_memstream(&text->bytes, &text->count);
	return text->out != NULL;
}

/* The caller frees. NULL: some of it could not be written, for lack of memory. */
static char *text_close(struct text *text)
{
	bool failed = ferror(text->out) != 0;
	if (fclose(text->out) == 0 && !failed)
		return text->bytes;
	free(text->bytes);
	return NULL;
}

/* A label, with special characters of its value escaped and invalid bytes as U+FFFD. */
static void put_label(FILE *out, const char *name, const char *value)
{
	fprintf(out, "%s=\"", name);
	for (size_t left = value ? strlen(value) : 0, step; left; value += step, left -= step) {
		uint32_t code;
		size_t length = utf8_decode(value, left, &code);
		step = length ? length : 1;
		if (!length)
			fputs("\xef\xbf\xbd", out);
		else if (*value == '\n')
			fputs("\\n", out);
		else if (*value == '"' || *value == '\\')
			fprintf(out, "\\%c", *value);
		else
			fwrite(value, 1, length, out);
	}
	fputc('"', out);
}

static void put_family(
	FILE *out, const char *name, const char *type, const char *unit, const char *help)
{
	fprintf(out, "# TYPE %s %s\n", name, type);
	if (unit)
		fprintf(out, "# UNIT %s %s\n", name, unit);
	fprintf(out, "# HELP %s %s\n", name, help);
}

struct metrics {
	FILE *out;
	const struct run *run;
	const struct page *page;
	bool live, is_session;
	const struct latencies *latencies;
	const struct otlp *otlp;
	bool failed; /* for lack of memory */
};

static void put_histogram(struct metrics *m, const char *name, const char *labels,
	const struct bounds *bounds, const uint64_t *below, uint64_t count, uint64_t sum_ns)
{
	FILE *out = m->out;

	for (unsigned i = 0; i < bounds->count; i++)
		fprintf(out, "%s_bucket{%s,le=\"%.12g\"} %llu\n", name, labels,
			metrics_seconds(bounds->ns[i]), (unsigned long long)below[i]);
	fprintf(out, "%s_bucket{%s,le=\"+Inf\"} %llu\n", name, labels, (unsigned long long)count);
	fprintf(out, "%s_count{%s} %llu\n", name, labels, (unsigned long long)count);
	fprintf(out, "%s_sum{%s} %.9f\n", name, labels, metrics_seconds(sum_ns));
}

static void put_run(struct metrics *m)
{
	const struct run *run = m->run;
	SCOPED char *command = provenance_command(run);
	put_family(m->out, "brick_run", "info", NULL, "The recording that is served.");
	fputs("brick_run_info{", m->out);
	put_label(m->out, "command", command);
	fputc(',', m->out);
	put_label(m->out, "host", run->host);
	fputc(',', m->out);
	put_label(m->out, "cpu", run->cpu);
	fputc(',', m->out);
	put_label(m->out, "backend", run_note_find(run, "backend"));
	fputs("} 1\n", m->out);
	put_family(m->out, "brick_run_complete", "gauge", NULL,
		"1 if the recording was finished without an error, else 0.");
	fprintf(m->out, "brick_run_complete %d\n", run->complete != 0);
	if (run->start_unix_ns) {
		put_family(m->out, "brick_run_start_seconds", "gauge", "seconds",
			"Unix time at which the recording started.");
		fprintf(m->out, "brick_run_start_seconds %.9f\n",
			metrics_seconds(run->start_unix_ns));
	}
}

/*
 * Steps of a phase as the threads counted them: in a session that is looked at, samples are of the
 * last moments only.
 */
static struct run_stat metrics_counted(const struct run *run, int phase)
{
	struct run_stat sum = {0};
	for (size_t l = 0; l < run->lane_count; l++)
		for (size_t b = 0; run->lanes[l].stats && b < run->brick_count; b++) {
			const struct run_stat *stat = &run->lanes[l].stats[b];
			if (step_phase_of_brick(run->bricks[b].well_known) != phase)
				continue;
			sum.count += stat->count;
			sum.total_ns += stat->total_ns + stat->nested_ns;
			sum.elements += stat->elements;
		}
	return sum;
}

static void metrics_put_tokens(struct metrics *m)
{
	const struct step_times *times = &m->page->report.summary->steps;
	put_family(m->out, "brick_tokens", "counter", NULL, "Tokens of the steps that have ended.");
	for (int phase = 0; phase < STEP_PHASES; phase++)
		fprintf(m->out, "brick_tokens_total{phase=\"%s\"} %llu\n", step_phase_name(phase),
			(unsigned long long)number_max(times->phases[phase].tokens,
				metrics_counted(m->run, phase).elements));
	if (times->ttft_ns == ANALYSIS_UNKNOWN)
		return;
	put_family(m->out, "brick_first_token_seconds", "gauge", "seconds",
		"Time from the start of the first prefill to the first token.");
	fprintf(m->out, "brick_first_token_seconds %.9f\n", metrics_seconds(times->ttft_ns));
}

static void put_durations(struct metrics *m, const char *name, const char *labels,
	const struct bounds *bounds, uint32_t brick, uint64_t sum_ns)
{
	uint64_t buckets[BREAKDOWN_BUCKETS], below[BOUNDS_MAX] = {0}, count = 0;
	unsigned i = 0;
	breakdown_all_durations(m->page->breakdown, brick, buckets);
	for (uint32_t b = 0; b < BREAKDOWN_BUCKETS; b++) {
		for (; i < bounds->count && bounds->ns[i] < breakdown_edge_ns(b + 1); i++)
			below[i] = count;
		count += buckets[b];
	}
	for (; i < bounds->count; i++)
		below[i] = count;
	put_histogram(m, name, labels, bounds, below, count, sum_ns);
}

/* The exact time of sampling on threads that run steps, where sampling comes after the steps. */
static uint64_t counted_sampling_ns(const struct run *run)
{
	uint64_t ns = 0;
	for (size_t l = 0; l < run->lane_count; l++) {
		const struct run_stat *stats = run->lanes[l].stats;
		uint64_t steps = 0, sampling_ns = 0;
		for (size_t b = 0; stats && b < run->brick_count; b++) {
			int known = run->bricks[b].well_known;
			if (brick_is_step((uint32_t)known))
				steps += stats[b].count;
			else if (known == BRICK_SAMPLING)
				sampling_ns += stats[b].total_ns;
		}
		ns += steps ? sampling_ns : 0;
	}
	return ns;
}

/*
 * A histogram of all steps that the threads counted; false if there is none. Its buckets hold steps
 * alone; the sum of decoding also has all sampling, nearly all of which belongs there.
 */
static bool put_counted_steps(
	struct metrics *m, int phase, const char *labels, const struct bounds *bounds)
{
	struct run_stat sum = metrics_counted(m->run, phase);
	uint64_t sampled = m->run->has_statistics_only
				   ? 0
				   : m->page->report.summary->steps.phases[phase].count;
	if (sum.count <= sampled)
		return false;
	for (uint32_t b = 0; m->run->histograms && b < m->run->brick_count; b++) {
		if (step_phase_of_brick(m->run->bricks[b].well_known) != phase ||
			durations_in_ticks(m->run->histograms[b]) <= sampled)
			continue; /* it is of processes that have ended only */
		if (phase == STEP_DECODE)
			sum.total_ns += counted_sampling_ns(m->run);
		put_durations(m, "brick_step_seconds", labels, bounds, b, sum.total_ns);
		return true;
	}
	return false;
}

/* The end of a recording's name, because most names have the same beginning. */
static const char *short_name(const char *path)
{
	const char *name = path_name(path);
	size_t length = strlen(name);

	if (length < RECORDING_BYTES)
		return name;
	for (name += length - RECORDING_BYTES; (*name & 0xc0) == 0x80; name++)
		; /* not into a character */
	return name;
}

/* Writes the recording, step and trace of a bucket's last observation. At most 128 characters. */
static void put_exemplar(struct metrics *m, const struct latency_example *e)
{
	char trace[OTLP_TRACE_TEXT];

	if (!m->run->start_unix_ns || !m->run->path)
		return;
	fputs(" # {", m->out);
	put_label(m->out, "recording", short_name(m->run->path));
	fprintf(m->out, ",step=\"%u\"", m->otlp->numbers[e->step]);
	if (e->request != RUN_NONE) {
		otlp_trace(m->otlp, e->request, trace);
		fprintf(m->out, ",request=\"%u\",trace_id=\"%s\"", e->request + 1, trace);
	}
	fprintf(m->out, "} %.9f %.3f", metrics_seconds(e->value_ns),
		metrics_seconds(m->run->start_unix_ns + (e->ns - m->run->start_ns)));
}

/* Bounds to write, of a family's. */
struct bounds_range {
	unsigned first, end;
};

static void put_series(struct metrics *m, const char *name, const char *labels,
	const struct latency_family *family, const struct latency_series *s,
	struct bounds_range range)
{
	uint64_t below = 0;

	for (unsigned i = 0; i <= family->bound_count; i++) {
		below += s->counts[i];
		if (i < range.first || (i >= range.end && i < family->bound_count))
			continue;
		fprintf(m->out, "%s_bucket{%s%sle=\"", name, labels, *labels ? "," : "");
		if (i < family->bound_count)
			fprintf(m->out, "%.12g", metrics_seconds(family->bounds_ns[i]));
		else
			fputs("+Inf", m->out);
		fprintf(m->out, "\"} %llu", (unsigned long long)below);
		if (s->counts[i])
			put_exemplar(m, &s->examples[i]);
		fputc('\n', m->out);
	}
	const char *open = *labels ? "{" : "", *close = *labels ? "}" : "";
	fprintf(m->out, "%s_count%s%s%s %llu\n", name, open, labels, close,
		(unsigned long long)s->count);
	fprintf(m->out, "%s_sum%s%s%s %.9f\n", name, open, labels, close,
		metrics_seconds(s->sum_ns));
}

/* Labels as text; the caller frees. NULL: not enough memory. Values that are NULL are left out. */
static char *labels_text(struct metrics *m, size_t count, const char *const (*labels)[2])
{
	struct text text;
	char *made = NULL, comma = 0;

	if (text_open(&text)) {
		for (size_t i = 0; i < count; i++) {
			if (!labels[i][1])
				continue;
			if (comma)
				fputc(comma, text.out);
			put_label(text.out, labels[i][0], labels[i][1]);
			comma = ',';
		}
		made = text_close(&text);
	}
	m->failed |= !made;
	return made;
}

/*
 * Numbers of a whole recording do not change any more: buckets below and above all steps are left
 * out. All series have the same buckets, because they may be added up.
 */
static struct bounds_range range_of_steps(struct metrics *m)
{
	const struct latency_family *family = &m->latencies->of[LATENCY_STEP];
	struct bounds_range all = {0, family->bound_count}, range = {family->bound_count, 0};

	for (int phase = 0; phase < STEP_PHASES; phase++)
		if (metrics_counted(m->run, phase).count >
			m->page->report.summary->steps.phases[phase].count)
			return all;
	if (m->live || m->is_session)
		return all;
	for (size_t k = 0; k < family->count; k++)
		for (unsigned i = 0; i < family->bound_count; i++) {
			if (!family->series[k].counts[i])
				continue;
			range.first = i < range.first ? i : range.first;
			range.end = i + 1 > range.end ? i + 1 : range.end;
		}
	range.first -= range.first > 0;
	return range;
}

static void put_steps(struct metrics *m)
{
	const struct latency_family *family = &m->latencies->of[LATENCY_STEP];
	struct bounds bounds = {.count = family->bound_count};
	struct bounds_range range = range_of_steps(m);

	memcpy(bounds.ns, family->bounds_ns, family->bound_count * sizeof(*bounds.ns));
	put_family(m->out, "brick_step_seconds", "histogram", "seconds",
		"How long steps took, including the sampling after them.");
	for (int phase = 0; phase < STEP_PHASES; phase++) {
		const char *name = step_phase_name(phase);
		SCOPED char *all = labels_text(m, 1, (const char *const[][2]){{"phase", name}});
		if (!all || put_counted_steps(m, phase, all, &bounds))
			continue;
		for (size_t i = 0; i < family->count; i++) {
			const struct latency_series *s = &family->series[i];
			SCOPED char *labels = labels_text(m, 2,
				(const char *const[][2]){{"phase", name}, {"model", s->model}});
			if (s->phase == phase && labels)
				put_series(m, "brick_step_seconds", labels, family, s, range);
		}
	}
}

/* Named and labelled as OpenTelemetry's conventions for generative AI say, where they do. */
static void put_requests(struct metrics *m)
{
	static const struct {
		enum latency what;
		const char *name, *help;
	} families[] = {
		{LATENCY_FIRST_TOKEN, "gen_ai_server_time_to_first_token_seconds",
			"Time from a request's first step to its first token."},
		{LATENCY_TOKEN, "gen_ai_server_time_per_output_token_seconds",
			"Mean time for each token of a request behind its first one."},
		{LATENCY_REQUEST, "gen_ai_server_request_duration_seconds",
			"Time from a request's first step to its last token."},
		{LATENCY_QUEUE, "brick_request_queue_seconds",
			"Time from a request's arrival, which its program told, to its first "
			"step."},
	};

	for (size_t k = 0; k < sizeof(families) / sizeof(*families); k++) {
		const struct latency_family *family = &m->latencies->of[families[k].what];
		if (!family->count)
			continue;
		put_family(m->out, families[k].name, "histogram", "seconds", families[k].help);
		for (size_t i = 0; i < family->count; i++) {
			const struct latency_series *s = &family->series[i];
			SCOPED char *labels = labels_text(m, 3,
				(const char *const[][2]){
					{"gen_ai_operation_name", "text_completion"},
					{"gen_ai_provider_name", m->otlp->provider},
					{"gen_ai_request_model", s->model}});
			if (labels)
				put_series(m, families[k].name, labels, family, s,
					(struct bounds_range){0, family->bound_count});
		}
	}
}

static size_t shown(const struct metrics *m)
{
	size_t count = m->page->report.summary->row_count;
	return count < BRICKS_MAX ? count : BRICKS_MAX;
}

/* The caller frees. NULL: not enough memory. */
static char *row_labels(struct metrics *m, const struct summary_row *row)
{
	return labels_text(
		m, 2, (const char *const[][2]){{"brick", row->name}, {"category", row->category}});
}

static void put_executions(struct metrics *m)
{
	struct bounds bounds;
	/* powers of four from 2^10 ns (1 us) to 2^36 ns (69 s), as there are many bricks */
	for (bounds.count = 0; bounds.count <= 13; bounds.count++)
		bounds.ns[bounds.count] = 1ull << (10 + 2 * bounds.count);
	put_family(m->out, "brick_execution_seconds", "histogram", "seconds",
		"How long single executions of each brick took, on all threads.");
	for (size_t i = 0; i < shown(m); i++) {
		const struct summary_row *row = &m->page->report.summary->rows[i];
		SCOPED char *labels = row_labels(m, row);
		if (labels)
			put_durations(m, "brick_execution_seconds", labels, &bounds, row->id,
				row->sum_ns);
	}
}

/* Rows by brick, and time in no row if the number is known of that. */
static size_t metrics_rows_of(const struct report *report, bool with_rests,
	const struct summary_row *list[BRICKS_MAX + REPORT_RESTS],
	struct summary_row rests[REPORT_RESTS])
{
	size_t count = 0, rest_count = with_rests ? report_rests(report, rests) : 0;

	for (; count < report->summary->row_count && count < BRICKS_MAX; count++)
		list[count] = &report->summary->rows[count];
	for (size_t i = 0; i < rest_count; i++)
		list[count++] = &rests[i];
	return count;
}

static void metrics_put_rows(struct metrics *m, const char *name, const char *help, size_t offset)
{
	const struct summary_row *rows[BRICKS_MAX + REPORT_RESTS];
	struct summary_row rests[REPORT_RESTS];
	bool is_wall = offset == offsetof(struct summary_row, wall_ns);
	size_t count = metrics_rows_of(&m->page->report, is_wall, rows, rests);

	put_family(m->out, name, "counter", "seconds", help);
	for (size_t i = 0; i < count; i++) {
		SCOPED char *labels = row_labels(m, rows[i]);
		uint64_t ns;
		memcpy(&ns, (const char *)rows[i] + offset, sizeof(ns));
		if (labels)
			fprintf(m->out, "%s_total{%s} %.9f\n", name, labels, metrics_seconds(ns));
	}
}

/* A number of each brick and phase, from the samples that are there. */
static void put_by_phase(struct metrics *m, const char *name, bool with_rests,
	double (*value)(const struct report *report, const struct summary_row *row))
{
	for (int phase = 0; phase < STEP_PHASES; phase++) {
		const struct report *report = &m->page->phases[phase];
		const struct summary_row *rows[BRICKS_MAX + REPORT_RESTS];
		struct summary_row rests[REPORT_RESTS];
		size_t count =
			report->summary ? metrics_rows_of(report, with_rests, rows, rests) : 0;
		for (size_t i = 0; i < count; i++) {
			SCOPED char *labels = row_labels(m, rows[i]);
			double number = value(report, rows[i]);
			if (labels && number >= 0)
				fprintf(m->out, "%s{phase=\"%s\",%s} %.9g\n", name,
					step_phase_name(phase), labels, number);
		}
	}
}

static double metrics_share_of(const struct report *report, const struct summary_row *row)
{
	return row->share;
}

/* /TOKEN, without its rounding. */
static double seconds_a_token(const struct report *report, const struct summary_row *row)
{
	uint64_t tokens = report_row_tokens(report, row);
	return tokens ? metrics_seconds(row->wall_ns - row->unevaluated_ns) / (double)tokens : -1;
}

static double metrics_executions(const struct report *report, const struct summary_row *row)
{
	return (double)row->count;
}

static double self_seconds(const struct report *report, const struct summary_row *row)
{
	return metrics_seconds(row->self_ns);
}

static void put_ratio(struct metrics *m, const char *labels, const char *name, double value)
{
	if (value >= 0)
		fprintf(m->out, "%s%s %.9g\n", name, labels, value);
}

static void put_trust(struct metrics *m)
{
	const struct summary *summary = m->page->report.summary;
	const struct distortion *distortion = &m->page->report.distortion;
	put_family(m->out, "brick_coverage_ratio", "gauge", "ratio",
		"Share of the wall time of the steps that bricks account for.");
	put_ratio(m, "", "brick_coverage_ratio", summary->coverage);
	if (summary->device_ns) {
		put_family(m->out, "brick_device_coverage_ratio", "gauge", "ratio",
			"Share of the time of device commands that bricks account for.");
		put_ratio(m, "", "brick_device_coverage_ratio", summary_device_coverage(summary));
	}
	put_family(m->out, "brick_distortion_ratio", "gauge", "ratio",
		"Share of the wall time that recording itself cost.");
	if (!distortion_is_hidden(distortion))
		put_ratio(m, "{bound=\"estimate\"}", "brick_distortion_ratio", distortion->share);
	if (distortion->share < 0)
		return;
	fprintf(m->out, "brick_distortion_ratio{bound=\"low\"} %.9g\n", distortion->low);
	fprintf(m->out, "brick_distortion_ratio{bound=\"high\"} %.9g\n", distortion->high);
}

static void put_losses(struct metrics *m)
{
	const struct losses *losses = &m->page->report.losses;
	const struct {
		const char *kind;
		uint64_t count;
	} kinds[] = {
		{"dropped", losses->dropped},
		{"open", m->live ? 0 : losses->open},
		{"unmatched", losses->unmatched},
		{"clamped", losses->clamped},
		{"unsupported", losses->unsupported},
		{"too_deep", losses->too_deep},
		{"table_full", losses->table_full},
		{"refused", losses->refused},
		{"bad_packets", losses->bad_packets},
		{"bad_records", losses->bad_records},
		{"lost_processes", losses->lost_processes},
		{"unfinished_processes", m->live ? 0 : losses->unfinished_processes},
	};
	/* A gauge: what is open, or unfinished, in a file that still grows may be whole later. */
	put_family(m->out, "brick_lost", "gauge", NULL,
		"Records and other things that the recording lacks, by kind.");
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		fprintf(m->out, "brick_lost{kind=\"%s\"} %llu\n", kinds[i].kind,
			(unsigned long long)kinds[i].count);
}

static void put_all(struct metrics *m)
{
	put_run(m);
	metrics_put_tokens(m);
	put_requests(m);
	put_steps(m);
	put_executions(m);
	metrics_put_rows(m, "brick_self_seconds",
		"Time in each brick, without the bricks inside of it, on all threads.",
		offsetof(struct summary_row, self_ns));
	metrics_put_rows(m, "brick_wall_seconds",
		"Time of each brick as part of the wall time of the steps.",
		offsetof(struct summary_row, wall_ns));
	put_family(m->out, "brick_phase_share_ratio", "gauge", "ratio",
		"Share of each brick in the wall time of the steps of one phase.");
	put_by_phase(m, "brick_phase_share_ratio", true, metrics_share_of);
	put_family(m->out, "brick_token_seconds", "gauge", "seconds",
		"Wall time of each brick for one token of a phase.");
	put_by_phase(m, "brick_token_seconds", true, seconds_a_token);
	if (!m->live && !m->is_session) {
		/* they only grow where all samples are there */
		put_family(m->out, "brick_phase_executions", "counter", NULL,
			"Executions of each brick in steps of one phase, on all threads.");
		put_by_phase(m, "brick_phase_executions_total", false, metrics_executions);
		put_family(m->out, "brick_phase_self_seconds", "counter", "seconds",
			"Time in each brick in steps of one phase, without the bricks inside of "
			"it, on all threads.");
		put_by_phase(m, "brick_phase_self_seconds_total", false, self_seconds);
	}
	put_trust(m);
	put_losses(m);
}

char *metrics_of_page(const struct metrics_view *view)
{
	struct metrics m = {.run = view->page->run,
		.page = view->page,
		.live = view->live,
		.is_session = view->is_session,
		.latencies = view->latencies,
		.otlp = view->otlp};
	struct text text;

	if (!text_open(&text))
		return NULL;
	m.out = text.out;
	put_all(&m);
	char *all = text_close(&text);
	if (!m.failed)
		return all;
	free(all);
	return NULL;
}

/* Gauges of this process, without values that /proc does not tell. */
static void put_gauge(FILE *out, const char *name, const char *unit, const char *help, double value)
{
	put_family(out, name, "gauge", unit, help);
	fprintf(out, "%s %.9g\n", name, value);
}

/* Unix time; 0: not known. */
static double start_seconds(void)
{
	struct timespec now, up;
	unsigned long long ticks = process_start_time(getpid());
	clock_gettime(CLOCK_REALTIME, &now);
	clock_gettime(CLOCK_BOOTTIME, &up);
	double boot = (double)(now.tv_sec - up.tv_sec) + (double)(now.tv_nsec - up.tv_nsec) / 1e9;
	return ticks ? boot + (double)ticks / (double)sysconf(_SC_CLK_TCK) : 0;
}

static void put_process(FILE *out)
{
	struct rusage used;
	double start = start_seconds();
	if (!getrusage(RUSAGE_SELF, &used)) {
		put_family(out, "process_cpu_seconds", "counter", "seconds",
			"CPU time of this server, user and system.");
		fprintf(out, "process_cpu_seconds_total %.6f\n",
			(double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
				(double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6);
	}
	unsigned long long all, resident;
	SCOPED_TO(fclose) FILE *file = fopen("/proc/self/statm", "re");
	double page = (double)sysconf(_SC_PAGESIZE);
	if (file && fscanf(file, "%llu %llu", &all, &resident) == 2) {
		put_gauge(out, "process_virtual_memory_bytes", "bytes",
			"Virtual memory of this server.", (double)all * page);
		put_gauge(out, "process_resident_memory_bytes", "bytes",
			"Resident memory of this server.", (double)resident * page);
	}
	struct rlimit limit;
	DIR *directory = opendir("/proc/self/fd");
	int count = -3; /* ".", "..", and the one that reads them */
	for (; directory && readdir(directory); count++)
		;
	if (directory) {
		closedir(directory);
		put_gauge(out, "process_open_fds", NULL,
			"File descriptors that this server has open.", count);
	}
	if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur != RLIM_INFINITY)
		put_gauge(out, "process_max_fds", NULL,
			"File descriptors that this server may have open.", (double)limit.rlim_cur);
	if (start > 0) {
		put_family(out, "process_start_time_seconds", "gauge", "seconds",
			"Unix time at which this server started.");
		fprintf(out, "process_start_time_seconds %.2f\n", start);
	}
}

static void put_sum(FILE *out, const char *name, const char *help, uint64_t value)
{
	put_family(out, name, "counter", NULL, help);
	fprintf(out, "%s_total %llu\n", name, (unsigned long long)value);
}

char *metrics_whole(const char *metrics, const struct metrics_server *server, size_t *bytes)
{
	struct text text;
	if (!text_open(&text))
		return NULL;
	FILE *out = text.out;
	fputs(metrics, out);
	put_sum(out, "brick_serve_reads", "How often this server has read the recording.",
		server->reads);
	put_sum(out, "brick_serve_read_failures",
		"How often reading the recording failed, so that older numbers were kept.",
		server->failures);
	if (server->sends_otlp) {
		const struct otlp_push_counts *counts = &server->otlp;
		put_sum(out, "brick_serve_otlp_sent_spans", "Spans that the OTLP collector took.",
			counts->sent_spans);
		put_sum(out, "brick_serve_otlp_dropped_spans",
			"Spans that the OTLP collector did not take, and that are sent no more.",
			counts->dropped_spans);
		put_sum(out, "brick_serve_otlp_failures",
			"How often the OTLP collector did not take what was sent.",
			counts->failures);
	}
	if (server->pushes) {
		put_sum(out, "brick_serve_pushes", "How often windows were sent to the history.",
			server->pushed);
		put_sum(out, "brick_serve_push_failures",
			"How often windows were not sent, and wait or are tried again.",
			server->push_failures);
	}
	put_process(out);
	fputs("# EOF\n", out);
	char *whole = text_close(&text);
	*bytes = text.count;
	return whole;
}
