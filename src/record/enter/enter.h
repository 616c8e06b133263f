/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Getting into a process that runs already, and out of it again. The next call of one of the
 * engine's functions starts a thread of ours there, which loads the attacher's library and prepares
 * jumps to its hooks. We write these jumps while all threads are stopped and none is where they are
 * written; and take them away in the same way. The process is traced only while it is stopped, each
 * time for a few milliseconds at most. One thread.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>
#include "lib/drain/map_session.h"
#include "record/enter/refusal.h"
#include "record/inject/inject.h"

struct enter;

struct enter_recorder {
	const char *directory;		       /* of its sessions */
	const struct environment *environment; /* for the library */
	const struct drain_guard *guard;       /* must outlive what is opened */
	/* Called now and then while a process is waited for; others record meanwhile. */
	void (*meanwhile)(void *context);
	/* Called once for each process that is entered: all its threads are stopped, and hooks are
	 * about to be written. */
	void (*enters)(void *context, pid_t pid);
	void *context;
	bool (*is_left)(const char *directory); /* the recorder of these sessions has gone */
};

/*
 * Look at the process, without a change in it. Waits a few seconds for a recorder that leaves. 0;
 * or an error, and `why` has a sentence for the user that ends with advice. -ENODATA: the process
 * has no engine that Brick knows.
 */
int enter_open(struct enter **out, pid_t pid, const struct enter_recorder *recorder,
	char why[REFUSAL_BYTES]);

/* Locks out other recorders while it is open, also in a child. */
int enter_descriptor(const struct enter *e);

/*
 * Ask for entry. 0; or an error with its sentence: the process is as it was, and e is freed. Fork
 * what calls enter_abandoned() before.
 */
int enter_begin(struct enter *e, char why[REFUSAL_BYTES]);

enum enter_progress {
	ENTER_WAITS,  /* the engine was not called yet */
	ENTER_COMES,  /* it was, and the library is getting ready */
	ENTER_IS_IN,  /* hooks are in place */
	ENTER_FAILED, /* the process refuses; `why` says it */
	ENTER_ENDED,  /* the process has ended */
};

pid_t enter_pid(const struct enter *e);

/* Look, and do what can be done now. Takes microseconds unless something is to be done. */
enum enter_progress enter_turn(struct enter *e, char why[REFUSAL_BYTES]);

/*
 * Take everything away that can be. True: the process is as it was, but for libraries that stay
 * loaded; false: `why` says what is left. Frees e.
 */
bool enter_end(struct enter *e, char why[REFUSAL_BYTES]);

/*
 * The same in a child that was forked after enter_open() and has outlived its parent. All
 * descriptors but enter_descriptor() may be closed; nothing is freed.
 */
void enter_abandoned(struct enter *e);
