/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loss ledger of a run as a whole: the losses that its processes and lanes counted, and those
 * of the file. Pure; any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "trace/run.h"

struct losses {
	uint64_t dropped;     /* records for which a ring had no room */
	uint64_t open;	      /* samples that never ended */
	uint64_t unmatched;   /* ends without begin, begins closed from outside, and `mismatched` */
	uint64_t mismatched;  /* samples and exact counts that differ though nothing was dropped */
	uint64_t clamped;     /* times that were set to a bound */
	uint64_t unsupported; /* work seen that could not be timed */
	uint64_t too_deep;    /* nested deeper than can be recorded */
	uint64_t table_full;  /* names, sites or threads for which there was no room */
	uint64_t
		refused; /* records of threads that got no lane, or processes that got no session */
	uint64_t truncated_bytes; /* behind the last whole packet of the file */
	uint64_t truncated_at;	  /* offset of the first of these */
	uint64_t bad_packets;	  /* whole packets that could not be used */
	uint64_t bad_packet_at;	  /* offset of the first of these */
	uint64_t bad_records;	  /* against the rules of their ring: not in the file */
	uint64_t lost_processes;
	/* that ended by _exit() or a signal while a brick was open, or with queues, whose last
	 * commands may be missing; of another tool's file: with events without an end */
	uint64_t unfinished_processes;
	bool is_imported;    /* of another tool's file */
	uint64_t unanswered; /* at least so many launched commands of these are missing */
	bool incomplete;     /* the recording was never finished */
};

/* mismatched: as the run's summary found it; 0 if there is no summary. */
void losses_of_run(struct losses *losses, const struct run *run, uint64_t mismatched);

/* As losses.dropped, without the rest. */
uint64_t losses_dropped(const struct run *run);

/* True if anything at all is missing or was changed. */
bool losses_any(const struct losses *losses);

/* True if the recording was finished, and all its packets and records could be used. */
bool losses_complete(const struct losses *losses);
