/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `brick push`: cuts recordings into windows of time and keeps each in a history, mostly
 * ClickHouse, for questions about many machines (`brick fleet`). The same recording makes the same
 * windows with the same ids, so nothing is there twice, however often it is pushed.
 *
 * A recording is loaded once. To cut it, a child takes the first half of its windows and the parent
 * the second half, and so on: each narrows its own copy of the run, and all take turns.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analysis/accounts/selection.h"
#include "analysis/requests/requests.h"
#include "analysis/statistics/unknown.h"
#include "base/fnv.h"
#include "base/hash.h"
#include "base/number.h"
#include "brick/error.h"
#include "cli/command.h"
#include "cli/die.h"
#include "cli/history_runs.h"
#include "cli/input.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "lib/writer/part_file.h"

#define SECOND_NS 1000000000ull

struct push_arguments {
	const char *db;
	unsigned long window_s;
	bool is_background;
};

enum request_time { REQUEST_QUEUE, REQUEST_FIRST, REQUEST_TOKEN, REQUEST_WHOLE, REQUEST_TIMES };

/* A request that is whole in the recording. */
struct whole_request {
	uint64_t end_ns;
	uint64_t ns[REQUEST_TIMES]; /* ANALYSIS_UNKNOWN: not known */
};

struct cutting {
	struct run *run;
	const char *db, *path;
	struct history_open how;
	uint64_t window_ns;
	char batch[HISTORY_ID_BYTES]; /* the same for all recordings of one process */
	int64_t rank;
	ARRAY(struct whole_request) requests;
};

/* Requests. */

/*
 * True if the recording has all of a request. A file that is one of several may lack the begin of
 * each sequence's first request, and the end of those that are open.
 */
static bool is_whole(const struct requests *q, uint32_t i, bool began_before, bool goes_on)
{
	const struct request *r = &q->list[i];

	if (!r->first_ns || (goes_on && r->end == REQUEST_OPEN))
		return false;
	for (uint32_t k = 0; began_before && k < i; k++)
		if (q->list[k].process == r->process && q->list[k].model == r->model &&
			q->list[k].sequence == r->sequence)
			return true;
	return !began_before;
}

static void find_requests(struct cutting *c)
{
	bool began_before = run_has_mark(c->run, MARK_PART);
	bool goes_on = run_has_mark(c->run, MARK_NEXT) || !c->run->complete;
	struct requests *q = NULL;

	if (requests_create(&q, c->run) == BRICK_ENOTRECORDED)
		return;
	if (!q)
		die(CLI_SYSTEM, "not enough memory");
	for (uint32_t i = 0; i < q->count; i++) {
		const struct request *r = &q->list[i];
		if (is_whole(q, i, began_before, goes_on))
			xpush(&c->requests,
				((struct whole_request){r->end_ns,
					{request_queue_ns(r), request_ttft_ns(r),
						request_token_ns(q, r), r->end_ns - r->begin_ns}}));
	}
	requests_destroy(q);
}

/* Adds parts of requests that ended in [from_ns, to_ns). */
static void add_requests(
	struct history_run *entry, const struct cutting *c, uint64_t from_ns, uint64_t to_ns)
{
	static const char *const names[REQUEST_TIMES] = {
		"queue", "first token", "later token", "whole request"};

	for (int t = 0; t < REQUEST_TIMES; t++) {
		struct history_part *part = NULL;
		for (size_t i = 0; i < c->requests.count; i++) {
			const struct whole_request *r = &c->requests.items[i];
			if (r->end_ns < from_ns || r->end_ns >= to_ns ||
				r->ns[t] == ANALYSIS_UNKNOWN)
				continue;
			part = part ? part
				    : history_run_part(entry, "request", "request", names[t]);
			if (!part)
				die(CLI_SYSTEM, "not enough memory");
			part->count++;
			part->total_ns += r->ns[t];
			xcheck(history_histogram_add(
				&part->histogram, history_bucket_of(r->ns[t]), 1));
		}
	}
}

/* Windows. */

static uint64_t window_begin_ns(const struct cutting *c, uint64_t window)
{
	return c->run->start_ns + window * c->window_ns;
}

