/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers inside of the program (libbrick-report): the output of `brick report` and `brick graph`
 * for a recording, or for this process's session while it runs and after its end. Any thread; calls
 * wait for each other. Recording goes on meanwhile, and a call holds up no thread that records.
 *
 * brick_session_start(NULL); run_the_engine(); brick_report_write(stdout, BRICK_REPORT_TEXT, NULL);
 *
 * All calls are about the session that the thread uses (brick_session_use()). While the session
 * runs, answers come from its memory: totals are exact; steps and the graph are of the newest
 * records in its rings (ring_records in struct brick_session_options). A session without an output
 * keeps statistics only, and, if ring_records is set, its first records. After brick_session_stop()
 * the answers are of the recording that was written, or, without an output, of the records that the
 * session held at its end.
 */
#ifndef BRICK_REPORT_H
#define BRICK_REPORT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "brick/export.h"
#include "brick/graph.h"

BRICK_BEGIN_DECLS

/* Output formats of a report. */
enum brick_report_format {
	BRICK_REPORT_TEXT = 0, /* as `brick report` */
	BRICK_REPORT_JSON = 1, /* ... --json: schema brick/report/2 */
	BRICK_REPORT_CSV = 2,  /* ... --csv */
	BRICK_REPORT_FORMATS,
};

/* Kinds of rows. */
enum brick_report_by {
	BRICK_REPORT_BY_BRICK = 0,
	BRICK_REPORT_BY_CATEGORY = 1,
	BRICK_REPORT_BY_LAYER = 2,
	BRICK_REPORT_BY_PHASE = 3,
	BRICK_REPORT_BY_STEP = 4,
	BRICK_REPORT_BY_THREAD = 5,
	BRICK_REPORT_BY_KERNEL = 6,
	BRICK_REPORT_BY_QUEUE = 7,
	BRICK_REPORT_BYS,
};

/* Options of a report. */
struct brick_report_options {
	size_t size;	     /* sizeof(struct brick_report_options) */
	uint32_t by;	     /* enum brick_report_by */
	uint32_t rows;	     /* the most rows to write; 0: all */
	const char *file;    /* a recording instead of the session; NULL: the session */
	const char *columns; /* as `brick report --columns`, "self,/token,avg" say; NULL: the usual
			      */
};

#define BRICK_REPORT_OPTIONS_INIT BRICK_SIZED(struct brick_report_options)

/*
 * Writes a report. options may be NULL. No lock is held while the text goes to `out`. -EINVAL:
 * format, size, by or columns. -E2BIG: fields that are not known are set. -ENOENT: no session ran.
 * -ENOMEM. BRICK_EFORMAT and others: the recording cannot be read. -EIO: `out` took not all of the
 * text. BRICK_ENOTRECORDED: the text was written, but the session keeps statistics only, which tell
 * no layers and no single steps.
 */
BRICK_API int brick_report_write(
	FILE *out, enum brick_report_format format, const struct brick_report_options *options);

/*
 * Writes what the session holds now as a recording of its own: the records in its rings, and its
 * totals. The session goes on; call it as often as you like. -ENOENT: no session runs. -EINVAL: no
 * path. -EBUSY: the path is the session's own output. -errno: the file cannot be written.
 */
BRICK_API int brick_session_save(const char *path);

/* The session in numbers. Times in ns; negative rates and shares: not known. */
struct brick_summary {
	size_t size;		 /* sizeof(struct brick_summary) */
	uint64_t wall_ns;	 /* of all steps; without steps: the threads' lifetimes */
	uint64_t first_token_ns; /* time to the first new token; 0: not known */
	uint64_t prefill_steps, prefill_tokens;
	uint64_t decode_steps, decode_tokens;
	double prefill_tokens_per_s, decode_tokens_per_s; /* while steps ran */
	uint64_t executions;				  /* of all bricks */
	uint64_t elements, bytes, flops;		  /* of all bricks; 0: none said */
	double elements_per_s;				  /* of wall_ns */
	double coverage;	    /* share of wall_ns that is in bricks, 0 to 1 */
	double cost_low, cost_high; /* bounds of the share of wall_ns that recording took: 95 % */
	uint64_t device_ns;	    /* time of commands on devices */
	uint64_t lost;	    /* records that were dropped, refused or unmatched, all together */
	uint64_t open;	    /* bricks that had not ended */
	uint64_t bricks_ns; /* sum of the bricks' own times on threads, or where none ran there on
			       queues */
	double elements_per_brick_s; /* of bricks_ns */
};

#define BRICK_SUMMARY_INIT BRICK_SIZED(struct brick_summary)

/* Fill *out. -EINVAL: size. Other errors as of brick_report_write(). */
BRICK_API int brick_summary(struct brick_summary *out);

/*
 * Makes the execution graph of the session's newest records: at most `samples` of each thread and
 * queue (0: all that its rings hold). The caller destroys *out. BRICK_ENOTRECORDED: there are no
 * records. BRICK_ERANGE: more than 4 million. -ENOENT: no session ran. -ENOMEM.
 */
BRICK_API int brick_graph_of_session(struct brick_graph **out, uint32_t samples);

BRICK_END_DECLS

#endif
