/* SPDX-License-Identifier: Apache-2.0 */
/* The options of `brick top`, and where its pictures come from. Main thread. */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>
#include "analysis/accounts/selection.h"
#include "record/live/live_source.h"
#include "ui/top/top.h"

enum { TOP_RECORD_OPTIONS = 16 };

struct top_options {
	double interval_s, duration_s; /* duration 0: none was given */
	int view, phase;
	struct selection selection; /* but for the phase */
	bool headless, json, expand;
	int dump_width, dump_height; /* 0: no dump */
	const char *budget;
	const char *baseline; /* a recording, or @NAME of the history; NULL: none */
	const char *output;   /* -o; NULL: the recording is not kept */
	const char *record[TOP_RECORD_OPTIONS + 1]; /* options for `brick record` */
	int record_count;
	/* Loads a recording for the first time, with progress; ends the program if it cannot. */
	struct run *(*load)(const char *path);
	char **command; /* NULL: operand is a file or a process */
	const char *operand;
};

struct top_source {
	const struct top_options *options;
	struct live_source *live; /* NULL: a file */
	char *path;		  /* of the recording: followed, or to be loaded at the end */
	char *directory;	  /* temporary; NULL: none */
	char *log, *what;
	struct stat seen; /* of the file, when it was loaded last */
	bool final;	  /* the last picture has been made */
	int exit_code;
	char state[64];
	char *fault;
};

/*
 * For a command: -ENOSYS: there is no /proc, through which it finds itself. For a process: -ENOENT:
 * there is none; -EACCES: it belongs to another user; BRICK_ENOTRECORDED: *why is what is wrong
 * with its session, NULL if it has none. top_source_close() is due also after an error.
 */
int top_source_open(struct top_source *source, const struct top_options *options, const char **why);

/*
 * Bring the state in top->about up to date, and show a newer picture if there is one. -ENOMEM;
 * BRICK_ENOTRECORDED: top->about.fault says what the recording lacks.
 */
int top_source_look(struct top_source *source, struct top *top);

/* Statistics count from now on. */
void top_source_reset(struct top_source *source, struct top *top);

/* Ends a command that still runs, removes temporary files. Returns the exit code. */
int top_source_close(struct top_source *source);