/* Keeps the window to which the run was narrowed. A window without steps and requests is none. */
static void keep_window(struct cutting *c, uint64_t window, bool has_steps)
{
	SCOPED_TO(history_store_close) struct history_store *store = NULL;
	SCOPED_BY(history_run_fini) struct history_run entry;
	uint64_t begin_ns = window_begin_ns(c, window);
	uint64_t end_ns = window_begin_ns(c, window + 1);
	uint64_t wall_ns = number_min(end_ns, c->run->end_ns) - begin_ns;

	history_entry_window(&entry, c->run, c->path, has_steps);
	entry.start_ns = c->run->start_unix_ns + window * c->window_ns;
	entry.wall_ns = wall_ns;
	entry.rank = c->rank;
	history_entry_text(&entry.batch, c->batch);
	add_requests(&entry, c, begin_ns, end_ns);
	history_run_identify(&entry, fnv1a_text(c->batch));
	if (!entry.parts.count)
		return;
	store = history_runs_open_how(c->db, &c->how);
	history_runs_check(store, history_store_add(store, &entry));
}

/* True if a request ended in windows [first, last). */
static bool ends_request(const struct cutting *c, uint64_t first, uint64_t last)
{
	uint64_t from_ns = window_begin_ns(c, first), to_ns = window_begin_ns(c, last);

	for (size_t i = 0; i < c->requests.count; i++)
		if (c->requests.items[i].end_ns >= from_ns && c->requests.items[i].end_ns < to_ns)
			return true;
	return false;
}

/* Narrows the run to windows [first, last). False: it has no steps there. */
static bool push_narrow(struct cutting *c, uint64_t first, uint64_t last)
{
	struct selection selection = SELECTION_INIT;
	SCOPED char *missing = NULL;

	selection.since_ns = first * c->window_ns;
	selection.until_ns = last * c->window_ns;
	int rc = selection_apply(&selection, c->run, &missing);
	if (rc < 0 && rc != BRICK_ENOTRECORDED)
		die(CLI_SYSTEM, "%s", brick_strerror(rc));
	return rc == 0;
}

/*
 * Keeps windows [first, last), to which the run was narrowed. Empty ones cost nothing: a clock that
 * was set may put years between two steps.
 */
static void keep_windows(struct cutting *c, uint64_t first, uint64_t last, bool has_steps)
{
	while (last - first > 1 && (has_steps || ends_request(c, first, last))) {
		uint64_t middle = first + (last - first) / 2;
		pid_t child = fork();
		int status = 0;

		if (child < 0)
			die(CLI_SYSTEM, "fork: %s", strerror(errno));
		if (child == 0) {
			keep_windows(c, first, middle, has_steps && push_narrow(c, first, middle));
			_exit(CLI_DONE);
		}
		while (waitpid(child, &status, 0) < 0 && errno == EINTR)
			;
		if (status) /* the child has said why, unless a signal ended it */
			exit(WIFEXITED(status) ? WEXITSTATUS(status) : CLI_SYSTEM);
		has_steps = has_steps && push_narrow(c, middle, last);
		first = middle;
	}
	if (has_steps || ends_request(c, first, last))
		keep_window(c, first, has_steps);
}

/* The rank of the only process that has one. */
static int64_t rank_of(const struct run *run)
{
	int64_t rank = -1;

	for (size_t i = 0; i < run->process_count; i++) {
		if (run->processes[i].rank < 0)
			continue;
		if (rank >= 0)
			return -1;
		rank = run->processes[i].rank;
	}
	return rank;
}

/* Names the program: all of its recordings have its first process. */
static void name_batch(struct cutting *c)
{
	const struct run *run = c->run;
	uint64_t hash = fnv1a_text(run->host ? run->host : "");

	if (run->process_count)
		hash = hash_add(hash_add(hash, run->processes[0].pid), run->processes[0].start_ns);
	else
		hash = hash_add(hash, run->start_unix_ns);
	snprintf(c->batch, sizeof(c->batch), "%016" PRIx64, hash);
}

/*
 * How many windows a recording has; while it grows the last two are none, as they may change, and a
 * window is sent once.
 */
static uint64_t count_windows(const struct cutting *c, bool grows, bool tells)
{
	const struct run *run = c->run;
	uint64_t wall_ns = run->end_ns > run->start_ns ? run->end_ns - run->start_ns : 1;
	uint64_t all = (wall_ns + c->window_ns - 1) / c->window_ns;
	uint64_t windows = grows ? number_minus(wall_ns / c->window_ns, 1) : all;

	if (windows < all && tells)
		warn("%s: is being written: its last %s left out", run->path,
			all - windows > 1 ? "two windows are" : "window is");
	return windows;
}

