/* SPDX-License-Identifier: Apache-2.0 */
/* Finds, reads and keeps runs of a history for commands. */
#include "cli/history_runs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/accounts/presence.h"
#include "analysis/compare/history_parts.h"
#include "analysis/history/history_workload.h"
#include "base/clock_ns.h"
#include "base/number.h"
#include "brick/version.h"
#include "cli/die.h"
#include "record/inject/attachers.h"
#include "ui/text/diff.h"
#include "ui/text/text.h"

void history_entry_text(char **text, const char *value)
{
	SCOPED char *valid = text_valid(value ? value : "");

	xcheck(history_text_set(text, valid));
}

/* Sets the engine from the notes of the attached library: "ggml 0.25.1 (0ad4a86)". */
static void set_engine(struct history_run *entry, const struct run *run)
{
	for (const struct attacher *const *a = attachers; *a; a++) {
		const char *version =
			(*a)->version_note ? run_note_find(run, (*a)->version_note) : NULL;
		if (!version)
			continue;
		SCOPED char *engine = xasprintf("%s %s", (*a)->title, version);
		history_entry_text(&entry->engine, engine);
		return;
	}
}

static void history_runs_add_facts(struct history_run *entry, const struct run *run)
{
	struct diff_origin origin;
	SCOPED_BY(diff_origins_fini) struct diff_origins one;

	diff_origin_init(&origin, run);
	history_entry_text(&entry->command, origin.command);
	for (size_t i = 0; i < origin.facts.count; i++) {
		SCOPED char *key = text_valid(origin.facts.items[i].key);
		SCOPED char *value = text_valid(origin.facts.items[i].value);
		xcheck(history_run_fact(entry, key, value));
	}
	one = (struct diff_origins){.list = xcalloc(1, sizeof(origin)), .in_a = 1};
	one.list[0] = origin;
}

/* Where a recording is, or will be when it is finished. The caller frees. NULL: nowhere. */
static char *path_of_recording(const char *path)
{
	static const char part[] = ".part";
	SCOPED char *unfinished = xasprintf("%s%s", path, part);
	char *whole = realpath(path, NULL) ?: realpath(unfinished, NULL);
	size_t bytes = whole ? strlen(whole) : 0;

	if (bytes >= sizeof(part) && !strcmp(whole + bytes - (sizeof(part) - 1), part))
		whole[bytes - (sizeof(part) - 1)] = '\0';
	return whole;
}

/* Makes an entry of what a recording is, without what it measured. */
static void entry_origin(
	struct history_run *entry, const char *kind, const struct run *run, const char *path)
{
	SCOPED char *whole = path ? path_of_recording(path) : NULL;

	xcheck(history_run_init(entry));
	history_entry_text(&entry->kind, kind);
	history_entry_text(&entry->host, run->host);
	history_entry_text(&entry->cpu, run->cpu);
	history_entry_text(&entry->version, run->version);
	history_entry_text(&entry->path, whole);
	set_engine(entry, run);
	history_runs_add_facts(entry, run);
	if (presence_is_disturbed(run))
		xcheck(history_run_fact(entry, HISTORY_DISTURBED, "yes"));
	entry->start_ns = run->start_unix_ns;
	entry->wall_ns = run->end_ns > run->start_ns ? run->end_ns - run->start_ns : 0;
	entry->exit_code = run->exit_code;
	xcheck(history_run_describe(entry));
}

void history_entry_init(struct history_run *entry, const struct run *run, const char *path)
{
	entry_origin(entry, "recorded", run, path);
	xcheck(history_parts_of_run(entry, run));
	history_run_identify(
		entry, run->start_ns + (run->process_count ? run->processes[0].pid : 0));
}

void history_entry_window(
	struct history_run *entry, const struct run *run, const char *path, bool has_steps)
{
	entry_origin(entry, HISTORY_WINDOW, run, path);
	if (has_steps)
		xcheck(history_parts_of_run(entry, run));
}

void history_entry_here(struct history_run *entry, const char *kind, const char *command)
{
	char host[256] = "";

	xcheck(history_run_init(entry));
	gethostname(host, sizeof(host) - 1);
	history_entry_text(&entry->kind, kind);
	history_entry_text(&entry->host, host);
	history_entry_text(&entry->version, brick_version());
	history_entry_text(&entry->command, command);
	entry->start_ns = real_ns();
	history_run_identify(entry, (uint64_t)getpid() + monotonic_ns());
	xcheck(history_run_describe(entry));
}

enum { DIGITS_OF_A_PLACE = 6, DIGITS_OF_AN_ID = 4, KEEPING_PATIENCE_MS = 5000 };

/* The history's place: the option's, or the default. NULL: there is none. The caller frees. */
static char *history_runs_place(const char *where)
{
	if (where)
		return strcmp(where, "none") ? xstrdup(where) : NULL;
	return history_default();
}

