/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One session that the recorder watches: its file, its process, and how it ended. watch.c owns the
 * list; switch_records.c keeps `off_cpu`, `own_tid_of` and `followed`. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/array.h"
#include "base/hashmap.h"
#include "lib/drain/drain.h"
#include "lib/drain/drain_pace.h"
#include "record/process.h"

struct watched {
	struct watched *next;
	char name[256];		   /* the name of the session file */
	struct process process;	   /* the writer; pid 0: it is hidden in another PID namespace */
	bool is_elsewhere;	   /* the writer's own pid differs from process.pid */
	struct hashmap own_tid_of; /* with is_elsewhere: see process_own_tids() */
	int fd;			   /* the session file; -1: it could not be opened */
	struct drain *drain;	   /* NULL: the file is unusable */
	struct drain_pace pace;
	ARRAY(struct sink_off_cpu) off_cpu; /* intervals that the encoder has not got yet */
	int followed;	      /* the kernel's events of switches include the process */
	uint64_t consumed_ns; /* when the rings were consumed last, or the file was opened */
	uint64_t closed_ns;   /* when the session was first seen closed; 0: not yet */
	int ending;	      /* the encoder is to finish the session, or the file is unusable */
	int emitted;	      /* the encoder has finished: the session can be closed */
};

/*
 * Open the session file `name` in a directory (a descriptor). pid: the number in its name. NULL: no
 * memory, and *why stays. Else *why is NULL, or static text that says why the file is unusable.
 */
struct watched *watched_open(int directory, const char *name, pid_t pid, const char **why);

/*
 * True if the session is over. *end and *end_ticks are written in any case, as if it ended now.
 * Call it before the last consumption of the rings: later records would be missed otherwise.
 */
bool watched_is_over(struct watched *s, uint64_t now_ns, enum drain_end *end, uint64_t *end_ticks);

/* Frees the session. The encoder must have no message of its drain. */
void watched_close(struct watched *s);