/* A pipe may never end. False: a warning has said so. Loading tells what else is wrong. */
static bool is_plain_file(const char *path)
{
	struct stat st;

	if (stat(path, &st) || S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))
		return true;
	warn("%s: is no regular file, and is not pushed", path);
	return false;
}

/* False: the file cannot be pushed, and a warning says why. */
static bool push_file(
	const struct push_arguments *a, const struct history_open *how, const char *path)
{
	if (!is_plain_file(path))
		return false;
	bool grows = part_file_grows(path); /* asked first: it may end while it is loaded */
	SCOPED_TO(run_destroy) struct run *run = input_load_or_warn(path);

	if (!run)
		return false;
	if (!run->start_unix_ns) {
		warn("%s: has no date, and windows lie in time; it is not pushed", path);
		return false;
	}
	if (run_has_mark(run, MARK_EXEMPLAR)) {
		warn("%s: repeats seconds of its recording for --slow, and is not pushed", path);
		return true;
	}
	if (!a->is_background)
		input_tell_all_losses(run);
	struct cutting c = {.run = run,
		.db = a->db,
		.how = *how,
		/* a file of a ring gets another name, and goes */
		.path = run_has_mark(run, MARK_NEXT) ? NULL : path,
		.window_ns = a->window_s * SECOND_NS,
		.rank = rank_of(run)};
	uint64_t windows = count_windows(&c, grows && !run->complete, !a->is_background);

	name_batch(&c);
	find_requests(&c);
	bool has_steps = run->step_count > 0;
	if (windows && !run->complete)
		has_steps = has_steps && push_narrow(&c, 0, windows);
	if (windows)
		keep_windows(&c, 0, windows, has_steps);
	array_fini(&c.requests);
	return true;
}

/* The command. */

enum { WINDOW_S = 60, WINDOW_S_MOST = 86400, BACKGROUND_MS = 5000, BACKGROUND_NICE = 10 };

#define OF(member) .at = offsetof(struct push_arguments, member)

static const struct cli_option cmd_push_option_table[] = {
	{"db", "WHERE",
		"clickhouse+http://HOST:8123/DATABASE, or a file of SQLite (default: BRICK_DB, "
		"else a file in the user's data directory)",
		option_text, OF(db)},
	{"window", "S", "the length of a window in seconds (default: 60)", option_number,
		OF(window_s), .low = 1, .high = WINDOW_S_MOST},
	{"background", NULL,
		"let other programs go first, and wait neither for a slow server nor for one that "
		"was "
		"away",
		option_flag, OF(is_background)},
	OPTION_HELP,
};

static int run_push(int argc, char **argv)
{
	struct push_arguments arguments = {.window_s = WINDOW_S};

	options_parse(&command_push, &arguments, argc, argv);
	struct history_open how = {.create = true, .is_eager = !arguments.is_background};
	if (arguments.is_background) {
		how.patience_ms = BACKGROUND_MS;
		setpriority(PRIO_PROCESS, 0, BACKGROUND_NICE);
	}
	bool all = true;
	for (int i = optind; i < argc; i++)
		all &= push_file(&arguments, &how, argv[i]);
	SCOPED_TO(history_store_close)
	struct history_store *store = history_runs_open_how(arguments.db, &how);
	struct progress *progress = progress_start("push", NULL, 0);
	int rc = history_store_flush(store);
	progress_end(progress);
	if (rc < 0)
		warn("history: %s; what was to be sent waits on the disk for the next 'brick push'",
			history_store_error(store));
	bool waits = rc == -EAGAIN || rc == -EIO;
	if (rc < 0 && !(waits && arguments.is_background))
		return CLI_SYSTEM;
	return all ? CLI_DONE : CLI_INPUT;
}

const struct cli_command command_push = {
	.name = "push",
	.summary = "send windows of recordings to a database of many machines",
	.run = run_push,
	.flags = CLI_READS,
	.usage = "[OPTIONS] [FILE...]",
	.about = "Cut recordings into windows of time, and keep for each window and brick its time "
		 "and a histogram in the history, mostly ClickHouse, for 'brick fleet'. What is "
		 "there already is not sent again. Without a FILE: send what waits since a server "
		 "could not be reached.",
	.options = cmd_push_option_table,
};
