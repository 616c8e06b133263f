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
	double interval_s;	    /* between pictures */
	double duration_s;	    /* 0: without limit */
	int view;		    /* number in top_views */
	int phase;		    /* as in struct top */
	struct selection selection; /* without the phase */
	bool headless, json;
	bool expand;		     /* all nodes of the tree are open */
	int dump_width, dump_height; /* in cells; 0: no dump */
	const char *budget;	     /* a file; NULL: none */
	const char *baseline;	     /* a recording, or @NAME of the history; NULL: none */
	const char *output;	     /* -o; NULL: the recording is not kept */
	const char *record[TOP_RECORD_OPTIONS + 1]; /* options for `brick record` */
	int record_count;
	/* Loads a recording for the first time and shows progress; exits if it cannot. */
	struct run *(*load)(const char *path);
	char **command; /* NULL: operand is a file or a process */
	const char *operand;
};

struct top_source {
	const struct top_options *options;
	struct live_source *live; /* NULL: the source is a file */
	char *path;		  /* of a file to follow, or of a command's recording; else NULL */
	char *directory;	  /* temporary, of a command; NULL: none */
	char *log;		  /* file with a command's output; NULL: none */
	char *what;		  /* safe text of the command; NULL: not known yet */
	struct stat seen;	  /* of the file, when it was loaded last */
	bool is_recorder;	  /* `live` is a recorder that was started for this */
	bool final;		  /* the last picture has been made */
	int exit_code;		  /* of a command that has ended */
	char state[64];		  /* the text of top->about.state */
	char *fault;		  /* the text of top->about.fault */
};

/*
 * Starts a recorder for the command, or for a process that none records yet; or opens the process;
 * a file is not looked at yet. `options` must outlive the
 * source. -ENOSYS: there is no /proc, through which we find our own program. -ENOENT: no such
 * process; -EACCES: it belongs to another user; BRICK_ENOTRECORDED: *why, a constant, tells the
 * fault of its session, or is NULL if it has no session. -ENOMEM, -errno. top_source_close() is due
 * also after an error.
 */
int top_source_open(struct top_source *source, const struct top_options *options, const char **why);

/*
 * Brings top->about up to date, and shows a newer picture if there is one. Texts in top->about are
 * valid until the next call. -ENOMEM; BRICK_ENOTRECORDED: top->about.fault says what is missing.
 */
int top_source_look(struct top_source *source, struct top *top);

/* Lets a live process count from now on; of a recording only says that this cannot be. */
void top_source_reset(struct top_source *source, struct top *top);

/* Ends a command that still runs, and removes temporary files. Returns the command's exit code. */
int top_source_close(struct top_source *source);