/* Once, before a user wonders what the command waits for. */
static void history_runs_converting(const char *where, uint64_t ns)
{
	static bool is_said;

	if (!is_said && ns >= NS_PER_S)
		fprintf(stderr, "brick: history: %s is converted for this version, once\n", where);
	is_said |= ns >= NS_PER_S;
}

static int history_runs_store(
	struct history_store **out, const char *at, const struct history_open *how)
{
	struct history_open own = *how;

	own.converting = history_runs_converting;
	return history_store_open(out, at, &own);
}

struct history_store *history_runs_open(const char *where, bool create)
{
	return history_runs_open_how(
		where, &(struct history_open){.create = create, .is_eager = true});
}

struct history_store *history_runs_open_how(const char *where, const struct history_open *how)
{
	struct history_store *store = NULL;
	SCOPED char *at = history_runs_place(where);

	if (!at)
		die(CLI_SYSTEM, "there is no history: BRICK_DB is 'none', or neither "
				"XDG_DATA_HOME nor HOME is a folder of yours; --db names one");
	int rc = history_runs_store(&store, at, how);
	if (!store)
		die(CLI_SYSTEM, "not enough memory");
	history_runs_check(store, rc);
	return store;
}

void history_runs_check(const struct history_store *store, int rc)
{
	bool bad_file = rc == -ENOENT || rc == -EILSEQ || rc == -EPROTO;

	if (rc < 0)
		die(bad_file ? CLI_INPUT : CLI_SYSTEM, "history: %s", history_store_error(store));
}

/* Newest first. */
int history_runs_take(void *context, struct history_run *run)
{
	struct history_runs *runs = context;

	if (array_push(&runs->list, *run))
		return -ENOMEM;
	*run = (struct history_run){0};
	return 0;
}

static bool history_runs_search(
	struct history_runs *runs, struct history_store *store, struct history_filter filter)
{
	filter.whole = 1;
	history_runs_check(store, history_store_list(store, &filter, history_runs_take, runs));
	return runs->list.count > 0;
}

/* "last", "last~N", or a place from the newest on, from 1. */
static bool is_place(const char *name, uint64_t *skip)
{
	uint64_t n;

	*skip = 0;
	if (!strcmp(name, "last"))
		return true;
	if (!strncmp(name, "last~", 5))
		return number_u64(name + 5, 0, 1000000, skip) == 0;
	if (strlen(name) > DIGITS_OF_A_PLACE || number_u64(name, 1, 1000000, &n))
		return false;
	*skip = n - 1;
	return true;
}

static bool history_runs_find_place(
	struct history_runs *runs, struct history_store *store, const char *name)
{
	struct history_filter filter = {.limit = 1};

	if (!is_place(name, &filter.skip) || !history_runs_search(runs, store, filter))
		return false;
	const char *batch = runs->list.items[0].batch;
	if (strcmp(name, "last") || !*batch)
		return true;
	/* a single run of a bench says little: take all runs of its side */
	struct history_runs side = {0};
	history_runs_search(&side, store, (struct history_filter){.batch = batch});
	history_runs_fini(runs);
	*runs = side;
	return runs->list.count > 0;
}

static bool find_id(struct history_runs *runs, struct history_store *store, const char *name)
{
	static const char *const kinds[] = {NULL, HISTORY_WINDOW, "floor"}; /* NULL: runs */
	size_t n = strlen(name);

	if (n < DIGITS_OF_AN_ID || strspn(name, "0123456789abcdef") != n)
		return false;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds) && !runs->list.count; i++)
		history_runs_search(runs, store,
			(struct history_filter){.id = name, .kind = kinds[i], .limit = 2});
	if (runs->list.count > 1)
		die(CLI_INPUT, "@%s: more than one run's id begins with it", name);
	return runs->list.count > 0;
}

/* Find all runs of a reference, newest first. */
static bool find_any(struct history_runs *runs, struct history_store *store, const char *name)
{
	return history_runs_search(runs, store, (struct history_filter){.label = name}) ||
	       history_runs_find_place(runs, store, name) ||
	       history_runs_search(runs, store, (struct history_filter){.batch = name}) ||
	       find_id(runs, store, name);
}

void history_runs_find(struct history_runs *runs, struct history_store *store, const char *name)
{
	struct history_runs found = {0};

	name += *name == '@';
	if (!find_any(&found, store, name))
		die(CLI_INPUT,
			"@%s: the history has no such run: no label, no batch, no id; "
			"'brick history list' shows them",
			name);
	for (size_t i = found.list.count; i-- > 0;)
		xpush(&runs->list, found.list.items[i]);
	array_fini(&found.list);
}

static bool history_runs_is_plain(const struct history_run *run)
{
	return !strcmp(run->kind, "plain");
}

static bool history_runs_is_measured(const struct history_run *run)
{
	return history_run_step(run, "decode") || history_run_step(run, "prefill") ||
	       history_run_step(run, "mixed") || history_run_step(run, "other") ||
	       (history_runs_is_plain(run) && run->wall_ns);
}

