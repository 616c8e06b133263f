/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a budget's file, and compares a run with it. */
#include "analysis/accounts/budget.h"

#include <errno.h>
#include <float.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/file.h"
#include "analysis/statistics/percentile.h"
#include "analysis/statistics/unknown.h"
#include "base/number.h"
#include "brick/error.h"

#define MAX_LIMIT_US 1e15 /* 31 years: in ns it fits into 64 bits */

enum { MAX_FILE_BYTES = 1 << 20, MAX_LINES = 4096 };

static const struct {
	const char *word;
	enum budget_what what;
} words[] = {
	{"total", BUDGET_TOTAL},
	{"unattributed", BUDGET_UNATTRIBUTED},
	{"p50", BUDGET_P50},
	{"p95", BUDGET_P95},
	{"p99", BUDGET_P99},
	{"ttft", BUDGET_TTFT},
};

__attribute__((format(printf, 3, 4))) static int budget_fault(
	struct budget_error *error, uint32_t line, const char *format, ...)
{
	va_list arguments;

	error->line = line;
	va_start(arguments, format);
	vsnprintf(error->text, sizeof(error->text), format, arguments);
	va_end(arguments);
	return BRICK_EFORMAT;
}

/* A piece of a line. */
struct piece {
	const char *at;
	size_t bytes;
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static struct piece budget_trim(const char *at, size_t bytes)
{
	while (bytes && is_blank(at[0])) {
		at++;
		bytes--;
	}
	while (bytes && is_blank(at[bytes - 1]))
		bytes--;
	return (struct piece){at, bytes};
}

static bool budget_equals(struct piece piece, const char *word)
{
	return piece.bytes == strlen(word) && !memcmp(piece.at, word, piece.bytes);
}

/* First and last word of a line, and the text between them. */
static void budget_split(
	struct piece line, struct piece *first, struct piece *middle, struct piece *last)
{
	size_t head = 0, tail = line.bytes;

	while (head < line.bytes && !is_blank(line.at[head]))
		head++;
	while (tail > head && !is_blank(line.at[tail - 1]))
		tail--;
	*first = (struct piece){line.at, head};
	*middle = budget_trim(line.at + head, tail - head);
	*last = (struct piece){line.at + tail, line.bytes - tail};
}

static int parse_limit(struct budget_line *to, struct piece text, struct budget_error *error)
{
	char number[32];

	snprintf(number, sizeof(number), "%.*s", (int)(text.bytes < 31 ? text.bytes : 31), text.at);
	if (text.bytes > 31 || number_double(number, DBL_MIN, MAX_LIMIT_US, &to->limit_us))
		return budget_fault(error, to->line,
			"%.40s: must be a number of microseconds above 0, up to 1e15", number);
	return 0;
}

static int parse_what(struct budget_line *to, struct piece text, struct budget_error *error)
{
	to->what = BUDGET_BRICK;
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (budget_equals(text, words[i].word))
			to->what = words[i].what;
	if (to->what == BUDGET_TTFT && to->phase != STEP_PREFILL)
		return budget_fault(error, to->line, "ttft: is a limit of prefill");
	if (text.bytes && text.at[0] == '@') {
		to->what = BUDGET_CATEGORY;
		text = budget_trim(text.at + 1, text.bytes - 1);
	} else if (text.bytes > 6 && !memcmp(text.at, "brick:", 6)) {
		text = budget_trim(text.at + 6, text.bytes - 6);
	}
	if (!text.bytes)
		return budget_fault(
			error, to->line, "needs a phase, a name and a number of microseconds");
	if (text.bytes >= sizeof(to->name) || memchr(text.at, 0, text.bytes))
		return budget_fault(error, to->line, "the name has more than %zu bytes, or a NUL",
			sizeof(to->name) - 1);
	memcpy(to->name, text.at, text.bytes);
	to->name[text.bytes] = '\0';
	return 0;
}

static int budget_parse_line(struct budget_line *to, struct piece line, struct budget_error *error)
{
	struct piece phase, what, limit;

	budget_split(line, &phase, &what, &limit);
	if (budget_equals(phase, "prefill"))
		to->phase = STEP_PREFILL;
	else if (budget_equals(phase, "decode"))
		to->phase = STEP_DECODE;
	else
		return budget_fault(error, to->line, "%.*s: must be prefill or decode",
			(int)(phase.bytes < 40 ? phase.bytes : 40), phase.at);
	int rc = parse_limit(to, limit, error);
	return rc ? rc : parse_what(to, what, error);
}

static int budget_add_line(
	struct budget *budget, const struct budget_line *line, struct budget_error *error)
{
	for (size_t i = 0; i < budget->count; i++) {
		const struct budget_line *other = &budget->lines[i];
		if (other->phase == line->phase && other->what == line->what &&
			!strcmp(other->name, line->name))
			return budget_fault(error, line->line,
				"%s: line %u has a limit for it already", line->name, other->line);
	}
	if (budget->count == MAX_LINES)
		return budget_fault(error, line->line, "more than %d limits", MAX_LINES);
	struct budget_line *lines =
		realloc(budget->lines, (budget->count + 1) * sizeof(*budget->lines));
	if (!lines)
		return -ENOMEM;
	budget->lines = lines;
	lines[budget->count++] = *line;
	return 0;
}

static int parse_all(
	struct budget *budget, const char *text, size_t bytes, struct budget_error *error)
{
	bool begun = false;
	uint32_t number = 0;

