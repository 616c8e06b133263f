/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A CUDA driver and CUPTI that have no device: what the driver's double (libcuda.so.1) tells
 * CUPTI's double (libcupti.so), and what both share. Handles are pointers to the structs here. The
 * device has a clock of its own and streams that are busy for a computed time; copies and kernels
 * take effect at once, their times are simulated. FAKE_CUDA in the environment, a list with commas:
 *
 *   shuffle      records are delivered in a random order
 *   lose=N       every Nth record is dropped, and counted
 *   late=MS      records are complete only so long after their end
 *   taken        somebody else has subscribed already
 *   unfit        CUPTI does not suit the driver
 *   noids        records have correlation ids only while records of calls are enabled
 *   oddid        only the first record has none
 *   announce=N   clones of nodes are announced as created, too: before (1) or after (2)
 *   noexec       the first executable graph cannot be made
 *   nostamp      CUPTI keeps its own clock
 *   misfit       the CUPTI that is found first does not suit the driver
 *   ga           CUPTI is that of CUDA 13.0 without updates
 *   fail=N       every Nth launch fails
 *   nowhole      records of whole replays are refused
 *   bothkinds    ... are accepted, and change nothing
 *   hostfirst    ... name no device: as of graphs that begin on the host
 *   stuck        ... cannot be switched off again
 *   atbirth=N    ... stay for graphs of less nodes that were made executable meanwhile
 *   vary=PCT     kernels take up to so much more or less, each time
 *   failread     reading times of events fails
 *   drift=PPM    the device's clock runs faster
 *   cost_callback=NS  a callback takes the program so long, besides what the tool does in it,
 *   cost_record=NS    ... a record of a launch, cost_node=NS of a replayed node (cost.c),
 *   cost_device=NS    the device pauses so long before each command that is traced,
 *   cost_far=NS       a cost is so much larger if the thread has done something else meanwhile,
 *   cost_switch=NS    switching a kind of records takes so long,
 *   cost_flush=US     a flush keeps launches waiting so long,
 *   cost_seed=N       and costs vary
 *
 * FAKE_CUDA_LOG: a file for the truth, a line per command.
 */
#pragma once

#include <pthread.h>
#include <stdint.h>
#include "attach/cuda/cuda_abi.h"

#define DOUBLE_API __attribute__((visibility("default")))

enum { FINE = 0, INVALID_VALUE = 1, NO_CONTEXT = 201, NOT_FOUND = 500, NOT_READY = 600 };
enum { INVALID_HANDLE = 400, ILLEGAL_STATE = 401, OUT_OF_RESOURCES = 701, UNKNOWN = 999 };
enum { IN_CAPTURE = 900, CAPTURE_INVALIDATED = 901, CAPTURE_IMPLICIT = 906 };
enum { CAPTURE_WRONG_THREAD = 908, GRAPH_UPDATE_FAILED = 910 };

struct context {
	uint32_t id, device;
	struct stream *null_stream;
};

struct stream {
	struct context *context;
	uint32_t id;
	int is_apart;	       /* the default stream does not wait for it, nor it for that */
	uint64_t busy_until;   /* CLOCK_MONOTONIC ns */
	uint64_t busy_without; /* ... if CUPTI cost nothing (cost.c) */
	struct graph *capture;
};

struct event {
	uint64_t at;	       /* host ns when the device passes it; 0: not recorded */
	uint64_t at_without;   /* ... if CUPTI cost nothing */
	struct graph *capture; /* that it is part of */
};

enum { SCALE = 1, ADD = 2 }; /* kernels that the double knows */

struct function {
	char name[512];
	struct module *module;
	int executes; /* which of the kernels that the double knows; 0: none */
};

struct module {
	uint32_t id;
	unsigned char *cubin;
	size_t cubin_bytes;
	int function_count;
	struct function functions[16];
};

enum op_kind { OP_KERNEL, OP_COPY, OP_FILL, OP_EVENT, OP_CHILD };

struct op {
	enum op_kind kind;
	struct function *function;
	uint32_t grid[3], block[3], shared;
	void *arguments[8];
	uint64_t values[8]; /* copies of arguments */
	void *to;
	const void *from;
	size_t bytes;
	uint8_t copy;
	uint32_t fill;
	struct event *event;
	struct graph *child; /* the node's own copy */
};