void history_runs_keep_measured(struct history_runs *runs, size_t from, const char *name)
{
	size_t kept = from;

	for (size_t i = from; i < runs->list.count; i++) {
		if (history_runs_is_measured(&runs->list.items[i]))
			runs->list.items[kept++] = runs->list.items[i];
		else
			history_run_fini(&runs->list.items[i]);
	}
	runs->list.count = kept;
	if (kept == from)
		die(CLI_INPUT, "%s: holds no steps: there are no tokens to compare by", name);
}

void history_runs_keep_alike(struct history_runs *runs, size_t from, const char *name)
{
	struct history_run *list = runs->list.items, *other = NULL;
	struct history_run newest[2] = {0}; /* recorded, plain; borrowed */
	size_t kept = from;

	for (size_t i = from; i < runs->list.count; i++)
		newest[history_runs_is_plain(&list[i])] = list[i];
	for (size_t i = from; i < runs->list.count; i++) {
		struct history_run *run = &list[i], moved = *run;
		const struct history_run *like = &newest[history_runs_is_plain(run)];
		if (!strcmp(run->workload, like->workload) && !strcmp(run->host, like->host) &&
			!strcmp(run->cpu, like->cpu)) {
			*run = list[kept]; /* runs that are left out move to the end */
			list[kept++] = moved;
		}
	}
	if (kept == runs->list.count)
		return;
	other = &list[kept];
	warn("%s: %zu of its runs computed something else than the newest one, or on another "
	     "machine, and are left out (%s on %s)",
		name, runs->list.count - kept, other->workload, other->host);
	for (size_t i = kept; i < runs->list.count; i++)
		history_run_fini(&list[i]);
	runs->list.count = kept;
}

void history_runs_fini(struct history_runs *runs)
{
	for (size_t i = 0; i < runs->list.count; i++)
		history_run_fini(&runs->list.items[i]);
	array_fini(&runs->list);
}

char *history_runs_recording(const char *name)
{
	SCOPED_TO(history_store_close) struct history_store *store = history_runs_open(NULL, false);
	SCOPED_BY(history_runs_fini) struct history_runs runs = {0};

	history_runs_find(&runs, store, name);
	const struct history_run *run = &runs.list.items[runs.list.count - 1];
	if (!*run->path || access(run->path, R_OK))
		die(CLI_INPUT,
			"%s: the recording was not kept%s%s%s; 'brick history show %s' has its "
			"summary",
			name, *run->path ? " (" : "", run->path, *run->path ? ")" : "", name);
	return xstrdup(run->path);
}

struct floor_found {
	double value;
	uint64_t measured_ns;
};

static int note_floor(void *context, struct history_run *run)
{
	struct floor_found *found = context;

	found->value = run->value;
	found->measured_ns = run->start_ns;
	return 0;
}

double history_runs_floor(const char *where, const char *host, uint64_t *measured_ns)
{
	enum { PATIENCE_MS = 500 };
	const struct history_open how = {.patience_ms = PATIENCE_MS};
	const struct history_filter filter = {.kind = "floor", .host = host, .limit = 1};
	struct floor_found found = {0};
	struct history_store *store = NULL;
	SCOPED char *at = history_runs_place(where);

	if (at && history_runs_store(&store, at, &how) == 0)
		history_store_list(store, &filter, note_floor, &found);
	history_store_close(store);
	*measured_ns = found.measured_ns;
	return found.value;
}

void history_runs_earlier(struct history_runs *runs, const struct history_run *run)
{
	enum { PATIENCE_MS = 500, MOST = 64 };
	const struct history_open how = {.patience_ms = PATIENCE_MS};
	const struct history_filter filter = {.kind = "recorded",
		.host = run->host,
		.cpu = run->cpu,
		.workload = run->workload,
		.limit = MOST,
		.whole = true};
	SCOPED_TO(history_store_close) struct history_store *store = NULL;
	SCOPED char *at = history_runs_place(NULL);

	if (at && *run->workload && history_runs_store(&store, at, &how) == 0)
		history_store_list(store, &filter, history_runs_take, runs);
}

int history_runs_keep(const char *where, const struct history_run *run)
{
	const struct history_open how = {.create = 1, .patience_ms = KEEPING_PATIENCE_MS};
	SCOPED_TO(history_store_close) struct history_store *store = NULL;
	SCOPED char *at = history_runs_place(where);
	int rc = at ? history_runs_store(&store, at, &how) : 0;

	if (at && rc == 0)
		rc = history_store_add(store, run);
	if (at && rc == 0) {
		int sent = history_store_flush(store);
		/* a run that could not be sent is kept, and is sent some other time */
		rc = sent == -EAGAIN || sent == -EIO ? 0 : sent;
	}
	if (rc < 0)
		warn("history: %s", store ? history_store_error(store) : "not enough memory");
	return rc;
}
