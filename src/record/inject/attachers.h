/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of attachers. An attacher is a library that records programs of one kind of engine or
 * device library without changes to the program. `record` loads attachers into the program,
 * `doctor` says whether they work, and the report's head shows their notes. Constant data; any
 * thread. docs/ATTACHERS.md: how to write an attacher.
 */
#pragma once

/* How the library gets into a program. */
enum attacher_entry {
	ATTACHER_PRELOAD,  /* LD_PRELOAD loads it into every program */
	ATTACHER_VARIABLE, /* a driver loads the library that the variable `variable` names */
	ATTACHER_LAYER,	   /* Vulkan's loader finds its manifest in lib/brick by XDG_DATA_DIRS */
};

/* A note of the recording. */
struct attacher_note {
	const char *key;
	const char *label; /* in the head of a report; NULL: not shown there, for developers */
};

struct attacher {
	const char *name;    /* "opencl" */
	const char *title;   /* the engine or device library: "OpenCL" */
	const char *library; /* file name of the attacher's own library: "libbrick-opencl.so" */
	enum attacher_entry entry;
	const char *variable; /* ATTACHER_VARIABLE: the environment variable; else NULL */
	/*
	 * A variable that gets the user's own value of `variable`, so that our library can load
	 * that, too; NULL: the user's value stays, and our library is not loaded.
	 */
	const char *next;
	const char *switched_on;  /* "NAME=VALUE" for the program's environment; NULL: nothing */
	const char *driver;	  /* without this library no program is of the kind; NULL: none */
	const char *version_note; /* key of the note of the engine's version; NULL: none */
	const char *limit_note;	  /* key of the note of what a device cannot time; NULL: none */
	const struct attacher_note *notes; /* ended by a note without a key; NULL: none */

	/*
	 * Words of `record --attach WORD`, which the library gets in BRICK_ATTACH; ended by NULL.
	 */
	const char *const *methods;

	/* For `doctor`. */
	const char *doctor_name; /* NULL: `name` */
	const char *finding;	 /* if it works, and the library has no words of its own; or NULL */
	const char *if_missing;	 /* advice if the library was not built; NULL: reinstall Brick */
	const char *if_refused;	 /* advice if it cannot work here; NULL: none */

	/*
	 * Signs that a program may use the engine; lists are ended by NULL. A program whose files
	 * contain the name `variable` may use it, too.
	 */
	const char *const *libraries; /* beginnings of names of libraries that the program is
					 linked with, or whose names it contains */
	const char *const *modules;   /* modules of Python and node that load the engine */
	const char *recorded;	      /* what is recorded then: "its queues are recorded" */
	const char *without_gil;      /* the same in a free-threaded Python; NULL: the same */
	const char *versions;	      /* of the engine that can be recorded; NULL: all */
	const char *version_file;     /* in the module, has a line "__version__ = '1.13.1'" */
};

/* All attachers, in the order of preloading and of messages; ended by NULL. */
extern const struct attacher *const attachers[];
