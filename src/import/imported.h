/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What another tool's file says, on its way into a recording: processes, tracks (threads, queues of
 * devices), and events with a begin and an end on them. Names become bricks by rules
 * (attach/rules/), else bricks of their own name. Events of a track may come in any order and may
 * cross: a thread stays one lane, on which the less important of two is cut. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "attach/rules/rules.h"
#include "base/array.h"
#include "base/hash_index.h"
#include "base/hashmap.h"
#include "brick/abi/session.h"
#include "lib/writer/writer.h"

enum { IMPORT_NO_LAYER = -1 };

struct imported_process {
	uint32_t pid;
	char name[64];
};

struct imported_track {
	uint64_t process; /* number of its process; of a queue that of who launched, if known */
	uint64_t tid;	  /* of a queue: its stream */
	bool is_queue, has_process;
	bool is_asynchronous; /* its spans are no thread's, and may overlap */
	uint32_t device;
	char name[BRICK_NAME_BYTES];
};

/* How a text becomes a brick. */
enum import_naming {
	IMPORT_ANNOTATION, /* rules for annotations; numbers in it are no part of the name */
	IMPORT_OPERATOR,   /* rules for PyTorch's operators */
	IMPORT_NODE,	   /* of a graph: `operation` is its operator, `name` its path */
	IMPORT_KERNEL,	   /* of a device, if nothing is known of who launched it */
	IMPORT_PYTHON,	   /* a frame of Python, or of a module of PyTorch */
	IMPORT_BRICK,	   /* it is one already: `operation` is its category */
};

struct import_text {
	enum import_naming naming;
	const char *operation, *name;
	/* of IMPORT_BRICK */
	int layer;
	uint32_t flags;
	uint64_t elements, bytes, flops;
	const char *site_operation, *label; /* NULL: not known */
};

struct imported_event {
	uint64_t begin, end; /* ns in the file's own clock, less than 2^63 */
	uint64_t bytes;	     /* that a command moved; 0: not known */
	uint64_t tokens;     /* of a step, as in its record; 0: as its name says */
	uint64_t number;     /* of a command, from 1; of a wait: the command that it waited for */
	uint64_t link;	     /* of a command, or of the call that launched it; 0: none */
	uint32_t track, name;
	uint32_t kernel; /* of a command; 0: no command, or there was no room */
	bool is_open;	 /* the file does not say when it ended */
	bool is_command;
	bool has_brick; /* the file says the command's brick */
};

/* What a device is called: "Example GPU 9000, 10 SMs". */
struct imported_device {
	uint32_t device;
	char name[80];
};

/* What a process or a thread is called, if the file has it. */
struct imported_said {
	uint32_t pid;
	uint64_t tid;
	bool is_process;
	char text[64];
};

/* What a name became. */
struct imported_name {
	uint64_t tokens; /* of a step, as in its record */
	uint32_t site;	 /* 0: none */
	uint16_t brick;
	int16_t layer;
	bool is_known;	/* a rule says what it is */
	bool is_engine; /* a phase around work, or a wait: a kernel's own name tells more */
	bool is_python;
	bool has_own_layer; /* -1 says that it is in none */
};

struct import_launch {
	uint64_t begin, ticks;
	uint32_t lane, process; /* lane + 1 in its process; 0: not met */
	/* what its commands are: by the innermost event around the call, and by any around it */
	struct imported_name inner, outer;
	bool has_inner, has_outer;
	uint64_t command; /* number of the first command */
};

struct imported {
	ARRAY(struct imported_process) processes;
	ARRAY(struct imported_track) tracks;
	ARRAY(struct imported_event) events;
	ARRAY(struct imported_name) names;
	ARRAY(char *) keys; /* of the names */
	ARRAY(struct brick_session_kernel) kernels;
	ARRAY(struct imported_said) said;
	struct hash_index name_index, track_index, kernel_index, process_index;
	struct hashmap launches;    /* by link: position */
	struct hashmap layer_sites; /* by site and layer: the site in that layer */
	ARRAY(struct import_launch) launched;
	struct rules *annotations, *operators, *files;

	struct brick_session_brick bricks[BRICK_MAX_BRICKS];
	struct brick_session_category categories[BRICK_MAX_CATEGORIES];
	uint32_t brick_count, category_count;
	struct hash_index brick_index; /* by name */
	struct hash_index_slot brick_slots[2 * BRICK_MAX_BRICKS];
	ARRAY(struct brick_session_site) sites;

	bool queues_are_threads; /* the file calls queues by the numbers of threads */
	const char *tool;	 /* what wrote the file */
	const char *steps;	 /* a pattern of names that are steps; NULL: rules alone say it */
	bool is_one_step;	 /* no step is known: the whole recording is made one */
	ARRAY(struct imported_device) devices;
	char host[64];
	ARRAY(char *) command;	/* of the program; it ends with NULL, if it is known */
	uint64_t begin;		/* of the recording, in the file's clock; 0: the first event's */
	uint64_t start_unix_ns; /* 0: not known */
	uint64_t left_out;	/* events that a recording has no place for */
	uint64_t unmatched;	/* ends without a begin */
	uint64_t crowded;	/* for which there was no lane */
	uint64_t unnamed;	/* names for which there was no brick left */
	uint64_t slices, commands;
	uint32_t threads, queues;
};

/* 0 or -ENOMEM; imported_fini() in both cases. */
int imported_init(struct imported *imported);
void imported_fini(struct imported *imported);

/* All return a number, or -ENOMEM. */
int imported_process(struct imported *imported, uint32_t pid);
int imported_thread(struct imported *imported, uint32_t pid, uint64_t tid);
/* pid: of the program, if the file says whose the queue is. */
int imported_queue(struct imported *imported, uint32_t pid, bool has_process, uint32_t device,
	uint64_t stream);
/* Of spans that are no thread's, and may overlap. */
int imported_asynchronous(struct imported *imported, uint32_t pid);
int imported_host_kernel(struct imported *imported, const char *name);
int imported_name(struct imported *imported, const struct import_text *text);
int imported_kernel(struct imported *imported, const struct brick_session_kernel *kernel);
int imported_add(struct imported *imported, const struct imported_event *event);
int imported_say_device(
	struct imported *imported, uint32_t device, const char *name, uint64_t processors);
/* The site in that layer, where it has none; itself if there is no room. */
uint32_t imported_site_in_layer(struct imported *imported, uint32_t site, int16_t layer);
/* A name that fits, with both ends and a hash of what stands between them. */
void imported_fit(char *to, size_t size, const char *name);
/* The next word of the program's command. */
int imported_command_add(struct imported *imported, const char *word);
/* A name of who may come later, or never. */
int imported_say_process(struct imported *imported, uint32_t pid, const char *name);
int imported_say_thread(struct imported *imported, uint32_t pid, uint64_t tid, const char *name);

/* Make a recording of it. 0, or the writer's error; BRICK_ENOTRECORDED: there is no event. */
int imported_write(struct imported *imported, struct trace_writer_options *options);

/* The rules' texts, compiled in. */
extern const char rule_set_import_annotations_text[], rule_set_import_torch_text[],
	rule_set_import_files_text[];
extern const size_t rule_set_import_annotations_bytes, rule_set_import_torch_bytes,
	rule_set_import_files_bytes;