struct node {
	uint64_t id;
	struct op op;
	struct node *next;
};

enum { MAX_JOINED = 8 };

struct graph {
	uint64_t number; /* from 1 */
	struct node *first, **last;
	uint32_t count;
	int is_exec, is_invalid;	   /* what was called during its capture ended it */
	struct stream *joined[MAX_JOINED]; /* that are being captured with the first */
	int joined_count;
};

/* A command that the device does, for CUPTI. Times are host ns. */
struct command {
	const struct op *op;
	uint64_t begin, end;
	uint32_t context, stream, correlation;
	uint64_t node;
	uint32_t device;
};

struct tools {
	void (*call)(uint32_t site, uint32_t id, const char *name, const void *parameters,
		int *result, const char *symbol, struct context *context, uint32_t correlation);
	void (*resource)(uint32_t id, struct context *context, void *what);
	void (*command)(const struct command *command);
	void (*context_goes)(uint32_t id);
	/* does the device keep a time for such a command? Called before command() */
	int (*traces)(enum op_kind kind, uint64_t node, uint32_t correlation);
};

struct double_options {
	int shuffle, taken, unfit, noids, failread, oddid, noexec, nostamp, misfit, ga, old;
	int nowhole, bothkinds, hostfirst, stuck;
	long announce, lose, late_ms, fail, atbirth, drift_ppm, more_devices, vary;
	long cost_callback, cost_record, cost_node, cost_device, cost_far, cost_flush_us, cost_seed;
	long cost_switch;
	uint64_t manual_ns; /* where time stands: who waits moves it. 0: CLOCK_MONOTONIC */
};

/* Of the driver's double; CUPTI's finds them in it. */
DOUBLE_API void double_tools_set(const struct tools *tools);
DOUBLE_API const struct double_options *double_options(void);
DOUBLE_API uint64_t double_now(void);		     /* ns of CLOCK_MONOTONIC, or manual ones */
DOUBLE_API uint64_t double_device_ns(uint64_t host); /* the same moment on the device's clock */

/* What CUPTI costs (cost.c). */
DOUBLE_API void double_cost(long ns);	      /* spends so much of the thread's time */
DOUBLE_API void double_cost_add(uint64_t ns); /* so much has been spent */
DOUBLE_API void double_cost_in_tool(long ns); /* the tool asked for it, the program waits */
DOUBLE_API void double_cost_tool(int enters); /* a callback of the tool begins or ends */
DOUBLE_API int double_cost_is_tool(void);     /* the thread is in one */
/* The double's own work is a cost, too, unless the thread lost its CPU in it. */
DOUBLE_API void double_cost_work(uint64_t begin, uint64_t planted_before);
/*
 * The tool was called and took so long. What all its calls would have taken if they had been as
 * short as those about its own calls: nobody can tell this time from CUPTI's.
 */
DOUBLE_API void double_cost_called(uint64_t ns);
DOUBLE_API uint64_t double_cost_stubs_ns(void);
DOUBLE_API uint64_t double_cost_saved_ns(void); /* so much earlier the thread would be without */
uint64_t double_cost_without(uint64_t host);	/* a time of the thread as it would be without */
void double_cost_waited(uint64_t begin, uint64_t until, uint64_t until_without);

/* Within the driver's double. */
extern struct tools double_tools;
extern pthread_mutex_t double_lock;
struct context *double_current(void);
struct stream *double_stream(void *handle); /* NULL: the context's own */
uint32_t double_correlation(void);

void double_run(struct stream *stream, const struct op *op, uint32_t correlation, uint64_t node);
void double_replay(int begins); /* around the nodes of a replay, on the launching thread */
void double_wait_until(uint64_t host);
void double_wait_stream(const struct stream *stream);
void double_kernel(const struct op *op);
void double_capture(struct stream *stream, const struct op *op);
void double_join(struct stream *stream, struct graph *graph);
int double_capture_error(const struct stream *stream); /* of what would be captured into it */
int double_disturbs(struct stream *stream);	       /* a wait; NULL: for the context */

/* Around an entry point that tools hear of. */
struct entry {
	uint32_t id, correlation;
	const char *name, *symbol;
	const void *parameters;
	int result;
};
void double_enter(struct entry *entry);
int double_leave(struct entry *entry, int result);
int double_fails(void);