	for (const char *at = text, *end = text + bytes; at < end;) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		size_t length = (size_t)((newline ? newline : end) - at);
		struct piece line = budget_trim(at, length);
		struct budget_line entry = {.line = ++number};
		int rc = 0;
		at += length + (newline != NULL);
		if (!line.bytes || line.at[0] == '#')
			continue;
		if (!begun && !budget_equals(line, "brick-budget 1"))
			return budget_fault(error, number,
				"not a budget file: the first line of one is \"brick-budget 1\"");
		if (begun)
			rc = budget_parse_line(&entry, line, error);
		if (begun && !rc)
			rc = budget_add_line(budget, &entry, error);
		if (rc)
			return rc;
		begun = true;
	}
	if (!budget->count)
		return budget_fault(error, number ? number : 1, "has no limits");
	return 0;
}

int budget_parse(struct budget **out, const char *text, size_t bytes, struct budget_error *error)
{
	struct budget *budget = calloc(1, sizeof(*budget));
	int rc = budget ? 0 : -ENOMEM;

	*error = (struct budget_error){0, ""};
	if (!rc)
		rc = parse_all(budget, text, bytes, error);
	if (rc) {
		budget_destroy(budget);
		return rc;
	}
	*out = budget;
	return 0;
}

int budget_load(struct budget **out, const char *path, struct budget_error *error)
{
	SCOPED char *text = NULL;
	size_t bytes;
	int rc = file_read(&text, &bytes, path, MAX_FILE_BYTES);

	*error = (struct budget_error){0, ""};
	if (rc == -EFBIG)
		rc = budget_fault(error, 0, "larger than %d bytes", MAX_FILE_BYTES);
	else if (!rc)
		rc = budget_parse(out, text, bytes, error);
	else
		snprintf(error->text, sizeof(error->text), "%s", brick_strerror(rc));
	return rc;
}

void budget_destroy(struct budget *budget)
{
	if (!budget)
		return;
	free(budget->lines);
	free(budget);
}

/* us per token of a sum in ns; negative: no tokens. */
static double per_token_us(uint64_t ns, const struct step_phase_times *times)
{
	return times->tokens ? (double)ns / (double)times->tokens / 1e3 : -1;
}

static double known_us(uint64_t ns)
{
	return ns == ANALYSIS_UNKNOWN ? -1 : (double)ns / 1e3;
}

static const struct summary_row *budget_find(
	const struct summary_row *rows, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(rows[i].name, name))
			return &rows[i];
	return NULL;
}

static bool is_waiting(const struct summary_row *row)
{
	const char *category = row->category ? row->category : row->name;
	return !strcmp(category, brick_category_name(BRICK_CATEGORY_WAIT));
}

/*
 * A row's wall time. A row without wall time has its time on devices or on other threads, the
 * larger of both; but waiting of other threads takes no time.
 */
static uint64_t budget_time_of(const struct summary_row *row)
{
	uint64_t device_ns = row->device_ns == ANALYSIS_UNKNOWN ? 0 : row->device_ns;

	if (row->wall_ns || is_waiting(row))
		return row->wall_ns;
	return device_ns > row->self_ns ? device_ns : row->self_ns;
}

static double actual_us(const struct budget_line *line, const struct summary *summary)
{
	const struct step_phase_times *times = &summary->steps.phases[line->phase];
	const struct summary_row *row = NULL;

	if (!times->count)
		return -1;
	switch (line->what) {
	case BUDGET_TOTAL:
		return per_token_us(times->total_ns, times);
	case BUDGET_UNATTRIBUTED:
		return per_token_us(times->unattributed_ns, times);
	case BUDGET_P50:
		return known_us(times->p50_ns);
	case BUDGET_P95:
		return known_us(times->p95_ns);
	case BUDGET_P99:
		return known_us(times->p99_ns);
	case BUDGET_TTFT:
		return known_us(summary->steps.ttft_ns);
	case BUDGET_CATEGORY:
		row = budget_find(summary->categories, summary->category_count, line->name);
		break;
	case BUDGET_BRICK:
		row = budget_find(summary->rows, summary->row_count, line->name);
		break;
	}
	return row ? per_token_us(budget_time_of(row), times) : -1;
}

static char grade_of(double utilisation)
{
	return utilisation <= 0.9   ? 'A'
	       : utilisation <= 1   ? 'B'
	       : utilisation <= 1.1 ? 'C'
	       : utilisation <= 1.5 ? 'D'
				    : 'F';
}

static unsigned steps_needed(const struct budget_line *line, const struct summary *summary)
{
	if (!summary->steps.phases[line->phase].count)
		return 0;
	return line->what == BUDGET_P99	  ? (unsigned)percentile_needs(99)
	       : line->what == BUDGET_P95 ? (unsigned)percentile_needs(95)
					  : 0;
}

void budget_judge(struct budget_verdict *verdict, const struct budget_line *line,
	struct summary *const summaries[STEP_PHASES])
{
	double actual = actual_us(line, summaries[line->phase]);

	*verdict = (struct budget_verdict){.actual_us = -1, .utilisation = -1, .grade = 'F'};
	if (actual < 0) {
		verdict->needs_steps = steps_needed(line, summaries[line->phase]);
		return;
	}
	verdict->actual_us = actual;
	verdict->utilisation = actual / line->limit_us;
	verdict->score = verdict->utilisation > 1 ? 100 / verdict->utilisation : 100;
	verdict->grade = grade_of(verdict->utilisation);
	verdict->passed = verdict->utilisation <= 1;
}
