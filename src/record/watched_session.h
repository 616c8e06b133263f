/* SPDX-License-Identifier: Apache-2.0 */
/* One session that the recorder watches: its file, its process, how it ended. One thread. */
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
	char name[256]; /* of its file */
	struct process process;
	bool is_elsewhere;	   /* in another PID namespace, which numbers it otherwise */
	struct hashmap own_tid_of; /* ... and its threads: theirs by ours, of those that live */
	int fd;			   /* -1: none */
	struct drain *drain;	   /* NULL: its file is none that can be used */
	struct drain_pace pace;
	ARRAY(struct sink_off_cpu) off_cpu; /* not handed to the encoder yet */
	int followed;			    /* by the recorder of times off the CPU */
	uint64_t consumed_ns;		    /* when its rings were emptied last */
	uint64_t closed_ns;		    /* when it was first seen closed */
	int ending;			    /* handed to the encoder to be finished, or unusable */
	int emitted;			    /* ... which it has done */
};

/* Open a session file. NULL: no memory. Why it cannot be used in *why, else NULL. */
struct watched *watched_open(int directory, const char *name, pid_t pid, const char **why);

/* Is it over, how, and when? To be asked before its rings are emptied for the last time. */
bool watched_is_over(struct watched *s, uint64_t now_ns, enum drain_end *end, uint64_t *end_ticks);

void watched_close(struct watched *s);
