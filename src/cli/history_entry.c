/* SPDX-License-Identifier: Apache-2.0 */
/* Called by `record`, `bench`, `diff` and `history`. */
#include "cli/history_entry.h"

#include <stdlib.h>
#include <unistd.h>

#include "analysis/compare/history_parts.h"
#include "base/clock_ns.h"
#include "brick/version.h"
#include "record/inject/attachers.h"
#include "ui/text/diff_origin.h"
#include "cli/die.h"
#include "ui/text/text.h"

void history_entry_text(char **text, const char *value)
{
	SCOPED char *valid = text_valid(value ? value : "");

	xcheck(history_text_set(text, valid));
}

/* What was attached says so in notes: "ggml 0.25.1 (0ad4a86)". */
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

static void add_facts(struct history_run *entry, const struct run *run)
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

void history_entry_init(struct history_run *entry, const struct run *run, const char *path)
{
	uint64_t salt = run->start_ns + (run->process_count ? run->processes[0].pid : 0);
	SCOPED char *whole = path ? realpath(path, NULL) : NULL;

	xcheck(history_run_init(entry));
	history_entry_text(&entry->kind, "recorded");
	history_entry_text(&entry->host, run->host);
	history_entry_text(&entry->cpu, run->cpu);
	history_entry_text(&entry->version, run->version);
	history_entry_text(&entry->path, whole);
	set_engine(entry, run);
	add_facts(entry, run);
	entry->start_ns = run->start_unix_ns;
	entry->wall_ns = run->end_ns > run->start_ns ? run->end_ns - run->start_ns : 0;
	entry->exit_code = run->exit_code;
	xcheck(history_parts_of_run(entry, run));
	history_run_identify(entry, salt);
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
}
