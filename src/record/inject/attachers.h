/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of attachers: one entry for each kind of engine or device library whose programs are
 * recorded as they are. `record` gets them in, `doctor` says whether they work, the report's head
 * shows their notes. Constant data; any thread. docs/ATTACHERS.md: how to write one.
 */
#pragma once

/* How the library gets into a program. */
enum attacher_entry {
	ATTACHER_PRELOAD,  /* LD_PRELOAD: into every program */
	ATTACHER_VARIABLE, /* a driver loads what `variable` names, unless the user has set it */
	ATTACHER_LAYER, /* Vulkan's loader: a manifest in lib/brick, made known by XDG_DATA_DIRS */
};

/* A note of the recording that the head of a report shows, and what it is called there; NULL: it is
 * for developers, and stays in the recording. */
struct attacher_note {
	const char *key, *label;
};

struct attacher {
	const char *name;    /* "opencl"; what `doctor` calls it, unless doctor_name says it */
	const char *title;   /* what its programs use: "OpenCL" */
	const char *library; /* its file: "libbrick-opencl.so" */
	enum attacher_entry entry;
	const char *variable;	  /* of ATTACHER_VARIABLE */
	const char *next;	  /* where the library finds what the user has set there; NULL: that
				     goes first, and the library does not get in */
	const char *switched_on;  /* "NAME=VALUE" that the program gets besides; NULL: nothing */
	const char *driver;	  /* no programs of this kind without this library; NULL: none */
	const char *version_note; /* key of the engine's version; NULL: it has none */
	const char *limit_note;	  /* key of what it cannot time on a device; NULL: nothing */
	const struct attacher_note *notes; /* ended by one without a key; NULL: none */

	/* `record --attach METHOD`: words that its library finds in BRICK_ATTACH, ended by NULL. */
	const char *const *methods;

	/* `doctor` */
	const char *doctor_name;
	const char *finding; /* when it works; NULL: the library's own words, else that it works */
	const char *if_missing; /* advice when the library was not built; NULL: install whole */
	const char *if_refused; /* advice when it cannot work here; NULL: none */

	/*
	 * What betrays that a program may use it, each ended by NULL; NULL: nothing does, but for
	 * `variable`, which files of such programs hold.
	 */
	const char *const *libraries; /* beginnings of names; a program is linked with them, or
					 holds their names to open them */
	const char *const *modules;   /* of Python and node, which bring it along */
	const char *recorded;	      /* of it then: "its queues are recorded" */
	const char *versions;	      /* that it attaches to; NULL: all */
	const char *version_file;     /* of its module, has a line "__version__ = '1.13.1'" */
};

/* All of them, in the order in which they are preloaded and told; ended by NULL. */
extern const struct attacher *const attachers[];
